"""What a printed formula means: a small evaluator of NumPy text over a whitelist of syntax."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

import graphc as gc


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
NUMPY = (
    "outer sum diag trace exp log tanh einsum full ones zeros eye transpose where broadcast_to max "
    "argmax reshape moveaxis pad arange mean concatenate sqrt sign array"
)
FUNCTIONS = {name: getattr(np, name) for name in NUMPY.split()} | {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "norm": np.linalg.norm,
    "solve": np.linalg.solve,
    "concat": np.concatenate,
    "softmax": _softmax,
    "sigmoid": _sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "logsumexp": lambda x, **words: np.log(np.sum(np.exp(x), **words)),
    "log_softmax": lambda x, axis=-1: np.log(_softmax(x, axis)),
    "take": lambda x, i, axis=0: np.take(x, i, axis=axis),
    "logdet": lambda a: np.linalg.slogdet(a)[1],
}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of a printed formula; anything but arithmetic, calls and indices is refused."""
    constants = {"pi": np.pi, "inf": np.inf}
    return _value(ast.parse(text, mode="eval").body, {**constants, **names})


def _called(name: str) -> Any:
    """A function of NumPy, or one of ours that NumPy lacks."""
    return FUNCTIONS[name] if name in FUNCTIONS else getattr(gc, name)


def _value(tree: ast.AST | None, names: Mapping[str, Any]) -> Any:
    match tree:
        case None:
            return None
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.Attribute(value=value, attr="T"):
            return _value(value, names).T
        case ast.Tuple(elts=parts):
            return tuple(_value(part, names) for part in parts)
        case ast.List(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Slice(lower=low, upper=high, step=step):
            return slice(_value(low, names), _value(high, names), _value(step, names))
        case ast.Subscript(value=value, slice=index):
            return _value(value, names)[_value(index, names)]
        case ast.Call(func=ast.Name(id=function), args=args, keywords=keywords):
            words = {str(word.arg): _value(word.value, names) for word in keywords}
            return _called(function)(*(_value(arg, names) for arg in args), **words)
    raise ValueError(f"{ast.dump(tree)} is not NumPy that we print")
