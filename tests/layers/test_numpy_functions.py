"""NumPy on traced values: every public function gives NumPy's own number or a GraphcError."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc as gc
from graphc.table.value import Value

# functions that write files, ask for the network, change settings of the process or run tests
APART = {
    *("save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile"),
    *("fromregex", "memmap", "test", "show_config", "show_runtime", "info", "get_include"),
    *("seterr", "seterrcall", "setbufsize", "set_printoptions", "printoptions", "errstate"),
    *("array_repr", "array_str", "array2string"),
}
# these never look at the value that they are given: whatever they say, it is no number of it
BLIND = {
    "isscalar",
    "iterable",
    "issubclass_",
    "issubdtype",
    "issctype",
    "isdtype",
    "typename",
    "bmat",
} | {
    *(
        "nditer",
        "broadcast",
        "ndenumerate",
        "ndindex",
        "vectorize",
        "frompyfunc",
        "object_",
        "poly1d",
    ),
    *("iterable", "show_config", "require", "who", "lookfor", "source", "deprecate", "safe_eval"),
    *("sctype2char", "obj2sctype", "maximum_sctype", "byte_bounds", "disp", "add_newdoc"),
}
SCALAR, VECTOR = np.float64(1.25), np.array([0.5, -1.5, 2.0])
SQUARE = np.array([[2.0, -1.0, 0.5], [0.25, 3.0, -0.75], [1.5, 0.5, 4.0]])
WIDE = np.array([[1.0, -2.0, 0.5], [3.0, 0.75, -1.0]])
CUBE = np.arange(12.0).reshape(2, 3, 2) - 5.5


def functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for module, prefix in ((np, "np."), (np.linalg, "np.linalg."), (np.fft, "np.fft.")):
        for name in dir(module):
            function = inspect.getattr_static(module, name, None)
            if name.startswith("_") or name in APART or name in BLIND:
                continue
            if callable(function) and not (inspect.isclass(function) or inspect.ismodule(function)):
                found[prefix + name] = function
    assert len(found) > 400
    return found


FUNCTIONS = functions()

# One call per line; v is the traced argument, the others are plain.
CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("f(v)", lambda f, v, w: f(v)),
    ("f(v, v)", lambda f, v, w: f(v, v)),
    ("f(w, v)", lambda f, v, w: f(w, v)),
    ("f(v, w)", lambda f, v, w: f(v, w)),
    ("f(v, 0)", lambda f, v, w: f(v, 0)),
    ("f(v, 1)", lambda f, v, w: f(v, 1)),
    ("f(v, -1)", lambda f, v, w: f(v, -1)),
    ("f(v, 2)", lambda f, v, w: f(v, 2)),
    ("f(0, v)", lambda f, v, w: f(0, v)),
    ("f(2.5, v)", lambda f, v, w: f(2.5, v)),
    ("f([v, v])", lambda f, v, w: f([v, v])),
    ("f([v, w], 0)", lambda f, v, w: f([v, w], 0)),
    ("f([v, w], 1)", lambda f, v, w: f([v, w], 1)),
    ("f([v, w], axis=-1)", lambda f, v, w: f([v, w], axis=-1)),
    ("f((v, w), axis=None)", lambda f, v, w: f((v, w), axis=None)),
    ("f(v, axis=0)", lambda f, v, w: f(v, axis=0)),
    ("f(v, axis=1)", lambda f, v, w: f(v, axis=1)),
    ("f(v, axis=-1)", lambda f, v, w: f(v, axis=-1)),
    ("f(v, axis=(0, 1))", lambda f, v, w: f(v, axis=(0, 1))),
    ("f(v, axis=0, keepdims=True)", lambda f, v, w: f(v, axis=0, keepdims=True)),
    ("f(v, keepdims=True)", lambda f, v, w: f(v, keepdims=True)),
    ("f(v, ord=1)", lambda f, v, w: f(v, ord=1)),
    ("f(v, ord=2)", lambda f, v, w: f(v, ord=2)),
    ("f(v, ord='fro')", lambda f, v, w: f(v, ord="fro")),
    ("f(v, ord=2, axis=0)", lambda f, v, w: f(v, ord=2, axis=0)),
    ("f(v, ord=np.inf)", lambda f, v, w: f(v, ord=np.inf)),
    ("f(v, dtype=np.float32)", lambda f, v, w: f(v, dtype=np.float32)),
    ("f(v, dtype=int)", lambda f, v, w: f(v, dtype=int)),
    ("f(v, ddof=1)", lambda f, v, w: f(v, ddof=1)),
    ("f(v, initial=10.0)", lambda f, v, w: f(v, initial=10.0)),
    ("f(v, where=np.abs(w) > 1)", lambda f, v, w: f(v, where=np.abs(w) > 1)),
    ("f(v, 0, None)", lambda f, v, w: f(v, 0, None)),
    ("f(v, 0, w)", lambda f, v, w: f(v, 0, w)),
    ("f(v, -1, 1)", lambda f, v, w: f(v, -1, 1)),
    ("f(v, 0, 1)", lambda f, v, w: f(v, 0, 1)),
    ("f(v, 1, -1)", lambda f, v, w: f(v, 1, -1)),
    ("f(v, None, 1)", lambda f, v, w: f(v, None, 1)),
    ("f(v, w, 1)", lambda f, v, w: f(v, w, 1)),
    ("f(v, w, 0)", lambda f, v, w: f(v, w, 0)),
    ("f(v, w, axes=1)", lambda f, v, w: f(v, w, axes=1)),
    ("f(v, w, axes=(0, 0))", lambda f, v, w: f(v, w, axes=(0, 0))),
    ("f(v, w, axes=([0, 1], [0, 1]))", lambda f, v, w: f(v, w, axes=([0, 1], [0, 1]))),
    ("f(v, (3, -1))", lambda f, v, w: f(v, (3, -1))),
    ("f(v, (2, 3))", lambda f, v, w: f(v, (2, 3))),
    ("f(v, (3, 3))", lambda f, v, w: f(v, (3, 3))),
    ("f(v, (1, 0))", lambda f, v, w: f(v, (1, 0))),
    ("f(v, (0, 1), (1, 0))", lambda f, v, w: f(v, (0, 1), (1, 0))),
    ("f(v, (0, 1), (0, 0))", lambda f, v, w: f(v, (0, 1), (0, 0))),
    ("f(v, (0, 0), (0, 1))", lambda f, v, w: f(v, (0, 0), (0, 1))),
    ("f(v, [1, 0])", lambda f, v, w: f(v, [1, 0])),
    ("f(v, (2, 3), order='F')", lambda f, v, w: f(v, (2, 3), order="F")),
    ("f(v, order='F')", lambda f, v, w: f(v, order="F")),
    ("f(v, ((1, 2), (0, 1)))", lambda f, v, w: f(v, ((1, 2), (0, 1)))),
    ("f(v, 1, mode='edge')", lambda f, v, w: f(v, 1, mode="edge")),
    ("f(v, [0, 2, 2])", lambda f, v, w: f(v, [0, 2, 2])),
    ("f(v, [2, 0], axis=1)", lambda f, v, w: f(v, [2, 0], axis=1)),
    ("f(v, [0, 5], mode='wrap')", lambda f, v, w: f(v, [0, 5], mode="wrap")),
    ("f(v, offset=1)", lambda f, v, w: f(v, offset=1)),
    ("f(v, k=1)", lambda f, v, w: f(v, k=1)),
    ("f(v, axis1=1, axis2=0)", lambda f, v, w: f(v, axis1=1, axis2=0)),
    ("f(v > 0, v, w)", lambda f, v, w: f(v > 0, v, w)),
    ("f(w > 0, v, 0)", lambda f, v, w: f(w > 0, v, 0)),
    ("f(w > 0, w, v)", lambda f, v, w: f(w > 0, w, v)),
    ("f(v, w, v)", lambda f, v, w: f(v, w, v)),
    ("f(v, a_min=None, a_max=1)", lambda f, v, w: f(v, a_min=None, a_max=1)),
    ("f(v, weights=w)", lambda f, v, w: f(v, weights=w)),
    ("f('ij->ji', v)", lambda f, v, w: f("ij->ji", v)),
    ("f('ij,ij', v, w)", lambda f, v, w: f("ij,ij", v, w)),
    ("f('ji', v)", lambda f, v, w: f("ji", v)),
    ("f('ij->ii', v)", lambda f, v, w: f("ij->ii", v)),
    ("f('ii', v)", lambda f, v, w: f("ii", v)),
    ("f('i,i->i', v, w)", lambda f, v, w: f("i,i->i", v, w)),
    ("f('ij,jk', v, w, optimize=True)", lambda f, v, w: f("ij,jk", v, w, optimize=True)),
    ("f('...j->...', v)", lambda f, v, w: f("...j->...", v)),
    ("f(np.sin, v)", lambda f, v, w: f(np.sin, v)),
    ("f(np.sin, 0, v)", lambda f, v, w: f(np.sin, 0, v)),
    ("f(v, out=...)", lambda f, v, w: f(v, out=np.zeros(np.shape(w)))),
    ("f(v, 0.25)", lambda f, v, w: f(v, 0.25)),
]

# what NumPy says, before it asks the value anything, of something that is not a type or a buffer
NOT_ASKED = ("as a data type", "bytes-like object", "setting an array element")


def plain(result: Any) -> Any:
    """A result without containers of its own kind, so that two of them can be compared."""
    if isinstance(result, (list, tuple)):
        return [plain(part) for part in result]
    return result


def number_of(result: Any, x: Any) -> Any:
    """The numbers that a result of tracing stands for, with the traced value at x."""
    if isinstance(result, (list, tuple)):
        return [number_of(part, x) for part in result]
    if not isinstance(result, Value):
        return result
    graph = result.graph
    if graph.is_condition(result.row):
        result = gc.where(result, 1, 0)
    graph.bind(graph.unused_name("result"), result.row) if result.row not in graph.names else None
    return graph.values({"v": x})[graph.names[result.row]]


def is_same(ours: Any, numpys: Any) -> bool:
    if isinstance(numpys, list):
        return (
            isinstance(ours, list) and len(ours) == len(numpys) and all(map(is_same, ours, numpys))
        )
    if isinstance(numpys, (str, type, np.dtype)) or numpys is None:
        return type(ours) is type(numpys) and ours == numpys
    if np.shape(ours) != np.shape(numpys):
        return False
    if np.asarray(numpys).dtype.kind not in "biuf":
        return bool(np.all(ours == numpys))
    return bool(
        np.allclose(
            np.asarray(ours, dtype=float), np.asarray(numpys, dtype=float), 1e-12, equal_nan=True
        )
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_gives_the_number_of_numpy_or_is_refused(name):
    function = FUNCTIONS[name]
    right = 0
    for x in (SCALAR, VECTOR, SQUARE, WIDE, CUBE):
        for text, call in CALLS:
            graph = gc.Graph()
            v = graph.input("v", shape=np.shape(x))
            try:
                result = call(function, v, x.copy())
            except gc.GraphcError as error:
                assert "\n" not in str(error)
                continue
            except Exception as error:
                if not any(words in str(error) for words in NOT_ASKED):
                    with pytest.raises(Exception):  # noqa: B017  # the call itself does not fit
                        call(function, x, x.copy())
                continue
            where = f"{name}: {text} with shape {np.shape(x)}"
            try:
                expected = plain(call(function, x, x.copy()))
            except Exception as error:
                pytest.fail(f"{where}: NumPy refuses ({error}), and we gave {result}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert is_same(number_of(result, x), expected), where
            right += 1
    if name.removeprefix("np.") in TRACED:
        assert right, f"{name} is never traced"


TRACED = {
    *(
        "dot",
        "matmul",
        "inner",
        "outer",
        "vdot",
        "tensordot",
        "einsum",
        "trace",
        "diag",
        "diagonal",
    ),
    *("sum", "mean", "prod", "max", "min", "amax", "amin", "var", "std", "average", "ptp"),
    *("linalg.norm", "linalg.det", "linalg.inv", "linalg.solve", "transpose", "swapaxes"),
    *("moveaxis", "reshape", "ravel", "concatenate", "stack", "hstack", "vstack", "take", "where"),
    *("clip", "flip", "fliplr", "flipud", "roll", "squeeze", "expand_dims", "broadcast_to", "pad"),
    *("shape", "ndim", "size", "zeros_like", "ones_like", "copy", "atleast_1d", "atleast_2d"),
    *("sin", "exp", "add", "multiply", "power", "maximum", "logaddexp", "positive", "fabs"),
    *("heaviside", "reciprocal", "less", "kron", "diff"),
}


# Operators, methods and conversions.

RIGHT: dict[str, Callable[[Any, Any], Any]] = {
    "A @ v": lambda v, w: SQUARE @ v,
    "v @ A": lambda v, w: v @ SQUARE,
    "list @ v": lambda v, w: [1.0, 2.0, 3.0] @ v if isinstance(v, Value) else [1.0, 2.0, 3.0] @ w,
    "array * v": lambda v, w: VECTOR * v,
    "array / v": lambda v, w: VECTOR / v,
    "array - v": lambda v, w: WIDE - v,
    "scalar * v": lambda v, w: np.float64(2.5) * v,
    "int scalar * v": lambda v, w: np.int64(3) * v,
    "float32 scalar - v": lambda v, w: np.float32(0.5) - v,
    "0-d array + v": lambda v, w: np.array(1.5) + v,
    "array ** v": lambda v, w: np.array([1.5, 2.5, 0.5]) ** v,
    "np.where of a mask": lambda v, w: np.where(np.array([True, False, True]), v, -w),
    "np.dot(list, v)": lambda v, w: np.dot([1.0, 2.0, 3.0], v),
    "np.stack((v, w))": lambda v, w: np.stack((v, w), axis=1),
    "np.concatenate of a value": lambda v, w: np.concatenate((v, [1.0], w)),
    "v.sum()": lambda v, w: v.sum(),
    "v.sum(0)": lambda v, w: v.sum(0),
    "v.mean(axis=0, keepdims=True)": lambda v, w: v.mean(axis=0, keepdims=True),
    "v.max()": lambda v, w: v.max(),
    "v.var()": lambda v, w: v.var(),
    "v.std()": lambda v, w: v.std(),
    "v.dot(w)": lambda v, w: v.dot(w),
    "v.reshape(3, 1)": lambda v, w: v.reshape(3, 1),
    "v.reshape((1, -1))": lambda v, w: v.reshape((1, -1)),
    "v.reshape(-1)": lambda v, w: v.reshape(-1),
    "v.ravel()": lambda v, w: v.ravel(),
    "v.flatten()": lambda v, w: v.flatten(),
    "v.clip(-1, 1)": lambda v, w: v.clip(-1, 1),
    "v.take([2, 0])": lambda v, w: v.take([2, 0]),
    "v.transpose()": lambda v, w: v.transpose(),
    "v.copy()": lambda v, w: v.copy(),
    "v.T": lambda v, w: v.T,
    "v[None].squeeze()": lambda v, w: v[None].squeeze(),
    "len(v)": lambda v, w: len(v),
    "v.shape": lambda v, w: v.shape,
    "v.ndim": lambda v, w: v.ndim,
    "v.size": lambda v, w: v.size,
    "[*v]": lambda v, w: [*v],
    "sum(v)": lambda v, w: sum(v),
    "pow(v, 2)": lambda v, w: pow(v, 2),
    "+v": lambda v, w: +v,
    "f-string": lambda v, w: len(f"{v}") > 0,
    "hasattr": lambda v, w: hasattr(v, "no_such_name"),
}


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right(text):
    graph = gc.Graph()
    v = graph.input("v", shape=(3,))
    x = np.abs(VECTOR)
    try:
        expected = plain(RIGHT[text](x, x))
    except TypeError:  # a list of numbers has no @
        expected = np.asarray([1.0, 2.0, 3.0]) @ x
    assert is_same(number_of(RIGHT[text](v, x), x), expected)


def _assigned(v):
    v[0] = 1.0


def _deleted(v):
    del v[0]


def _in_place(v):
    array = np.zeros(3)
    array += v


REFUSED: dict[str, Callable[[Any], Any]] = {
    "v % 2": lambda v: v % 2,
    "2 % v": lambda v: 2 % v,
    "v // 2": lambda v: v // 2,
    "2 // v": lambda v: 2 // v,
    "divmod(v, 2)": lambda v: divmod(v, 2),
    "pow(v, 2, 5)": lambda v: pow(v, 2, 5),
    "round(v)": round,
    "round(v, 2)": lambda v: round(v, 2),
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "math.trunc": math.trunc,
    "math.sin": math.sin,
    "math.sqrt": math.sqrt,
    "math.hypot": lambda v: math.hypot(v, 1),
    "int": int,
    "float": float,
    "complex": complex,
    "bool": bool,
    "range": range,
    "not v": lambda v: not v,
    "and": lambda v: v > 0 and v < 1,
    "&": lambda v: (v > 0) & (v < 1),
    "|": lambda v: (v > 0) | (v < 1),
    "~": lambda v: ~(v > 0),
    "<<": lambda v: v << 1,
    "0 < v < 1": lambda v: 0 < v < 1,
    "0.5 in v": lambda v: 0.5 in v,
    "v in [w]": lambda v: v in [v + 1],
    "sorted": lambda v: sorted([v, v + 1]),
    "max of Python": lambda v: max(v, 1),
    "format": lambda v: f"{v:.2f}",
    "%d": lambda v: "%d" % v,  # noqa: UP031
    "set item": _assigned,
    "delete item": _deleted,
    "array += v": _in_place,
    "np.asarray": np.asarray,
    "np.array([v, v])": lambda v: np.array([v, v]),
    "np.array of objects": lambda v: np.array([v, v], dtype=object),
    "np.float64": np.float64,
    "np.sum([v, v])": lambda v: np.sum([v, v]),
    "np.add.reduce": np.add.reduce,
    "np.add.outer": lambda v: np.add.outer(v, v),
    "np.add.accumulate": np.add.accumulate,
    "np.add.at": lambda v: np.add.at(v, [0], 1),
    "np.multiply.reduceat": lambda v: np.multiply.reduceat(v, [0]),
    "out=": lambda v: np.sin(v, out=np.zeros(3)),
    "where=": lambda v: np.sin(v, where=np.array([True, False, True])),
    "dtype=": lambda v: np.add(v, 1, dtype=np.float32),
    "np.frompyfunc": lambda v: np.frompyfunc(math.sin, 1, 1)(v),
    "np.vectorize": lambda v: np.vectorize(math.sin)(v),
    "another ufunc called sin": lambda v: np.frompyfunc(lambda t: 2 * t, 1, 1)(v),
    "rng.normal": lambda v: np.random.default_rng(0).normal(v),
    "v.argmax()": lambda v: v.argmax(),
    "v.astype": lambda v: v.astype(float),
    "v.tolist()": lambda v: v.tolist(),
    "v.item()": lambda v: v.item(),
    "v.dtype": lambda v: v.dtype,
    "v.sum(dtype=...)": lambda v: v.sum(dtype=np.float32),
    "v.sum(axes=0)": lambda v: v.sum(axes=0),
    "v.summ()": lambda v: v.summ(),
    "v[v > 0]": lambda v: v[v > 0],
    "v[v]": lambda v: v[v],
    "v['a']": lambda v: v["a"],
    "v[0.5]": lambda v: v[0.5],
    "v[mask]": lambda v: v[np.array([True, False, True])],
    "v + None": lambda v: v + None,
    "v + 'a'": lambda v: v + "a",
    "v + object": lambda v: v + object(),
    "v * 1j": lambda v: v * 1j,
    "gc.sin(v, v)": lambda v: gc.sin(v, v),
    "gc.sum(v, axes=0)": lambda v: gc.sum(v, axes=0),
    "gc.relu(v, kinks=1)": lambda v: gc.relu(v, kinks=1),
}


@pytest.mark.parametrize("shape", [(), (3,), ("n",)])
@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_is_one_sentence(text, shape):
    v = gc.Graph().input("v", shape=shape)
    with pytest.raises(gc.GraphcError) as error:
        REFUSED[text](v)
    assert "\n" not in str(error.value)


def test_a_size_by_name_is_a_number_in_formulas():
    @gc.graph(shapes={"x": ("n", 2)})
    def f(x):
        return gc.sum(x) / x.shape[0]

    assert f.values({"x": np.ones((4, 2))})["f"] == 2


def test_functions_with_the_name_of_one_of_ours_are_not_ours():
    double = np.frompyfunc(lambda t: 2 * t, 1, 1)
    assert "sin" not in double.__name__
    with pytest.raises(gc.GraphcError, match="cannot be traced"):
        double(gc.Graph().input("x"))


def test_numpy_traces_a_whole_layer():
    rng = np.random.default_rng(0)
    W, b, x = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3)

    def layer(x, W, b):
        h = np.maximum(np.dot(W, x) + b, 0)
        return np.linalg.norm(h) + np.mean(np.tanh(h)) - np.log(np.sum(np.exp(h)))

    g = gc.graph(lambda x, *, W, b: layer(x, W, b), shapes={"x": (3,), "W": (4, 3), "b": (4,)})
    assert g.values({"x": x, "W": W, "b": b})["graph"] == pytest.approx(layer(x, W, b), rel=1e-14)
