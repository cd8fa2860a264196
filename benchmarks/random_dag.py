"""A random graph of scalars whose values stay within [-1, 1]: the subject of W1, W2 and W5."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from math import cos, exp, sin, tanh
from typing import Any

import numpy as np

INPUTS = 10
OUTPUTS = 10  # the last nodes, summed
AT_ONCE = 1000  # nodes that are read together
POINT = np.linspace(-0.9, 0.8, INPUTS)
KINDS = ("mean", "mul", "sin", "cos", "gauss", "tanh", "sigmoid")
SHARES = (0.25, 0.2, 0.13, 0.13, 0.09, 0.1, 0.1)

# value, and derivatives by the two operands, of each kind: what one writes by hand
BY_HAND: dict[str, Any] = {
    "mean": lambda a, b: (0.5 * (a + b), 0.5, 0.5),
    "mul": lambda a, b: (a * b, b, a),
    "sin": lambda a, b: (sin(a), cos(a), 0.0),
    "cos": lambda a, b: (cos(a), -sin(a), 0.0),
    "gauss": lambda a, b: ((v := exp(-a * a)), -2 * a * v, 0.0),
    "tanh": lambda a, b: ((v := tanh(a)), 1 - v * v, 0.0),
    "sigmoid": lambda a, b: ((v := 1 / (1 + exp(-a))), v * (1 - v), 0.0),
}


Node = tuple[str, int, int]  # kind, first operand, second operand


class Dag:
    """A random graph as two arrays; node k has number INPUTS + k.

    Most operands are among the fifty nodes before; one in ten is an input. Nodes are read some at a
    time, so that a million of them leave no memory behind which whoever reads them could use again.
    """

    def __init__(self, nodes: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.kinds = rng.choice(len(KINDS), size=nodes, p=SHARES).astype(np.int8)
        far = rng.random((nodes, 2)) < 0.1
        share = rng.random((nodes, 2))
        number = np.arange(nodes)[:, None] + INPUTS
        near = number - 1 - np.floor(share * np.minimum(number, 50)).astype(int)
        operands = np.where(far, np.floor(share * INPUTS).astype(int), near)
        self.operands = operands.astype(np.int32)

    def __iter__(self) -> Iterator[Node]:
        for first in range(0, len(self.kinds), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            for kind, (a, b) in zip(
                self.kinds[some].tolist(), self.operands[some].tolist(), strict=True
            ):
                yield KINDS[kind], a, b


def random_dag(nodes: int, seed: int = 1) -> list[Node]:
    """(kind, first operand, second operand) per node."""
    return list(Dag(nodes, seed))


def is_binary(kind: str) -> bool:
    return kind in ("mean", "mul")


def rules_of(library: Any) -> dict[str, Any]:
    """Each kind by a library that has sin, cos, exp and tanh."""
    return {
        "mean": lambda a, b: 0.5 * (a + b),
        "mul": lambda a, b: a * b,
        "sin": lambda a, b: library.sin(a),
        "cos": lambda a, b: library.cos(a),
        "gauss": lambda a, b: library.exp(-a * a),
        "tanh": lambda a, b: library.tanh(a),
        "sigmoid": lambda a, b: 1.0 / (1.0 + library.exp(-a)),
    }


def build(dag: Iterable[Node], inputs: Any, library: Any) -> tuple[list[Any], Any]:
    """All nodes and the sum of the last ones."""
    rules, nodes = rules_of(library), list(inputs)
    for kind, first, second in dag:
        nodes.append(rules[kind](nodes[first], nodes[second]))
    total = nodes[-OUTPUTS]
    for node in nodes[1 - OUTPUTS :]:
        total = total + node
    return nodes, total


def text_of(dag: list[Node]) -> str:
    """The same graph in graphc's text form: inputs x0 ... x9, nodes n10, n11, ..., loss L."""
    rules = {
        "mean": "({a} + {b})/2",
        "mul": "{a}*{b}",
        "sin": "sin({a})",
        "cos": "cos({a})",
        "gauss": "exp(-{a}**2)",
        "tanh": "tanh({a})",
        "sigmoid": "sigmoid({a})",
    }
    names = [f"{'x' if n < INPUTS else 'n'}{n}" for n in range(INPUTS + len(dag))]
    lines = ["input " + " ".join(names[:INPUTS])]
    for number, (kind, first, second) in enumerate(dag, start=INPUTS):
        lines.append(f"{names[number]} = {rules[kind].format(a=names[first], b=names[second])}")
    lines += ["L = " + " + ".join(names[-OUTPUTS:]), "output L"]
    return "\n".join(lines)


def columns_of(dag: Iterable[Node]) -> tuple[int, list[str], Any]:
    """The same graph for gc.from_arrays: inputs, of which the last is 1/2, operations, operands.

    The last operation is the sum.
    """
    half, operations, operands = INPUTS, [], array("i")

    def append(operation: str, first: int, second: int = -1) -> int:
        operations.append(operation)
        operands.extend((first, second))
        return INPUTS + len(operations)

    rules = {
        "mean": lambda a, b: append("mul", append("add", a, b), half),
        "mul": lambda a, b: append("mul", a, b),
        "gauss": lambda a, b: append("exp", append("neg", append("square", a))),
    }
    nodes = array("i", range(INPUTS))  # numbers that leave no memory behind
    for kind, first, second in dag:
        a, b = nodes[first], nodes[second]
        nodes.append(rules[kind](a, b) if kind in rules else append(kind, a))
    total = nodes[-OUTPUTS]
    for node in nodes[1 - OUTPUTS :]:
        total = append("add", total, node)
    return INPUTS + 1, operations, np.array(operands).reshape(-1, 2)


def local_derivatives(dag: list[Node], point: Any = POINT) -> Any:
    """Values, and derivatives by the first and second operand, in plain Python."""
    values = [float(number) for number in point]
    by_first, by_second = [], []
    for kind, first, second in dag:
        value, left, right = BY_HAND[kind](values[first], values[second])
        values.append(value)
        by_first.append(left)
        by_second.append(right)
    return values, by_first, by_second


def gradient_by_hand(dag: list[Node], point: Any = POINT) -> Any:
    """The sum of the last nodes and its gradient, by the two loops one writes by hand."""
    values, by_first, by_second = local_derivatives(dag, point)
    adjoints = [0.0] * len(values)
    for number in range(len(values) - OUTPUTS, len(values)):
        adjoints[number] = 1.0
    for k in range(len(dag) - 1, -1, -1):
        kind, first, second = dag[k]
        adjoint = adjoints[INPUTS + k]
        if adjoint:
            adjoints[first] += adjoint * by_first[k]
            if is_binary(kind):
                adjoints[second] += adjoint * by_second[k]
    return sum(values[-OUTPUTS:]), np.array(adjoints[:INPUTS])
