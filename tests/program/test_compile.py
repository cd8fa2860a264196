"""Compiled code is the graph: exact equality, 4 ulp per operation, names, the contract of calls."""

from __future__ import annotations

import ast
import random
import threading
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from engines import ENGINES, Engine, every_engine
from probes import PROBES, Probe, points, referee, ulps
from random_graphs import KINKED, SMOOTH, Case, case, cases

import graphc as gc
from graphc.algebra.arithmetic import NUMBERS, Numbers
from graphc.program.backends.numpy import NUMPY
from graphc.program.passes import plain
from graphc.program.program import evaluate, lower
from graphc.program.question import Matrix, flat, mapped
from graphc.program.running import load
from graphc.program.wants import WANTS, derived, question

FAST = NUMPY.passes("fast", True)
MODES = ("reverse", "forward", "auto")
SEED = Fraction(3, 7)
every_want = pytest.mark.parametrize("want", WANTS)
pytestmark = pytest.mark.filterwarnings("ignore::graphc.KinkWarning", "ignore::RuntimeWarning")


def parts(result: Any) -> list[Any]:
    """The arrays of a result, in order."""
    if isinstance(result, dict):
        return [part for value in result.values() for part in parts(value)]
    if isinstance(result, tuple):
        return [part for value in result for part in parts(value)]
    return [result]


def renamed(result: Any, names: dict[str, str]) -> Any:
    """The same result with the keys of dicts exchanged."""
    if isinstance(result, dict):
        return {names[key]: renamed(value, names) for key, value in result.items()}
    return tuple(renamed(r, names) for r in result) if isinstance(result, tuple) else result


def same(found: Any, expected: Any, close: float = 0.0) -> bool:
    """Whether two results have the same form, shapes and numbers."""
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(
            same(found[key], expected[key], close) for key in expected
        )
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(
            same(f, e, close) for f, e in zip(found, expected, strict=True)
        )
    if np.shape(found) != np.shape(expected):
        return False
    return np.allclose(found, expected, rtol=close, atol=close, equal_nan=True)


# Exact equality of program and graph.


def exact_result(graph: gc.Graph, one: Case, of: Any, want: str, mode: str, rules: Any) -> Any:
    """What a program computes over fractions, as nested dicts, tuples and lists."""
    asked = question(graph, of, one.wrt, want)
    rows = derived(asked, mode)
    program, place = lower(rows.graph, flat(rows.results), rules)
    given: dict[str, Any] = dict(one.at)
    for name, row in zip(one.wrt, rows.tangents, strict=False):
        given[rows.graph.names[row]] = one.tangents[name]
    given |= {rows.graph.names[row]: SEED for row in rows.seeds}
    values = evaluate(program, NUMBERS, given)
    found = mapped(rows.results, lambda row: values[place[row]])
    return [list(line) for line in found.entries] if isinstance(found, Matrix) else found


def exact_expected(graph: gc.Graph, one: Case, of: str, want: str) -> Any:
    """The same from the graph's own verbs."""
    values = graph.values(one.at)
    adjoints = graph.reverse(of, one.at)
    slopes = {name: adjoints.get(name, 0) for name in one.wrt}
    if want in ("hessian", "hvp"):
        hessian = graph.hessian(of, one.wrt, one.at)
        count = range(len(one.wrt))
        lines = [[hessian[i, j] for j in count] for i in count]
        moved = [sum(h * one.tangents[n] for h, n in zip(x, one.wrt, strict=True)) for x in lines]
        return lines if want == "hessian" else dict(zip(one.wrt, moved, strict=True))
    if want == "jvp":
        tangents = graph.forward({name: one.tangents[name] for name in one.wrt}, one.at)
        return values[of], tangents.get(of, 0)
    return {
        "value": values[of],
        "values": values,
        "grad": slopes,
        "value_and_grad": (values[of], slopes),
        "jacobian": [list(slopes.values())],
        "vjp": (values[of], {name: SEED * slope for name, slope in slopes.items()}),
    }[want]


@pytest.mark.parametrize("block", range(10))
def test_programs_equal_their_graphs_exactly(block: int):
    """500 random graphs, every want."""
    for seed in range(50 * block, 50 * block + 50):
        one = case(seed)
        graph = one.graph
        rules = (plain(), FAST)[seed % 2]
        mode = ("reverse", "forward")[seed // 2 % 2]
        of = one.of[seed // 4 % len(one.of)]
        for want in WANTS:
            found = exact_result(graph, one, of, want, mode, rules)
            assert found == exact_expected(graph, one, of, want), (want, mode, of, one)


def test_random_graphs_have_what_the_tests_are_about():
    texts = [one.text for one in cases(500)]
    for word in ("stop(", "where(", "d n", "max(", "relu(", " = 2/3", "**-1"):
        assert sum(word in text for text in texts) > 20, word
    shared = [one for one in cases(100) if "w1" in one.wrt and one.text.count("w1") > 3]
    assert len(shared) > 10
    unreached = 0
    for one in cases(100):
        adjoints = one.graph.reverse(one.of[0], one.at)
        unreached += any(name not in adjoints for name in one.wrt)
    assert unreached > 10


def test_several_outputs_are_results_by_name():
    for one in cases(60, start=1000):
        if len(one.of) < 2:
            continue
        graph = one.graph
        for want in ("value", "grad", "value_and_grad", "jacobian", "jvp"):
            found = exact_result(graph, one, one.of, want, "reverse", FAST)
            each = [exact_expected(graph, one, of, want) for of in one.of]
            if want == "jacobian":
                assert found == [line for lines in each for line in lines]
            elif want in ("jvp", "value_and_grad"):
                assert found == tuple(
                    dict(zip(one.of, side, strict=True)) for side in zip(*each, strict=True)
                )
            else:
                assert found == dict(zip(one.of, each, strict=True))


def test_seeds_give_the_gradient_of_the_weighted_sum():
    for one in cases(60, start=1100):
        graph, seeds = one.graph, {of: Fraction(i + 2, 3) for i, of in enumerate(one.of)}
        found = exact_result(graph, one, seeds, "value_and_grad", "reverse", FAST)
        adjoints, values = graph.reverse(seeds, one.at), graph.values(one.at)
        assert found == (
            sum(seed * values[of] for of, seed in seeds.items()),
            {name: adjoints.get(name, 0) for name in one.wrt},
        )


TENSORS = {
    "layer": ("input x[3] y[2]\nparam W[2,3] b[2]\na = W @ x + b\nL = sum((relu(a) - y)**2)/2"),
    "batch": "input X[n,2] y[n]\nparam w[2] b\nr = X @ w + b - y\nL = mean(r**2) + max(w)",
    "chain": "input x[2]\nparam W[2,2]\nh = W @ x\nk = W @ h\nL = k @ k + sum(outer(h, k)) + h[1]",
    "solved": (
        "input x[2]\nparam A[2,2]\nB = A + 20*diag(ones(2))\n"
        "L = x @ solve(B, x) + det(B) + trace(inv(B))"
    ),
    "windows": "input x[6]\nparam w[3]\nc = conv1d(x, w)\nL = sum(maxpool(c, 2)**2) + sum(c[1:3])",
    "selected": (
        "input x[2,3]\nparam w[3]\na = reshape(x, (3, 2))\nc = concat([w, x[0]])\n"
        "s = stack([w, take(x, 1)])\nL = sum(a[2]*a[0]) + sum(c**3) + sum(s * x.T.T) + prod(w)"
    ),
    "mean": "input x[2,3]\nparam w[3]\nL = var(x * w) + sum(pad(w, ((1, 1),))[1:4]*x[1])",
    "stopped": "input x[3]\nparam w[3]\nh = w*x\nL = sum(where(h > 0, h*stop(h), w)) + w[0]",
}


def tensor_point(graph: gc.Graph, seed: int, sizes: dict[str, int]) -> dict[str, Any]:
    """Exact arrays: nested lists of fractions."""
    rng = random.Random(seed)

    def filled(shape: tuple[Any, ...]) -> Any:
        if not shape:
            return Fraction(rng.randint(-6, 6), rng.choice((1, 2)))
        return [filled(shape[1:]) for _ in range(sizes.get(shape[0], shape[0]))]

    return {name: filled(graph[name].shape) for name in [*graph.input_names, *graph.param_names]}


def boxed(value: Any) -> Any:
    if isinstance(value, list):
        array = np.empty(np.shape(value), dtype=object)
        array[...] = np.array(value, dtype=object)
        return array
    return value


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("rules", [plain(), FAST], ids=["readable", "fast"])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_programs_of_tensors_equal_their_graphs_exactly(name: str, rules: Any, mode: str):
    graph, sizes = gc.parse(TENSORS[name]), {"n": 3}
    wrt = [*graph.param_names, *graph.input_names]
    for seed in range(3):
        at = tensor_point(graph, seed, sizes)
        given = {key: boxed(value) for key, value in at.items()}

        def computed(want: str, given: dict[str, Any] = given) -> Any:
            rows = derived(question(graph, "L", wrt, want), mode)
            program, place = lower(rows.graph, flat(rows.results), rules)
            tangents = {
                rows.graph.names[row]: given[n] for n, row in zip(wrt, rows.tangents, strict=False)
            }
            seeds = {rows.graph.names[row]: SEED for row in rows.seeds}
            values = evaluate(program, Numbers(sizes), given | tangents | seeds)
            return mapped(rows.results, lambda row: values[place[row]])

        adjoints = graph.reverse("L", at)
        value, slopes = computed("value_and_grad")
        assert value == graph.values(at)["L"]
        for key in wrt:
            assert np.all(slopes[key] == adjoints.get(key, 0)), key
        _, tangent = computed("jvp")
        assert tangent == graph.forward({key: at[key] for key in wrt}, at)["L"]
        _, pulled = computed("vjp")
        for key in wrt:
            assert np.all(pulled[key] == SEED * boxed(adjoints.get(key, 0))), key
        values = computed("values")
        assert all(np.all(values[key] == value) for key, value in graph.values(at).items())
        blocks = computed("hessian").entries
        for i, one in enumerate(wrt):
            found = graph.hessian("L", one, at)
            assert np.all(np.asarray(blocks[i][i]) == np.asarray(found)), one


# Floats: within 4 ulp of 50-digit values.

# 1 + erf, o*(1 - o), 1 - o**2: an ulp of 1 is lost where they vanish
VANISHING = {"gelu": 1.0, "sigmoid": 1.0, "tanh": 1.0}
MOST_ULP = 4
# slopes of several operations: so many ulp
SLOPES_ULP = {"logaddexp": 40, "silu": 8, "gelu": 8}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
@every_engine
def test_each_function_is_right_to_4_ulp(probe: Probe, engine: Engine):
    places = points(probe)
    columns = [np.array(column) for column in zip(*places, strict=True)]
    compiled = probe.graph.compile("y", probe.inputs, **engine)
    at = dict(zip(probe.inputs, columns, strict=True))
    value, slopes = compiled(at)
    shape = columns[0].shape
    least = VANISHING.get(probe.name, 0.0)
    for place, found in zip(places, np.broadcast_to(value, shape), strict=True):
        truth = referee(probe.value, place)
        if truth is not None:
            assert ulps(found, truth, least if probe.name == "gelu" else 0) <= MOST_ULP, place
    for name, slope in zip(probe.inputs, probe.slopes, strict=True):
        for place, found in zip(places, np.broadcast_to(slopes[name], shape), strict=True):
            truth = None if probe.kinks(place) else referee(slope, place)
            if truth is not None:
                most = SLOPES_ULP.get(probe.name, MOST_ULP)
                assert ulps(found, truth, least) <= most, (name, place)


@every_engine
@pytest.mark.parametrize("mode", MODES)
def test_compiled_graphs_agree_with_50_digits(engine: Engine, mode: str):
    for one in cases(25, functions=(*KINKED, *SMOOTH), start=2000):
        graph, of = one.graph, one.of[0]
        with mpmath.workdps(50):
            digits = {name: mpmath.mpf(v.numerator) / v.denominator for name, v in one.at.items()}
            adjoints, values = graph.reverse(of, digits), graph.values(digits)
            truth = float(values[of]), {n: float(adjoints.get(n, 0)) for n in one.wrt}
        found = graph.compile(of, one.wrt, mode=mode, **engine)(one.floats())
        assert same(found, truth, 1e-10), one


@every_want
def test_all_engines_agree(want: str):
    for one in cases(12, functions=(*KINKED, *SMOOTH), start=2100):
        graph, of = one.graph, one.of[0]
        results = []
        for engine in ENGINES.values():
            f = graph.compile(of, one.wrt, want, **engine)
            extra = {name: 0.5 for name in f.arguments if name not in one.at}
            results.append(f({**one.floats(), **extra}))
        assert all(same(results[0], other, close=1e-11) for other in results[1:]), one


# Names.

HOSTILE = [
    "x0",
    "_tmp",
    "_",
    "__",
    "__x",
    "v__x",
    "__name__",
    "__import__",
    "np",
    "out",
    "h_bar",
    "lambda_",
    "ψ",
    "points",
    "range",
    "min",
    "size",
    "start",
    "stop",
    "block",
    "work",
    "masks",
    "v",
    "result1",
    "b0",
    "m0",
    "t1",
    "sigmoid",
    "checked",
    "put",
    "at",
    "along",
    "value_and_grad",
    "matrix",
    "spaces",
    "space",
    "workspace",
    "constant1",
    "int",
    "print",
    "self",
    "L_bar",
    "x_dot",
    "sum",
    "b1",
    "x_part",
    "result1_part",
    "cp",
    "ArrayLike",
    "ndarray",
    "value",
    "grad",
    "jacobian",
    "hessian",
    "check",
    "erf",
    "ERF_BELOW",
    "shape",
    "max",
    "len",
    "list",
    "tuple",
    "zip",
    "abs",
    "type",
    "ValueError",
    "SystemExit",
    "ahead",
    "behind",
    "derived",
    "measured",
    "slopes",
    "error",
    "here",
    "name",
    "float64",
    "np_",
    "points_",
    "range_",
    "gather",
    "scatter",
    "winner",
    "softmax",
    "norm",
    "w_bar",
    "a_dot",
    "cos_x",
    "cupyx",
    "array",
    "zeros",
    "asarray",
    "T1",
    "dtype",
    "e",
]
PLAIN = dict(zip("abcdefn", ("p1", "p2", "p3", "p4", "p5", "p6", "p7"), strict=True))
SCALARS = """input {a} {b}
param {c}
{d} = sigmoid({a}*{b}) + erf({c})
{e} = where({a} > 0, {d}**2, cos({a})*{d}) + gelu({b}) + {d}/2
{f} = log(1 + {e}**2)*{c} + max({a}, {b})
output {f}"""
ARRAYS = """input {a}[{n},2] {b}[{n}]
param {c}[2]
{d} = sigmoid({a} @ {c})*{b}
{e} = softmax({d})*logsumexp({a}) + {c}[0]
{f} = sum({e}**2 + relu({d})) + norm({c}) + max({c}) + sum(pad({c}, ((1, 1),))*ones(4))
output {f}"""
POINT_OF_SCALARS = {"a": np.array([0.3, -0.2]), "b": np.array([-0.7, 0.4]), "c": np.array(1.2)}
POINT_OF_ARRAYS = {
    "a": np.linspace(-1, 1, 6).reshape(3, 2),
    "b": np.array([1.0, -2, 3]),
    "c": np.array([0.5, -0.3]),
}


def named_result(text: str, names: dict[str, str], want: str, engine: Engine, given: Any) -> Any:
    graph = gc.parse(text.format(**names))
    f = graph.compile(names["f"], [names["c"], names["a"]], want, **engine)
    at = {names[key]: value for key, value in given.items()}
    extra = [name for name in f.arguments if name not in at]
    more = {"vjp": [2.0], "jvp": [given["c"], given["a"]], "hvp": [given["c"], given["a"]]}
    return f({**at, **dict(zip(extra, more.get(want, []), strict=True))})


def hostile_names(seed: int, count: int) -> list[dict[str, str]]:
    """Every hostile name in some role; each has all roles over the seeds."""
    rng = random.Random(seed)
    found, names = [], list(HOSTILE)
    while len(found) < count:
        rng.shuffle(names)
        found += [
            dict(zip("abcdefn", names[i : i + 7], strict=True)) for i in range(0, len(names) - 6, 7)
        ]
    return found[:count]


@every_want
@every_engine
@pytest.mark.parametrize(
    ("text", "given", "count"), [(SCALARS, POINT_OF_SCALARS, 10), (ARRAYS, POINT_OF_ARRAYS, 4)]
)
def test_names_do_not_change_results(want, engine, text, given, count):
    expected = named_result(text, PLAIN, want, engine, given)
    for names in hostile_names(f"{want} {engine} {count}", count):
        keys = {PLAIN[role]: name for role, name in names.items()}
        found = named_result(text, names, want, engine, given)
        assert same(found, renamed(expected, keys)), names


ROLES = {
    "input": "input {0} q\nr = {0}*q + sigmoid(q)\no = r**2 + erf({0})",
    "param": "input q\nparam {0}\nr = {0}*q + sigmoid(q)\no = r**2 + erf({0})",
    "node": "input u q\n{0} = u*q + sigmoid(q)\no = {0}**2 + erf({0})",
}


@every_engine
@pytest.mark.parametrize("role", ROLES)
def test_every_hostile_name_in_every_role(engine: Engine, role: str):
    results = set()
    for name in ("plain", *HOSTILE):
        graph, at = gc.parse(ROLES[role].format(name)), {name: 0.5, "u": 0.5, "q": -0.25}
        wrt = "q" if role == "node" else name
        value, slopes = graph.compile("o", [wrt], **engine)(
            {key: at[key] for key in graph.input_names + graph.param_names}
        )
        results.add((float(value), float(slopes[wrt])))
    assert len(results) == 1


@every_engine
@pytest.mark.parametrize("name", ["self", "_", "__x", "args", "named"])
def test_an_argument_of_any_name_is_given_by_name(name, engine):
    graph = gc.parse(f"input {name} y\nL = {name}**2*y")
    f = graph.compile("L", [name, "y"], **engine)
    assert f(**{name: 3.0, "y": 2.0}) == f(3.0, 2.0) == (18, {name: 12, "y": 9})
    load(f.source, "check")()


EMPTY = {  # formulas with an empty slice, and what they are at x = [1, 2, 3]
    "sum(x[2:1])": (0, [0, 0, 0]),
    "sum(x[2:1]**2) + sum(x)": (6, [1, 1, 1]),
    "prod(x[3:])": (1, [0, 0, 0]),
    "sum(concat([x, x[1:1]])**2)": (14, [2, 4, 6]),
    "sum(outer(x[2:1], x))": (0, [0, 0, 0]),
    "norm(x[2:1])": (0, [0, 0, 0]),
}


@every_engine
@pytest.mark.parametrize("formula", EMPTY)
def test_empty_slices(formula, engine):
    graph, (value, slope) = gc.parse(f"input x[3]\nL = {formula}"), EMPTY[formula]
    found = graph.compile("L", "x", **engine)(x=[1.0, 2.0, 3.0])
    assert same(found, (np.float64(value), {"x": np.array(slope, dtype=float)}))


@every_engine
def test_an_empty_constant_keeps_its_shape(engine):
    graph = gc.Graph()
    x = graph.input("x", shape=(1, 1))
    graph.output(graph.node("y", x + np.zeros((0, 2, 3))))
    at = {"x": np.ones((1, 1))}
    assert graph.values(at)["y"].shape == (0, 2, 3)
    assert graph.compile("y", want="value", **engine)(**at).shape == (0, 2, 3)


@every_engine
def test_an_empty_seed_keeps_its_shape(engine):
    graph = gc.parse("input x[0,3,1]\ny = sin(x)\nL = sum(x)")
    nothing = np.zeros((0, 3, 1))
    f = graph.compile({"y": nothing, "L": 1.0}, "x", want="grad", **engine)
    assert f(x=nothing)["x"].shape == (0, 3, 1)


def test_matrices_without_columns_have_products():
    graph = gc.parse("input A[2,3,0] B[0,2]\nC = A @ B")
    found = graph.values({"A": np.zeros((2, 3, 0)), "B": np.zeros((0, 2))})["C"]
    assert same(found, np.zeros((2, 3, 2)))


@every_engine
@pytest.mark.parametrize(("size", "inner"), [(3, "x[:,2:2]"), (0, "x")])
def test_no_maxima_have_a_gradient(size, inner, engine):
    graph = gc.parse(f"input x[2,{size}]\ny = max({inner}, axis=0)\nL = sum(y*y)")
    x = np.ones((2, size))
    right = np.zeros((2, size))
    assert same(graph.reverse("L", {"x": x})["x"], right)
    assert same(graph.compile("L", "x", **engine)(x=x), (np.float64(0), {"x": right}))


# The contract of calls.

FIT = "input x\nparam w = 2\nparam b = 1/2\nr = w*x + b\nL = r**2\noutput L"
TWO = "input x y\nparam w\na = w*x\nb = a + y\nc = 3*y\noutput a b"
LINES = "input X[n,2] y[n]\nparam w[2]\nr = X @ w - y\nL = sum(r**2)\noutput L"


def test_arguments_by_position_are_inputs_then_params():
    graph = gc.parse("param b w\ninput x y\nL = w*x + b*y")
    f = graph.compile("L", ["w"], "value")
    assert f.arguments == ("x", "y", "b", "w")
    assert f(1, 2, 3, 4) == 4 * 1 + 3 * 2
    assert f(1, 2, w=4, b=3) == f({"x": 1, "y": 2, "b": 3, "w": 4}) == 10
    assert f({"x": 1, "y": 2}, b=3, w=4) == 10


def test_only_the_names_needed():
    graph = gc.parse(TWO)
    assert graph.compile("c", want="value").needed == ("y",)
    assert graph.compile("a", ["w"], "grad").needed == ("x",)
    assert graph.compile("a", ["x", "w"], "grad").needed == ("x", "w")
    f = graph.compile("a", ["w"], "grad")
    assert f(x=3) == f(x=3, y=1, w=2) == {"w": 3}  # other names of the graph may be given
    with pytest.raises(gc.GraphcError, match="grad needs a value for 'x' \\(it needs: x\\)"):
        f(w=2)


ROBERTSON = (
    "input y1 y2 y3\na = -4/100*y1 + 10000*y2*y3\nc = 30000000*y2**2\nb = -a - c\noutput a b c"
)


@every_engine
def test_every_argument_stands_where_it_was_declared(engine):
    graph, names = gc.parse(ROBERTSON), ["y1", "y2", "y3"]
    expected = [[-0.04, 3e4, 2e4], [0.04, -1.2003e8, -2e4], [0, 1.2e8, 0]]
    f = graph.compile(["a", "b", "c"], names, "jacobian", **engine)
    assert f.arguments == ("y1", "y2", "y3") and f.needed == ("y2", "y3")
    emitted = load(
        graph.emit(["a", "b", "c"], names, "jacobian", style=engine["style"]), "jacobian"
    )
    for function in (f, emitted):
        assert np.allclose(function(1, 2, 3), expected, rtol=1e-15)
        assert np.allclose(function(y3=3, y2=2, y1=1), expected, rtol=1e-15)
        assert function(np.ones(5), 2, 3).shape == (5, 3, 3)  # y1 says how many points there are
    assert np.allclose(f(y2=2, y3=3), expected, rtol=1e-15)


@every_engine
@every_want
def test_emitted_and_compiled_functions_take_the_same_arguments(want, engine):
    for text in (
        TWO,
        "input A[2] n\nparam B[2]\nparam c = 3\na = sum(A)*c\nb = sum(B**2)\noutput a b",
    ):
        graph = gc.parse(text)
        of = graph.output_names[0]
        f = graph.compile(of, graph.param_names, want, **engine)
        tree = ast.parse(graph.emit(of, graph.param_names, want, style=engine["style"]))
        defined = {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
        names = [argument.arg for argument in defined[want].args.args]
        declared = graph.input_names + graph.param_names
        assert names == list(f.arguments) and names[: len(declared)] == declared


def test_a_seed_by_name_comes_after_what_was_declared():
    graph = gc.parse(TWO)
    f = graph.compile({"a": "g"}, ["w"])
    assert f.arguments == ("x", "y", "w", "g")
    assert f(2, 5, 3, 10) == (60, {"w": 20})


SIZED = {  # graphs in which a size is told by an array that the formula does not mention
    "sum": "input X[n,2]\nparam w[2]\nL = sum(w**2)",
    "number": "input X[n,2]\nparam w\nL = n*w**2",
    "ridge": "input X[n,2] y[n]\nparam w[2]\nr = X @ w - y\nL = sum(r**2)/n + sum(w**2)",
    "blocks": "input X[n,2] y[n]\nparam w[2] v[n]\nL = sum((X @ w - y)**2)/n + n*sum(v)",
}


@every_engine
@pytest.mark.parametrize("text", SIZED)
def test_sizes_that_only_an_unused_array_tells(text, engine):
    graph = gc.parse(SIZED[text])
    at = {"X": np.ones((3, 2)), "y": np.arange(3.0), "v": np.ones(3)}
    at["w"] = np.array([1.0, 2.0]) if graph["w"].shape else 2.0
    at = {name: at[name] for name in graph.input_names + graph.param_names}
    for wrt in (["w"], graph.param_names, ["w", "X"]):
        slopes = {name: np.asarray(graph.derivative("L", name, at), float) for name in wrt}
        value, found = graph.compile("L", wrt, **engine)(**at)
        assert same((value, found), (graph.values(at)["L"], slopes), 1e-12)
        hessian = graph.compile("L", wrt, "hessian", **engine)
        expected = np.array(graph.hessian("L", wrt, at), dtype=float)
        assert np.allclose(hessian(**at), expected)
        assert np.allclose(hessian(*at.values()), expected)
        products = graph.compile("L", wrt, "hvp", **engine)(**at)  # along nothing
        assert all(not np.any(product) for product in products.values())


def test_given_values_are_defaults():
    graph = gc.parse(FIT)
    f = graph.compile("L", want="value")
    assert f(3) == 6.5**2
    assert f(3, b=0) == 36
    assert f(x=3, w=1) == 3.5**2
    assert gc.parse("input X[2] = [1, 2]\nL = sum(X**2)").compile("L", "X")()[0] == 5


def test_the_form_of_each_want():
    graph = gc.parse(TWO)
    at = {"x": 2.0, "y": 5.0, "w": 3.0}
    wants = {
        "value": 6.0,
        "grad": {"w": 2.0, "x": 3.0, "y": 0.0},
        "value_and_grad": (6.0, {"w": 2.0, "x": 3.0, "y": 0.0}),
        "hvp": {"w": 0.0, "x": 0.0, "y": 0.0},
        "vjp": (6.0, {"w": 4.0, "x": 6.0, "y": 0.0}),
        "jvp": (6.0, 7 * 2.0),
        "jacobian": np.array([[2.0, 3.0, 0.0]]),
        "hessian": np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]]),
    }
    extra = {"vjp": {"a_bar": 2.0}, "jvp": {"w_dot": 7.0}}
    for engine in ENGINES.values():
        for want, expected in wants.items():
            f = graph.compile("a", ["w", "x", "y"], want, **engine)
            assert same(f(at, **extra.get(want, {})), expected), (want, engine)
        values = graph.compile(want="values", **engine)(at)
        assert values == {**at, "a": 6.0, "b": 11.0, "c": 15.0}
        assert list(values) == list(graph)


def test_several_outputs_by_name_and_matrices_of_all():
    graph, at = gc.parse(TWO), {"x": 2.0, "y": 5.0, "w": 3.0}
    for engine in ENGINES.values():

        def compiled(of: Any, want: str, engine: Engine = engine, **given: Any) -> Any:
            return graph.compile(of, ["x", "y"], want, **engine)(at, **given)

        assert compiled(["a", "c"], "value") == {"a": 6.0, "c": 15.0}
        assert compiled(None, "value") == {"a": 6.0, "b": 11.0}
        grads = {"a": {"x": 3.0, "y": 0.0}, "c": {"x": 0.0, "y": 3.0}}
        assert compiled(["a", "c"], "grad") == grads
        assert compiled(["a", "c"], "value_and_grad") == ({"a": 6.0, "c": 15.0}, grads)
        assert same(compiled(["a", "c"], "jacobian"), np.array([[3.0, 0], [0, 3.0]]))
        assert compiled({"a": 2, "c": 10}, "value_and_grad") == (162.0, {"x": 6.0, "y": 30.0})
        tangents = {"a": 3.0, "c": 0.0}
        assert compiled(["a", "c"], "jvp", x_dot=1) == ({"a": 6.0, "c": 15.0}, tangents)
        pulled = compiled(["a", "c"], "vjp", a_bar=2, c_bar=10)
        assert pulled == ({"a": 6.0, "c": 15.0}, {"x": 6.0, "y": 30.0})
        single = graph.compile("a", "x", "jacobian", **engine)(at)
        assert np.shape(single) == () and single == 3.0


def test_tangents_left_out_are_0():
    for engine in ENGINES.values():
        f = gc.parse(TWO).compile("a", ["x", "w"], "jvp", **engine)
        assert f(x=2, w=3) == (6, 0)
        assert f(x=2, w=3, x_dot=1) == (6, 3)
        g = gc.parse(LINES).compile("L", ["w", "y"], "hvp", **engine)
        at = {"X": np.eye(2), "y": np.ones(2), "w": np.ones(2)}
        assert same(g(at), {"w": np.zeros(2), "y": np.zeros(2)})
        assert same(g(at, w_dot=[1, 0]), {"w": np.array([2.0, 0]), "y": np.array([-2.0, 0])})


@every_engine
def test_results_stretch_over_all_points(engine: Engine):
    graph = gc.parse("input x y\nparam w\nL = w*x + y\noutput L")
    at = {"x": np.ones((4, 1)), "y": np.arange(5.0).reshape(1, 5), "w": 2.0}
    value, slopes = graph.compile("L", ["w", "x", "y"], **engine)(at)
    assert value.shape == (4, 5)
    assert {name: slope.shape for name, slope in slopes.items()} == dict.fromkeys(
        ["w", "x", "y"], (4, 5)
    )
    assert np.all(slopes["y"] == 1)
    for want, tail in (("jacobian", (1, 3)), ("values", ()), ("jvp", ()), ("vjp", ())):
        f = graph.compile("L", ["w", "x", "y"], want, **engine)
        extra = {"L_bar": 1.0} if want == "vjp" else {}
        assert {part.shape for part in parts(f(at, **extra))} == {(4, 5, *tail)}, want


@every_engine
@every_want
def test_no_points_give_empty_results(engine: Engine, want: str):
    graph = gc.parse("input x\nparam w\nh = sin(w*x)\nL = h**2 + x**3*w**2")
    f = graph.compile("L", ["w", "x"], want, **engine)
    extra = {"L_bar": 1.0} if want == "vjp" else {}
    shapes = {part.shape for part in parts(f(x=np.zeros((2, 0)), w=1.5, **extra))}
    tails = {"jacobian": (1, 2), "hessian": (2, 2)}
    assert shapes == {(2, 0, *tails.get(want, ()))}


@every_engine
def test_blocks_join_without_a_seam(engine: Engine):
    graph = gc.parse("input x\nparam w\nh = relu(sin(w*x))\nL = where(x > 0, h**2, exp(x))")
    f = graph.compile("L", ["w", "x"], **engine)
    x = np.linspace(-3, 3, 40_001)
    value, slopes = f(x, 2.0)
    for i in (0, 8191, 8192, 16383, 16384, 20_000, 40_000):
        one, each = f(x[i], 2.0)
        assert one == value[i] and each["w"] == slopes["w"][i] and each["x"] == slopes["x"][i]


@every_engine
@pytest.mark.parametrize("text", [SCALARS, ARRAYS], ids=["scalars", "arrays"])
@every_want
def test_results_are_fresh_arrays(engine: Engine, text: str, want: str):
    names = {letter: letter for letter in "abcdefn"}
    given = POINT_OF_SCALARS if text is SCALARS else POINT_OF_ARRAYS
    copies = {name: array.copy() for name, array in given.items()}
    f = gc.parse(text.format(**names)).compile("f", ["c", "a"], want, **engine)
    extra = {"vjp": {"f_bar": np.asarray(2.0)}, "jvp": {"c_dot": copies["c"]}}.get(want, {})
    first = f(copies, **extra)
    kept = [np.array(part) for part in parts(first)]
    again = f(copies, **extra)
    for one, other in zip(parts(first), parts(again), strict=True):
        assert not np.shares_memory(one, other)
    arrays = [part for part in parts(first) if isinstance(part, np.ndarray)]
    for i, array in enumerate(arrays):
        others = [*arrays[:i], *copies.values(), *extra.values()]
        assert not any(np.shares_memory(array, other) for other in others)
        assert array.flags.writeable
        array[...] = np.nan
    assert all(np.array_equal(copies[name], given[name]) for name in given)
    for before, after in zip(kept, parts(f(copies, **extra)), strict=True):
        assert np.array_equal(before, after)


@every_engine
def test_a_result_that_is_an_argument_or_stands_twice_is_a_copy(engine: Engine):
    graph = gc.parse("input x[2]\nparam w[2,2]\na = x\nb = w.T\nc = a\nL = sum(x + w)")
    x, w = np.ones(2), np.ones((2, 2))
    values = parts(graph.compile(want="values", **engine)(x=x, w=w))
    grads = parts(graph.compile("L", ["x", "w"], **engine)(x=x, w=w))
    for arrays in (values, grads):
        real = [array for array in arrays if array.ndim]
        for i, array in enumerate(real):
            assert not any(np.shares_memory(array, other) for other in [x, w, *real[:i]])
            assert array.flags.writeable


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
@every_engine
def test_float32_in_float32_out(probe: Probe, engine: Engine):
    columns = [np.array(c, dtype=np.float32) for c in zip(*points(probe)[:6], strict=True)]
    for want in ("value_and_grad", "hessian", "values"):
        fixed = probe.graph.compile("y", probe.inputs, want, **engine, dtype="float32")
        free = probe.graph.compile("y", probe.inputs, want, **engine, dtype=None)
        at = dict(zip(probe.inputs, columns, strict=True))
        for given in (at, {name: column[0] for name, column in at.items()}):
            kinds = {part.dtype for part in parts(fixed(given))}
            assert kinds == {np.dtype(np.float32)}, want
            if free.arguments:
                assert {part.dtype for part in parts(free(given))} == kinds, want
        wide = {name: column.astype(float) for name, column in at.items()}
        assert {part.dtype for part in parts(free(wide))} == {np.dtype(np.float64)}


@every_engine
def test_float32_tensors(engine: Engine):
    graph = gc.parse(ARRAYS.format(**{letter: letter for letter in "abcdefn"}))
    small = {name: array.astype(np.float32) for name, array in POINT_OF_ARRAYS.items()}
    for want in ("value_and_grad", "hessian", "values", "jacobian"):
        found = graph.compile("f", ["c", "a"], want, **engine, dtype="float32")(small)
        assert {part.dtype for part in parts(found)} == {np.dtype(np.float32)}
        exact = graph.compile("f", ["c", "a"], want, **engine)(POINT_OF_ARRAYS)
        assert same(found, exact, 2e-4)


@every_engine
@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_reduced_over_the_points(engine: Engine, reduce: str):
    graph = gc.parse("input x\nparam w b\nL = (w*x + b)**2 + b")
    x = np.linspace(-1, 2, 30_000).reshape(3, -1)
    how = getattr(np, reduce)
    for want in ("value", "grad", "value_and_grad", "jacobian", "hessian"):
        plain = graph.compile("L", ["w", "b"], want, **engine)(x=x, w=2.0, b=0.5)
        f = graph.compile("L", ["w", "b"], want, **engine, reduce=reduce)
        found = f(x=x, w=2.0, b=0.5)
        axes = (0, 1)
        for one, whole in zip(parts(found), parts(plain), strict=True):
            total = how(np.broadcast_to(whole, (*x.shape, *whole.shape[2:])), axis=axes)
            assert np.shape(one) == np.shape(total)
            assert np.allclose(one, total, rtol=1e-12), want
    with pytest.raises(gc.GraphcError, match="reduce="):
        gc.parse(LINES).compile("L", reduce="sum")


@every_engine
def test_named_sizes_may_change_from_call_to_call(engine: Engine):
    f = gc.parse(LINES).compile("L", ["w"], **engine)
    for n in (3, 1, 7, 3, 2, 5, 6, 0):
        X, y, w = np.arange(2.0 * n).reshape(n, 2), np.ones(n), np.array([1.0, -2])
        value, slopes = f(X=X, y=y, w=w)
        assert np.allclose(value, np.sum((X @ w - y) ** 2))
        assert np.allclose(slopes["w"], 2 * X.T @ (X @ w - y))


MISTAKES = [
    (LINES, {"X": np.ones((3, 2)), "y": np.ones(4), "w": np.ones(2)}, r"y has shape \(4,\)"),
    (LINES, {"X": np.ones((3, 3)), "y": np.ones(3), "w": np.ones(2)}, "X has shape"),
    (LINES, {"X": np.ones(3), "y": np.ones(3), "w": np.ones(2)}, "X has shape"),
    (LINES, {"X": np.ones((3, 2)), "y": np.ones(3)}, "needs a value for 'w'"),
    (LINES, {"X": np.ones((3, 2)), "y": np.ones(3), "w": np.ones(2), "v": 1}, "no argument 'v'"),
    (FIT, {"x": 1, "ww": 2}, "no argument 'ww'"),
    (FIT, {}, "needs a value for 'x'"),
    (FIT, {"x": np.ones(3), "w": np.ones(4)}, "points"),
]


@every_engine
@pytest.mark.parametrize(("text", "at", "words"), MISTAKES)
def test_mistakes_in_a_call_are_told(engine: Engine, text: str, at: Any, words: str):
    f = gc.parse(text).compile("L", **engine)
    with pytest.raises(gc.GraphcError, match=words):
        f(**at)


def test_positions_are_counted_and_names_given_once():
    f = gc.parse(FIT).compile("L")
    with pytest.raises(gc.GraphcError, match="takes 3 arguments"):
        f(1, 2, 3, 4)
    with pytest.raises(gc.GraphcError, match="'x' is given twice"):
        f(1, x=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"want": "gradient"}, "want='gradient' is not known"),
        ({"backend": "torch"}, "backend='torch' is not known"),
        ({"mode": "both"}, "mode='both' is not known"),
        ({"style": "pretty"}, "style='pretty' is not known"),
        ({"dtype": "int8"}, "dtype='int8' is not known"),
        ({"reduce": "max"}, "reduce='max' is not known"),
        ({"of": "Q"}, "'Q'"),
        ({"wrt": ["w", "w"]}, "twice"),
        ({"of": {}}, "seeds"),
        ({"want": "hessian", "wrt": ["r", "w"]}, "depends on"),
    ],
)
def test_mistakes_in_what_is_asked_are_told(options: dict[str, Any], words: str):
    with pytest.raises(gc.GraphcError, match=words):
        gc.parse(FIT).compile(**{"of": "L", **options})


def test_a_gradient_needs_one_element():
    graph = gc.parse(LINES)
    with pytest.raises(gc.GraphcError, match="needs a node of one element"):
        graph.compile("r", ["w"])
    seeds = {"r": [1, 2]}
    with pytest.raises(gc.GraphcError):
        graph.compile(seeds, ["w"])  # the size of r is not known


def test_a_graph_of_edges_has_no_value():
    with pytest.raises(gc.GraphcError, match="local derivatives alone"):
        gc.from_edges({("x", "y"): 2}).compile("y", "x")


@every_engine
def test_two_threads_may_call_one_function(engine: Engine):
    graph = gc.parse("input X[n,40]\nparam W[40,40]\nh = tanh(X @ W)\nL = sum((h @ W)**2)")
    f = graph.compile("L", ["W"], **engine)
    rng = np.random.default_rng(0)
    points_of = [(rng.normal(size=(n, 40)), rng.normal(size=(40, 40))) for n in (50, 50, 60, 50)]
    expected = [f(*point) for point in points_of]
    wrong: list[int] = []

    def work(which: int) -> None:
        for _ in range(60):
            if not same(f(*points_of[which]), expected[which]):
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_plan_says_why():
    graph = gc.parse("input x\nparam a b c\nh = a*x + b\nk = h*c\nL = sin(k) + h")
    reverse = graph.compile("L", ["a", "b", "c"], mode="reverse").plan
    forward = graph.compile("L", ["a", "b", "c"], mode="forward").plan
    auto = graph.compile("L", ["a", "b", "c"]).plan
    assert reverse.mode == "reverse" and forward.mode == "forward"
    assert auto.operations == min(reverse.operations, forward.operations)
    assert "would need" in auto.reason
    assert graph.compile("L", ["a"], "hessian").plan.mode == "forward over reverse"


def test_slips_are_told_in_a_sentence():
    graph = gc.parse("input x\ny = x**2")
    with pytest.raises(gc.GraphcError, match="did you mean 'checkpoint'"):
        graph.compile("y", "x", checkpont=3)
    with pytest.raises(gc.GraphcError, match="is text"):
        graph.compile("y", "x")(x="1/2")
    with pytest.raises(gc.GraphcError, match="computes nothing"):
        gc.parse("").compile()
    with pytest.raises(gc.GraphcError, match="no setting 'theem'"):
        graph.draw("never.svg", theem="dark")


# Seeds: of={node: seed} asks for the weighted sum.

PAIR = "input x[3]\nparam w[3] b\nh = sin(w*x) + b**2\nL = sum(h**2)\nM = b**3*sum(w)\noutput L M"
PAIR_AT = {"x": np.array([0.3, 0.5, 0.7]), "w": np.array([1.0, 2.0, 3.0]), "b": 0.5}
SCALAR_PAIR = "input x\nparam w b\nL = (sin(w*x) + b**2)**2\nM = b**3*w\noutput L M"
SCALAR_PAIR_AT = {"x": np.array([0.3, 0.5]), "w": 2.0, "b": 0.5}


@every_engine
@pytest.mark.parametrize("wrt", [["w", "b"], "w", "b"])
@pytest.mark.parametrize("text, at", [(PAIR, PAIR_AT), (SCALAR_PAIR, SCALAR_PAIR_AT)])
@pytest.mark.parametrize("want", [want for want in WANTS if want not in ("vjp", "values")])
def test_seeds_ask_for_the_weighted_sum(want, text, at, wrt, engine):
    graph = gc.parse(text)
    summed = gc.parse(text.replace("output L M", "S = 2*L + 3*M\noutput S"))
    dots = {f"{name}_dot": np.cos(at[name]) for name in wrt} if want in ("jvp", "hvp") else {}
    found = graph.compile({"L": 2, "M": 3}, wrt, want, **engine)(**at, **dots)
    assert same(found, summed.compile("S", wrt, want, **engine)(**at, **dots), 1e-12)
    module = load(graph.emit({"L": 2, "M": 3}, wrt, want, style=engine["style"]), "check")
    module()  # differences of the weighted sum agree


@pytest.mark.parametrize("want", ["jacobian", "hessian"])
def test_sparse_seeds_ask_for_the_weighted_sum(want):
    graph, seeds = gc.parse(PAIR), {"L": 2, "M": 3}
    dense = graph.compile(seeds, ["w", "b"], want)(**PAIR_AT)
    sparse = graph.compile(seeds, ["w", "b"], want, sparse=True)(**PAIR_AT)
    assert same(sparse.toarray(), dense, 1e-12)


def test_a_seed_is_held_in_second_derivatives():
    graph = gc.parse("input x\ny = x**3")
    for want, expected in (("hessian", [[48.0]]), ("hvp", {"x": 48.0})):
        dots = {"x_dot": 1.0} if want == "hvp" else {}
        assert same(graph.compile({"y": "x**2"}, ["x"], want)(x=2.0, **dots), expected)
    assert graph.compile({"y": "g"}, "x", "hessian")(x=2.0, g=5.0) == 60
    assert graph.compile({"y": "x"}, "x", "hessian")(x=2.0) == 24


def test_lists_of_nodes_and_second_derivatives():
    graph, dots = gc.parse(PAIR), {"w_dot": np.ones(3), "b_dot": 2.0}
    each = {of: graph.compile(of, ["w", "b"], "hvp")(**PAIR_AT, **dots) for of in ("L", "M")}
    assert same(graph.compile(["L", "M"], ["w", "b"], "hvp")(**PAIR_AT, **dots), each, 1e-12)
    load(graph.emit(["L", "M"], ["w", "b"], "hvp"), "check")()
    with pytest.raises(gc.GraphcError, match="is one matrix, that of one node, and of= names 2"):
        graph.compile(["L", "M"], "w", "hessian")


@pytest.mark.parametrize("want", ["vjp", "values"])
def test_seeds_without_a_meaning_are_refused(want):
    with pytest.raises(gc.GraphcError, match="give of= as names, without seeds"):
        gc.parse(PAIR).compile({"L": 2, "M": 3}, "w", want)
    with pytest.raises(gc.GraphcError, match="takes of= as names"):
        gc.parse(PAIR).jacobian({"L": 2}, "w", PAIR_AT)


@every_engine
@pytest.mark.parametrize(
    "text, at",
    [
        ("input X[n,2] y[n]\nL = sum(X) + sum(y)", {"X": np.ones((3, 2)), "y": np.ones(4)}),
        ("input X[3,2] y[3]\nL = sum(X) + sum(y)", {"X": np.ones((3, 2)), "y": np.ones(4)}),
        ("input X[3]\nparam y\nL = sum(y*X)", {"X": np.ones(3), "y": np.ones(3)}),
        ("input X[2] y[n,n]\nL = sum(X) + sum(y**2)", {"X": np.ones(2), "y": np.ones((3, 4))}),
    ],
)
def test_what_is_not_read_has_its_shape_too(text: str, at: dict[str, Any], engine: Engine):
    graph = gc.parse(text)
    with pytest.raises(gc.GraphcError, match="y has shape"):
        graph.compile("L", "y", want="grad", **engine)(at)


@every_engine
def test_a_seed_that_equals_a_row_of_the_gradient_is_its_own(engine):
    """The gradient holds an identity matrix, and so does the seed of the second sweep."""
    text = "param x[2]\nh = diag(x)\nm = max(h, axis=-2)\nL = m @ m + sum(diag(h))"
    f = gc.parse(text).compile("L", want="hessian", **engine)
    assert f(x=np.array([2.0, 1.0])).tolist() == [[2, 0], [0, 2]]


OF_NONE = [(3, 0), (0, 3), (3, 0, 2), (2, 3, 0), (0, 3, 2)]


@every_engine
@pytest.mark.parametrize("shape", OF_NONE)
def test_elements_that_are_taken_twice_from_an_array_of_none(shape, engine):
    for axis in (axis for axis, size in enumerate(shape) if size):
        sizes = ",".join(map(str, shape))
        text = f"input x[{sizes}]\nz = take(sin(x), [0, 0], axis={axis})\nL = sum(z**2)"
        value, slopes = gc.parse(text).compile("L", ["x"], **engine)(np.ones(shape))
        assert value == 0 and slopes["x"].shape == shape
