"""Every pass is harmless, in exact arithmetic and at edge points; wrong rewrites are caught."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from random_graphs import KINKED, SMOOTH, case

import graphc as gc
from graphc.algebra.arithmetic import NUMBERS
from graphc.algebra.exact import Undefined, as_float
from graphc.algebra.rewrites import Rule, Table
from graphc.program import passes
from graphc.program import program as programs
from graphc.program.backends.numpy import LIBRARY
from graphc.program.program import Program, evaluate, lower
from graphc.program.question import flat
from graphc.program.wants import derived, question
from graphc.structure import rows as rows_of
from graphc.structure.rows import NO_SETTINGS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::graphc.KinkWarning")
Tables = Iterable[Table]
LARGEST, SMALLEST = 1.79e308, 2.3e-308
EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.3, -2.5, 1e308, -1e308, 1e-308]
EDGES += [5e-324, -5e-324, 1e160, 1e-160, 700.0, -40.0]
FORMULAS = [  # in x and y; roots only where they exist
    *("x + 0", "0 + x", "x - 0", "0 - x", "x*1", "1*x", "x*(-1)", "(-1)*x", "x/1", "x*0", "0*x"),
    *("x + (-y)", "(-x) + y", "x - (-y)", "(-x)*y", "x*(-y)", "(-x)/y", "-(-x)", "-(x - y)"),
    *("x*(1/y)", "(1/x)*y", "(1/x)*(1/y)", "x*x", "x/y", "x/2", "x/4", "x/3", "x/(-8)", "x/1024"),
    *("x**0", "x**1", "x**2", "x**3", "x**4", "x**5", "x**(-1)", "x**(-2)", "x**(-3)"),
    *("abs(x)**0.5", "abs(x)**1.5", "abs(x)**2.5", "abs(x)**(-0.5)", "abs(x)**(-1.5)"),
    *("relu(x)*y", "where(x > 0, 1, 0)*y", "max(x, 0)*where(x > 0, y, 2)", "where(x > 0, 1, 0)"),
    *(
        "exp(2)*x",
        "x + 1/3 + 2/3",
        "2**10*x",
        "(1 - 1)*x",
        "sqrt(2)*x",
        "log(2) + x",
        "2*3 - 6 + x",
    ),
    *("sigmoid(x)*y", "softplus(x)", "silu(x)", "log_sigmoid(x)", "logaddexp(x, y)", "elu(x)"),
    *("hardtanh(x)", "leaky_relu(x)", "selu(x)", "gelu(x)", "heaviside(x)", "clip(x, -1, 2)"),
    *("stop(x) + y", "sin(x)/cos(x)", "tanh(x)**2", "1 - tanh(x)**2", "(x + y)*(x + y)"),
    *("max(x, y) - min(x, y)", "square(x) + square(y)", "log1p(x)", "expm1(x)", "x + 1.5 - 1.5"),
    *("(x - y)*(1/(x - y))", "x*y + x*y", "sin(x*y) - sin(x*y)", "2*x - x*2"),
]
ARRAYS = [  # shapes that a rewrite may lose
    *("x + zeros(3)", "zeros(3) - x", "x*ones(3)", "(-ones(3))*x", "x/ones(3)", "v*ones(3)"),
    *("v - zeros(3)", "relu(v)*x", "logsumexp(v)*v", "softmax(v)*x", "norm(v)*v", "max(v)*v"),
    *(
        "logsumexp(outer(v, v), axis=0)",
        "softmax(outer(v, v), axis=1)",
        "norm(outer(v, v), axis=1)",
    ),
    *(
        "concat([v, x*v])",
        "stack([v, x*v, v])",
        "scatter(v, [2, 0, 1], 4) + scatter(x*v, [3, 2, 1], 4)",
    ),
    *('einsum("i,j,ij->", v, v, outer(v, v))', 'einsum("i,ij,,jk->k", v, outer(v, v), x, eye(3))'),
]


@cache
def unrewritten(formula: str, gradient: bool) -> tuple[gc.Graph, Program, list[int]]:
    """The program of a formula (and of its gradient) as it was declared."""
    text = f"input x y\no = {formula}"
    rows = derived(
        question(gc.parse(text), "o", ["x", "y"], ["value", "grad"][gradient]), "reverse"
    )
    wanted = flat(rows.results)
    program, place = lower(rows.graph, wanted, (), share=False)
    return rows.graph, program, [place[row] for row in wanted]


@cache
def truth(formula: str, gradient: bool, x: float, y: float) -> list[Any]:
    """The results to 50 digits; None where there is none, or an argument is not finite."""
    _, program, wanted = unrewritten(formula, gradient)
    if not (math.isfinite(x) and math.isfinite(y)):
        return [None for _ in wanted]
    with mpmath.workdps(50):
        values = evaluate(program, NUMBERS, {"x": mpmath.mpf(x), "y": mpmath.mpf(y)})
        found = [values[row] for row in wanted]
    return [
        None if v is None or type(v) is Undefined else mpmath.mpmathify(_plain(v)) for v in found
    ]


def _plain(value: Any) -> Any:
    if hasattr(value, "digits"):
        return value.digits
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def floats(program: Program, wanted: list[int], x: Any, y: Any) -> np.ndarray:
    values = evaluate(program, NUMBERS, {"x": x, "y": y})
    return np.array(
        [np.broadcast_to(np.asarray(as_float(values[row]), dtype=float), x.shape) for row in wanted]
    )


def is_kept(before: float, after: float, right: Any) -> bool:
    """Whether a rewritten value is as good as the one before."""
    if right is None:
        if math.isnan(before):
            return math.isnan(after)
        if math.isinf(before):
            return math.isinf(after)
        return abs(after - before) <= 1e-13 * abs(before) + SMALLEST
    if abs(right) > LARGEST:
        return after == before or (math.isinf(after) and (after > 0) == (right > 0))
    if not math.isfinite(before):
        return True  # it was wrong before
    if not math.isfinite(after):
        return False
    error = abs(mpmath.mpf(before) - right)
    return abs(mpmath.mpf(after) - right) <= 4 * error + 4e-16 * abs(right) + SMALLEST


def float_complaints(tables: Tables, formulas: list[str] = FORMULAS) -> list[str]:
    """Where a rewritten program turns a right value into NaN or into another value."""
    tables = tuple(tables)
    places = list(product(EDGES, EDGES))
    x, y = (np.array(column) for column in zip(*places, strict=True))
    found = []
    for formula in formulas:
        for gradient in (False, True):
            graph, program, wanted = unrewritten(formula, gradient)
            rows = list(program_rows(graph, formula, gradient))
            after, place = lower(graph, rows, tables)
            if after.ops == program.ops and after.operands == program.operands:
                continue  # nothing was rewritten
            old = floats(program, wanted, x, y)
            new = floats(after, [place[row] for row in rows], x, y)
            same = (old == new) | (np.isnan(old) & np.isnan(new))
            for result, point in zip(*np.nonzero(~same), strict=True):
                here = places[point]
                right = truth(formula, gradient, *here)[result]
                if np.isnan(old[result, point]) and any(0 < abs(v) < 1e-300 for v in here):
                    continue  # 1/5e-324 is no infinity: it was wrong before
                if not is_kept(old[result, point], new[result, point], right):
                    found.append(
                        f"{formula} at {here}: {old[result, point]} -> {new[result, point]}"
                    )
    return found


def program_rows(graph: gc.Graph, formula: str, gradient: bool) -> list[int]:
    if gradient:
        names = [name for name in graph.rows if name.startswith(("x_bar", "y_bar"))]
        return [graph.row(name) for name in sorted(names)]
    return [graph.row("o")]


def exact_complaints(tables: Tables, count: int = 25, share: bool = True) -> list[str]:
    """Random programs, formulas and arrays whose exact results change."""
    tables, found = tuple(tables), []
    graphs = [(one.text, one.graph, one.of, one.at) for one in map(case, range(3000, 3000 + count))]
    point = {"x": Fraction(2, 3), "y": Fraction(-5, 2)}
    graphs += [(f, gc.parse(f"input x y\no = {f}"), ["o"], point) for f in FORMULAS]
    array = np.array([Fraction(1, 2), Fraction(-3), Fraction(2)], dtype=object)
    for formula in ARRAYS:
        graph = gc.parse(f"input x v[3]\no = {formula}")
        graphs.append((formula, graph, ["o"], {"x": Fraction(2, 3), "v": array}))
    for text, graph, of, at in graphs:
        rows = [graph.row(name) for name in of]
        values = []
        for rules, shared in (((), False), (tables, share)):
            try:
                program, place = lower(graph, rows, rules, shared)
                results = evaluate(program, NUMBERS, at)
                values.append([results[place[row]] for row in rows])
            except (ArithmeticError, ValueError, gc.GraphcError) as error:
                values.append([error] * len(rows))  # what was rewritten cannot even run
        if not all(map(_equal, *values)):
            found.append(f"{text}: {values[0]} -> {values[1]}")
    return found


def _equal(a: Any, b: Any) -> bool:
    if np.shape(a) != np.shape(b):
        return False
    if np.shape(a):
        return all(map(_equal, np.ravel(a), np.ravel(b)))
    if hasattr(a, "digits") or hasattr(b, "digits") or hasattr(a, "_mpf_"):
        return abs(mpmath.mpf(_plain(a)) - mpmath.mpf(_plain(b))) < mpmath.mpf(10) ** -40
    return isinstance(a, float) == isinstance(b, float) and a == b


# The passes as they are.

FAST = passes.fast(LIBRARY.has)
PASSES = {**passes.PASSES, "stable": lambda: passes.stable(LIBRARY.has)}
EVERY = {name: (table(),) for name, table in PASSES.items()}
EVERY |= {"none": (), "readable": passes.plain(), "fast": FAST}
every = pytest.mark.parametrize("name", EVERY)


@every
def test_a_pass_changes_no_exact_result(name: str):
    assert exact_complaints(EVERY[name]) == []


@every
def test_a_pass_spoils_no_value_at_edge_points(name: str):
    assert float_complaints(EVERY[name]) == []


@pytest.mark.parametrize("name", [name for name in EVERY if name != "none"])
def test_a_pass_does_something(name: str):
    """No pass is harmless because it never acts."""
    acts = 0
    for formula in FORMULAS:
        graph = unrewritten(formula, True)[0]
        rows = [*program_rows(graph, formula, True), graph.row("o")]
        before, after = (lower(graph, rows, tables)[0] for tables in ((), EVERY[name]))
        acts += (before.ops, before.operands) != (after.ops, after.operands)
    for formula in ARRAYS:
        graph = gc.parse(f"input x v[3]\no = {formula}")
        before, after = (lower(graph, [graph.row("o")], tables)[0] for tables in ((), EVERY[name]))
        acts += (before.ops, before.operands) != (after.ops, after.operands)
    assert acts, name


def test_random_programs_keep_their_values_at_edge_points():
    x = np.array(EDGES)
    for seed in range(40):
        one = case(seed, (*KINKED, *SMOOTH))
        graph = one.graph
        rows = [graph.row(one.of[0])]
        for shift in (0, 5):
            at = {name: np.roll(x, shift * i) for i, name in enumerate(one.at)}
            values = []
            for rules, share in (((), False), (FAST, True)):
                program, place = lower(graph, rows, rules, share)
                found = evaluate(program, NUMBERS, at)[place[rows[0]]]
                values.append(np.broadcast_to(np.asarray(as_float(found), dtype=float), x.shape))
            finite = np.isfinite(values[0])
            close = np.isclose(values[1][finite], values[0][finite], rtol=1e-9, atol=1e-300)
            assert np.all(close), one.text


# Planted wrong rewrites.


def applied(op: str, *choose: Any) -> Rule:
    """A rule that always puts another operation on the chosen operands."""

    def rule(builder: Any, args: Any, settings: Any) -> int:
        return builder.shared(op, tuple(c(builder, args) for c in choose), NO_SETTINGS)

    return rule


def first(builder: Any, args: Any) -> int:
    return args[0]


def _zero_plus(builder: Any, args: Any, settings: Any) -> int | None:
    return args[1] if builder.number(args[1]) == 0 else None  # x + 0 -> 0


def _widening(builder: Any, args: Any, settings: Any) -> int | None:
    """x + zeros(3) -> x, whatever the shapes."""
    zero = builder.shape(args[1]) and builder.ops[args[1]] != "input"
    return args[0] if zero else None


def _inverse_as_factor(builder: Any, args: Any, settings: Any) -> int | None:
    inner = builder.inside(args[1], "div")  # a * (1/b) -> a * b
    return builder.shared("mul", (args[0], inner[1]), NO_SETTINGS) if inner else None


def _power_by_quotient(builder: Any, args: Any, settings: Any) -> int | None:
    """u**2.5 -> u**3 / u**0.5: NaN at 0."""
    if settings["exponent"] != Fraction(5, 2):
        return None
    cube = builder.shared("power", (args[0],), {"exponent": 3})
    root = builder.shared("sqrt", (args[0],), NO_SETTINGS)
    return builder.shared("div", (cube, root), NO_SETTINGS)


def _power_by_logarithm(builder: Any, args: Any, settings: Any) -> int | None:
    """u**n -> exp(n*log(u)): NaN below 0, and not as exact elsewhere."""
    log = builder.shared("log", (args[0],), NO_SETTINGS)
    product = builder.shared("mul", (log, builder.constant(settings["exponent"])), NO_SETTINGS)
    return builder.shared("exp", (product,), NO_SETTINGS)


def _power(exponent: Any, make: Any) -> Rule:
    return lambda b, args, settings: make(b, args[0]) if settings["exponent"] == exponent else None


def _zero_factor(builder: Any, args: Any, settings: Any) -> int | None:
    return args[1] if builder.number(args[1]) == 0 else None  # x * 0 -> 0: infinity is no number


def _plain_sigmoid(builder: Any, args: Any, settings: Any) -> int:
    """exp(x) / (1 + exp(x)): NaN for large x."""
    power = builder.shared("exp", (args[0],), NO_SETTINGS)
    total = builder.shared("add", (builder.constant(1), power), NO_SETTINGS)
    return builder.shared("div", (power, total), NO_SETTINGS)


def _cancelled(builder: Any, args: Any, settings: Any) -> int | None:
    return builder.constant(1) if args[0] == args[1] else None  # x / x -> 1


def _rounded(builder: Any, args: Any, settings: Any) -> int | None:
    values = [builder.number(a) for a in args]
    return None if None in values else builder.constant(float(values[0] / values[1]))


def _own_smaller(builder: Any, args: Any, settings: Any) -> int:
    return builder.shared("ge", tuple(args), NO_SETTINGS)  # x > 0 -> x >= 0


WRONG: dict[str, tuple[str, dict[str, Rule]]] = {
    "x**-1 is x": ("exact", {"power": _power(-1, lambda b, x: x)}),
    "x**2 is 2x": ("exact", {"power": _power(2, lambda b, x: b.shared("add", (x, x), {}))}),
    "x**3 is x**2": ("exact", {"power": _power(3, lambda b, x: b.shared("mul", (x, x), {}))}),
    "x + 0 is 0": ("exact", {"add": _zero_plus}),
    "a sum does not widen": ("exact", {"add": _widening}),
    "a*(1/b) is a*b": ("exact", {"mul": _inverse_as_factor}),
    "a - b is b - a": ("exact", {"sub": applied("sub", lambda b, a: a[1], first)}),
    "-x is x": ("exact", {"neg": lambda b, args, s: args[0]}),
    "x/2 is x*2": ("exact", {"div": applied("mul", first, lambda b, a: a[1])}),
    "folding to floats": ("exact", {"div": _rounded}),
    "x > 0 is x >= 0": ("exact", {"gt": _own_smaller}),
    "x**2.5 by a quotient": ("float", {"power": _power_by_quotient}),
    "powers by logarithm": ("float", {"power": _power_by_logarithm}),
    "x*0 is 0": ("float", {"mul": _zero_factor}),
    "sigmoid as it is written": ("float", {"sigmoid": _plain_sigmoid}),
    "tanh by exp": ("float", {"expm1": applied("exp", first)}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_planted_wrong_rewrite_is_caught(name: str):
    kind, rules = WRONG[name]
    table = {op: (rule,) for op, rule in rules.items()}
    found = exact_complaints([table], 40) if kind == "exact" else float_complaints([table])
    assert found, name


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_with_one_rule_spoiled_is_caught(name: str):
    """Every rule of a pass in turn gives its first operand back: that is noticed."""
    table = dict(EVERY[name][0])
    covered = [op for op in table if any(_uses(formula, op) for formula in [*FORMULAS, *ARRAYS])]
    assert len(covered) >= min(4, len(table)), name
    for op in covered:
        if op in ("identity", "stop"):
            continue  # these do give their operand back
        spoiled = {**table, op: (lambda b, args, s: args[0],)}
        if op == "gt":
            spoiled = {**table, op: (_own_smaller,)}
        assert exact_complaints([spoiled], 5) or float_complaints([spoiled]), (name, op)


@cache
def _uses(formula: str, op: str) -> bool:
    return op in gc.parse(f"input x y v[3]\no = {formula}").ops


# Sharing.

NUMBERS_TO_SHARE = [1, 1.0, Fraction(1, 2), 0.5, 0.0, -0.0, 2, 2.0]


def shared_constants() -> list[Any]:
    """The numbers that a builder gives back for those it was given."""
    builder = programs.Program()
    rows = [builder.constant(number) for number in NUMBERS_TO_SHARE]
    return [builder.number(row) for row in rows]


def shared_settings() -> list[int]:
    """Rows of operations that differ in their settings alone."""
    builder = programs.Program()
    x = builder.shared("input", (), {"name": "x", "shape": (3,)})
    rows = [builder.shared("power", (x,), {"exponent": n}) for n in (2, 3, Fraction(1, 2), 2)]
    arrays = [np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([[1.0, 2.0]]), np.array([1, 2])]
    rows += [builder.constant(array) for array in arrays]
    boxes = [np.array([Fraction(1)], dtype=object), np.array([1.0], dtype=object)]
    return rows + [builder.constant(box) for box in boxes]


def test_equal_operations_are_one_row_and_others_are_not():
    assert [(type(n), repr(n)) for n in shared_constants()] == [
        (type(n), repr(n)) for n in NUMBERS_TO_SHARE
    ]
    rows = shared_settings()
    assert rows[0] == rows[3]
    assert len(set(rows)) == len(rows) - 1
    graph = gc.parse("input x y\na = sin(x*y)\nb = sin(x*y) + x*y\nc = a + b")
    program, _ = lower(graph, [graph.row("c")], ())
    assert program.ops.count("sin") == program.ops.count("mul") == 1


@pytest.mark.parametrize(
    "key",
    [lambda value: None, lambda value: value if np.isscalar(value) else np.shape(value)],
    ids=["settings are ignored", "arrays by shape"],
)
def test_wrong_sharing_is_caught(monkeypatch, key):
    monkeypatch.setattr(rows_of, "_hashable", key)
    numbers = [(type(n), repr(n)) for n in shared_constants()]
    rows = shared_settings()
    kept = numbers == [(type(n), repr(n)) for n in NUMBERS_TO_SHARE]
    assert not kept or len(set(rows)) != len(rows) - 1


def test_sharing_that_takes_1_for_1_0_is_caught(monkeypatch):
    monkeypatch.setattr(
        rows_of, "_hashable", lambda value: getattr(value, "tobytes", lambda: value)()
    )
    assert shared_constants() != NUMBERS_TO_SHARE or repr(shared_constants()) != repr(
        NUMBERS_TO_SHARE
    )


def test_sharing_that_ignores_operations_settings_changes_exact_results(monkeypatch):
    monkeypatch.setattr(rows_of, "_hashable", lambda value: None)
    assert exact_complaints((), 10)


def test_dead_rows_are_gone_and_live_ones_stay():
    graph = gc.parse("input x\na = sin(x)\nb = exp(x)\nc = a + 1")
    program, place = lower(graph, [graph.row("c")], ())
    assert "exp" not in program.ops and "sin" in program.ops
    assert evaluate(program, NUMBERS, {"x": 0})[place[graph.row("c")]] == 1
