"""Who owns an array: results are fresh, arguments stay as they are, graphs keep copies."""

from __future__ import annotations

import random
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from engines import ENGINES, every_engine

import graphc as gc
from graphc.program.array_text import ArrayText
from graphc.program.backends.numpy import LIBRARY
from graphc.program.definitions import definitions
from graphc.program.program import Program
from graphc.program.running import load
from graphc.table.functions import FUNCTIONS
from graphc.table.places import Places, Slice, Window
from graphc.table.tensors import OPERATIONS

# The views that a tensor operation can be, each as it is written for a node of a shape.


def views(name: str, shape: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """Formulas whose values NumPy may give as views of one node, with their shapes."""
    rank = len(shape)
    if not rank:
        return [(name, ()), (f"stop({name})", ())]
    size = int(np.prod(shape))
    found = [
        (f"reshape({name}, ({size},))", (size,)),
        (f"reshape({name}, {(*shape, 1)})", (*shape, 1)),
        (f"{name}[None]", (1, *shape)),
        (f"{name}[0]", shape[1:]),
        (f"{name}[{shape[0] - 1}:]", (1, *shape[1:])),
        (f"{name}[::2]", ((shape[0] + 1) // 2, *shape[1:])),
        (name, shape),
    ]
    if rank == 1:
        found.append((f"diag({name})", shape * 2))
    if rank == 2:
        found += [(f"{name}.T", shape[::-1]), (f"{name}[:, 0]", shape[:1])]
        found += [(f"{name}[:, None, :]", (shape[0], 1, shape[1]))]
        found += [(f'einsum("ab->ba", {name})', shape[::-1])]
        if shape[0] == shape[1]:
            found += [(f"diag({name})", shape[:1]), (f'einsum("aa->a", {name})', shape[:1])]
    if rank == 3:
        found += [(f"transpose({name}, (2, 0, 1))", (shape[2], shape[0], shape[1]))]
        for spec, same in (("abb->ab", (1, 2)), ("aab->ab", (0, 1)), ("aba->ba", (0, 2))):
            if shape[same[0]] == shape[same[1]]:
                sizes = dict(zip(spec[:3], shape, strict=True))
                out = tuple(sizes[letter] for letter in spec[5:])
                found.append((f'einsum("{spec}", {name})', out))
    return [(text, shape) for text, shape in found if len(shape) < 4 and np.prod(shape) < 40]


class Case:
    """A random graph of tensors, mostly of views, with two points."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        shapes = [(2, 2), (3,), (1, 3), (2, 3), (3, 3), (1, 1), (2, 3, 3), (2, 2, 2), (3, 1), ()]
        self.shapes: dict[str, tuple[int, ...]] = {}
        lines = []
        for k in range(rng.randint(2, 4)):
            shape = rng.choice(shapes)
            kind, name = rng.choice(["input", "param"]) if k else "param", f"x{k}"
            self.shapes[name] = shape
            lines.append(f"{kind} {name}" + (f"[{', '.join(map(str, shape))}]" if shape else ""))
        self.leaves = list(self.shapes)
        for k in range(rng.randint(2, 7)):
            text, shape = self.formula()
            self.shapes[f"h{k}"] = shape
            lines.append(f"h{k} = {text}")
        ends = rng.sample(list(self.shapes), min(3, len(self.shapes)))
        terms = [f"sum(sin({name}))" if self.shapes[name] else f"sin({name})" for name in ends]
        factors = [f"sum({name})" if self.shapes[name] else name for name in ends[:2]]
        lines.append(f"L = {' + '.join(terms)} + {'*'.join(factors)}")
        self.text = "\n".join(lines)
        self.graph = gc.parse(self.text)

    def formula(self) -> tuple[str, tuple[int, ...]]:
        rng, names = self.rng, list(self.shapes)
        a = rng.choice([*names, *names[-2:]])
        shape = self.shapes[a]
        kind = rng.choice(["view", "view", "view", "f", "with", "with", "@", "sum", "where"])
        if kind == "view":
            return rng.choice(views(a, shape))
        if kind == "f":
            return f"{rng.choice(['sin', 'cos', 'tanh', '-'])}({a})", shape
        if kind == "sum" and shape:
            axis = rng.randrange(len(shape))
            keep = rng.random() < 0.5
            rest = (*shape[:axis], *(1,) * keep, *shape[axis + 1 :])
            return f"sum({a}, axis={axis}, keepdims={keep})", rest
        others = [b for b in names if self._fits(shape, self.shapes[b])]
        b = rng.choice(others)
        joint = np.broadcast_shapes(shape, self.shapes[b])
        if kind == "@":
            inner = [b for b in names if len(shape) == 2 == len(self.shapes[b])]
            inner = [b for b in inner if self.shapes[b][0] == shape[1]]
            if inner:
                b = rng.choice(inner)
                return f"{a} @ {b}", (shape[0], self.shapes[b][1])
        if kind == "where":
            return f"where({a} > {b}, {a}, {b})", joint
        return f"{a} {rng.choice('+*-')} {b}", joint

    def _fits(self, shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
        try:
            return np.prod(np.broadcast_shapes(shape, other)) < 40
        except ValueError:
            return False

    def point(self, number: int, dtype: str = "float64") -> dict[str, np.ndarray]:
        rng = np.random.default_rng(number)
        found = {n: rng.uniform(-1, 1, self.shapes[n]).astype(dtype) for n in self.leaves}
        return {n: np.array(a, order="F" if number % 2 else "C") for n, a in found.items()}

    def interpreted(self, want: str, of: str, wrt: list[str], at, seed):
        """The answer of the interpreter."""
        if want == "values":
            return self.graph.values(at)
        if want == "value_and_grad":
            return self.graph.values(at)[of], {
                name: self.graph.derivative(of, name, at) for name in wrt
            }
        if want == "vjp":
            found = self.graph.reverse({of: seed}, at)
            zeros = {name: np.zeros(self.shapes[name]) for name in wrt}
            return self.graph.values(at)[of], zeros | {n: found[n] for n in wrt if n in found}
        if want == "jvp":
            pushed = self.graph.forward({name: seed[name] for name in wrt}, at)
            return self.graph.values(at)[of], pushed.get(of, np.zeros(self.shapes[of]))
        if want == "hvp":
            rank = len(self.shapes[wrt[0]])
            matrix = np.asarray(self.graph.hessian(of, wrt[0], at), float)
            return {wrt[0]: np.tensordot(matrix, seed[wrt[0]], rank)[()]}
        return getattr(self.graph, want)(of, wrt[0], at)


def arrays(result) -> list[np.ndarray]:
    """The arrays of a tree of results."""
    if isinstance(result, dict):
        return [array for part in result.values() for array in arrays(part)]
    if isinstance(result, tuple):
        return [array for part in result for array in arrays(part)]
    if hasattr(result, "indptr"):
        return [result.data, result.indices, result.indptr]
    return [result] if isinstance(result, np.ndarray) else []


def shared(groups: list[list[np.ndarray]]) -> bool:
    """Whether any two arrays of all groups have memory in common."""
    together = [array for group in groups for array in group]
    return any(np.shares_memory(a, b) for a, b in combinations(together, 2))


def assert_same(a, b, tolerance=1e-9):
    if isinstance(a, dict):
        assert set(a) == set(b)
        for key in a:
            assert_same(a[key], b[key], tolerance)
    elif isinstance(a, tuple):
        for left, right in zip(a, b, strict=True):
            assert_same(left, right, tolerance)
    else:
        a, b = (x.toarray() if hasattr(x, "toarray") else x for x in (a, b))
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(
            np.asarray(a, float), np.asarray(b, float), rtol=tolerance, atol=tolerance
        )


def kept(result):
    """A copy of a tree of results."""
    if isinstance(result, dict):
        return {key: kept(part) for key, part in result.items()}
    if isinstance(result, tuple):
        return tuple(map(kept, result))
    return result.copy() if hasattr(result, "copy") else result


class Snatched(dict):
    """Workspaces that somebody else takes and overwrites the moment they are handed back."""

    def __setitem__(self, sizes, space):
        chained = isinstance(space[-1], tuple)  # all buffers stand there, as chains hold some
        for buffer in space[-1] if chained else space:
            buffer[...] = True if buffer.dtype == bool else np.nan
        super().__setitem__(sizes, space)


def snatched(f):
    """The compiled function, whose workspaces are snatched."""
    module = f._function(f._options.dtype).__globals__
    if "spaces" in module:
        module["spaces"] = Snatched()
    return f


def assert_fresh(f, points, reference=None, tolerance=1e-9):
    """Two calls give results of their own, right ones, and leave everything else alone."""
    f, before = snatched(f), [kept(at) for at in points]
    for array in arrays(tuple(points)):
        array.flags.writeable = False  # whoever writes into an argument fails
    first = f(**points[0])
    copy = kept(first)
    second = f(**points[1])
    for array in arrays(first):
        assert array.flags.writeable
    assert_same(first, copy, 0)
    assert not shared([arrays(at) for at in points] + [arrays(first), arrays(second)])
    for at, old in zip(points, before, strict=True):
        assert_same(at, old, 0)
    for array in arrays(second):
        array[...] = 7  # what a user does with a result is nobody's concern
    assert_same(f(**points[0]), copy, 0)
    if reference is not None:
        assert_same(copy, reference, tolerance)


WANTS = ("values", "value_and_grad", "jacobian", "hessian", "vjp", "jvp", "hvp")


@pytest.mark.filterwarnings("ignore")  # a point may sit on a kink
@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_of_views(seed):
    """Fast, readable and interpreted results agree, and are nobody else's memory."""
    case = Case(seed)
    for want in WANTS:
        check_want(case, want)


def check_want(case: Case, want: str) -> None:
    rng, points = case.rng, [case.point(1), case.point(2)]
    every = want in ("value_and_grad", "vjp", "jvp")
    wrt = case.leaves if every else rng.sample(case.leaves, 1)
    of, seed = "L", None
    if want in ("jacobian", "vjp", "jvp"):
        of = rng.choice([name for name in case.shapes if name not in case.leaves])
    if want == "vjp":
        seed = np.cos(np.arange(np.prod(case.shapes[of], dtype=int))).reshape(case.shapes[of])
        for at in points:
            at[f"{of}_bar"] = seed.copy()
    if want in ("jvp", "hvp"):
        seed = {name: np.cos(points[0][name]) for name in wrt}
        for at in points:
            at.update({f"{name}_dot": seed[name].copy() for name in wrt})
    plain = {name: points[0][name] for name in case.leaves}
    reference = case.interpreted(want, of, wrt, plain, seed)
    assert not shared([arrays(plain), arrays(reference), [] if seed is None else arrays(seed)])
    for array in arrays(reference):
        assert array.flags.writeable
    asked = {"of": of, "wrt": wrt[0] if want in ("jacobian", "hessian") else wrt, "want": want}
    if want == "values":
        asked = {"want": want}
    ways = [*ENGINES.values(), {"dtype": "float32"}]
    if want in ("value_and_grad", "vjp"):
        ways.append({"checkpoint": rng.choice([1, 2, 3])})
    if want in ("jacobian", "hessian"):
        ways.append({"sparse": True})
        ways.append({"wrt": wrt})  # one matrix of blocks
    for way in ways:
        small = way.get("dtype") == "float32"
        f = case.graph.compile(**{**asked, **way})
        taken = [{name: at[name] for name in f.arguments} for at in points]
        if small:
            taken = [{n: v.astype(np.float32) for n, v in at.items()} for at in taken]
        expected = reference
        if want in ("jacobian", "hessian") and len(way.keys() & {"sparse", "wrt"}):
            width = np.prod(case.shapes[wrt[0]], dtype=int)
            expected = np.reshape(np.asarray(reference, float), (-1, width))
        assert_fresh(f, taken, expected, 2e-4 if small else 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(100, 112))
def test_no_verb_gives_memory_that_is_not_fresh(seed):
    """Results of the interpreter share nothing with the point, the graph or each other."""
    case = Case(seed)
    at, leaf = case.point(1), case.leaves[0]
    g = gc.parse(case.text)
    verbs = {
        "values": lambda: dict(g.values(at)),
        "reverse": lambda: dict(g.reverse("L", at)),
        "forward": lambda: dict(g.forward({leaf: at[leaf]}, at)),
        "all_pairs": lambda: dict(g.all_pairs(at)),
        "pathwise": lambda: tuple(p for _, p in g.pathwise("L", leaf, at).terms),
        "derivative": lambda: g.derivative("L", leaf, at),
        "jacobian": lambda: g.jacobian(["h0", "L"], [leaf], at),
        "denominator": lambda: g.jacobian("h0", leaf, at, layout="denominator"),
        "hessian": lambda: g.hessian("L", [leaf], at),
    }
    before, found = kept(at), {}
    for name, verb in verbs.items():
        found[name] = verb()
        again = verb()
        assert not shared([arrays(at), arrays(found[name]), arrays(again)]), name
        for array in arrays(again):
            assert array.flags.writeable, name
            array[...] = 7
        assert_same(verb(), found[name], 0)
    assert not shared([arrays(at), arrays(found)])
    assert_same(at, before, 0)


# Aliasing is a property of the record.


def value_of(op: str, operands: list[np.ndarray], settings: dict) -> tuple[np.ndarray, bool]:
    """The value of one operation by the text that is emitted for it, and what its record says."""
    builder = Program()
    names = [f"x{place}" for place in range(len(operands))]
    leaves = [
        builder.shared("input", (), {"name": name, "shape": array.shape})
        for name, array in zip(names, operands, strict=True)
    ]
    row = builder.shared(op, tuple(leaves), settings)
    text = ArrayText(LIBRARY)
    formula = text.piece(builder, row, [(name, 9) for name in names])[0]
    source = f"def run({', '.join(names)}):\n    return {formula}\n"
    run = load("\n".join(["import numpy as np", *definitions(text), source]), "run")
    return run(*operands), bool(builder.looks_at(row))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_looks_at_an_operand_unknown_to_its_record(name):
    record = FUNCTIONS[name]
    count = 2 if record.variadic else len(record.parameters)
    if not count or name in ("taken", "untaken"):  # of rules only
        return
    operands = [np.linspace(0.3, 0.4, 3) + place for place in range(count)]
    if name == "where":
        operands[0] = operands[0] > 0
    settings = {"exponent": 1} if name == "power" else {}
    value, looks = value_of(name, operands, settings)
    assert looks or not any(np.shares_memory(value, operand) for operand in operands)


def test_a_users_function_may_look_at_its_operands():
    gc.declare("as_it_is", lambda x, y: 1 * y, code={"numpy": "{y}"})
    g = gc.parse("param a[2] b[2]\nc = as_it_is(a, b)\nd = as_it_is(c, 2*b)\nL = sum(c*d)")
    at = {"a": np.ones(2), "b": np.arange(1.0, 3.0)}
    for engine in ENGINES.values():
        f = g.compile(want="values", **engine)
        assert_fresh(f, [at, {"a": np.zeros(2), "b": np.ones(2)}], g.values(at))
    del FUNCTIONS["as_it_is"]


CONTRACTIONS = (
    *("ab->ba", "ab->ab", "aa->a", "aa->", "ab->a", "ab->b", "ab->", "a->ab", "a->ba", "a->aa"),
    *("abb->ab", "aab->ab", "aba->ba", "abc->cab", "abb->a", "abc->ac", "aaa->a", "aabb->ab"),
    *("ab->aab", "->ab", "->aa", "ab->cab", "ab->acb", "ab->bac", "aab->b", "aab->bca"),
    *("ab,bc->ac", "a,a->a", "a,->a", "ab,b->ab", "a,b->ab", "a,b,c->abc", "aa,a->a"),
)


@pytest.mark.parametrize("sizes", [2, 1])
@pytest.mark.parametrize("spec", CONTRACTIONS)
def test_a_contraction_looks_at_its_operand_only_if_its_record_says_so(spec, sizes):
    left, _, out = spec.partition("->")
    operands = [np.random.default_rng(0).random((sizes,) * len(word)) for word in left.split(",")]
    fresh = tuple((letter, sizes) for letter in out if letter not in left)
    value, looks = value_of("contract", operands, {"spec": spec, "sizes": fresh})
    assert looks or not any(np.shares_memory(value, operand) for operand in operands)


PAIRED = ("solve", "adjugate_change", "accumulate")
OTHERS = [
    ("gather", {"index": Places(1), "axis": -1, "size": 3}),
    ("gather", {"index": Slice(0, 2), "axis": -2, "size": 3}),
    ("gather", {"index": Places((2, 0)), "axis": -2, "size": 3}),
    ("gather", {"index": Places(((0, 1), (1, 2))), "axis": -1, "size": 3}),
    ("gather", {"index": Places((-1, 0, 1)), "axis": -1, "size": 3}),
    ("gather", {"index": Window(3, 2), "axis": -1, "size": 3}),
    ("scatter", {"index": Slice(0, 3), "axis": -1, "size": 3}),
    ("scatter", {"index": Places((2, 0, 1)), "axis": -1, "size": 4}),
    ("accumulate", {"index": Slice(0, 3), "axis": -1, "size": 3}),
    ("reshape", {"shape": (9,)}),
    ("largest", {"axes": (-1,)}),
    ("winner", {"axes": (-1,)}),
    ("norm", {"axes": (-1,)}),
    ("logsumexp", {"axes": (-1,)}),
    ("softmax", {"axes": (-1,)}),
    *((name, {}) for name in ("inv", "det", "logdet", "solve", "adjugate", "adjugate_change")),
]


def test_every_operation_is_looked_at():
    assert {name for name, _ in OTHERS} | {"contract"} == set(OPERATIONS)


@pytest.mark.parametrize(("name", "settings"), OTHERS)
def test_an_operation_looks_at_its_operand_only_if_its_record_says_so(name, settings):
    operands = [np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)] * (1 + (name in PAIRED))
    value, looks = value_of(name, operands, settings)
    assert looks or not any(np.shares_memory(value, operand) for operand in operands)


# What was wrong once, each by itself.


def test_a_row_of_a_product_as_a_gradient():
    g = gc.parse("param B[3,3] y[3]\nL = (B @ B)[0] @ y")
    at = {"B": np.arange(9.0).reshape(3, 3), "y": np.ones(3)}
    _, slopes = g.compile()(**at)
    assert slopes["y"].tolist() == (at["B"] @ at["B"])[0].tolist()


def test_transposed_gradients_do_not_share_a_buffer():
    g = gc.parse("param A[2,2] B[2,2]\nL = sum(sin(A.T)) + sum(sin(B.T))")
    at = {"A": np.arange(4.0).reshape(2, 2), "B": -np.arange(5.0, 9.0).reshape(2, 2)}
    for name, slope in g.compile(backend="numpy")(**at)[1].items():
        assert slope.tolist() == np.cos(at[name]).tolist()
    for name, slope in g.compile()(**at)[1].items():
        np.testing.assert_allclose(slope, np.cos(at[name]), rtol=1e-15)


def test_a_gain_and_a_bias_that_broadcast():
    g = gc.parse("input X[2,2]\nparam b[1,2] c[1,2]\nL = sum(X*b*c)")
    at = {"X": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.array([[5.0, 6.0]])}
    at["c"] = np.array([[7.0, 8.0]])
    _, slopes = g.compile()(**at)
    assert slopes["b"].tolist() == [[28.0, 48.0]]
    assert slopes["c"].tolist() == [[20.0, 36.0]]


def test_keys_and_values_of_attention():
    text = "input X[3,2]\nparam Wk[2,2] Wv[2,2]\nK = (X @ Wk).T\nV = (X @ Wv).T\nS = K.T @ V"
    g = gc.parse(text)
    rng = np.random.default_rng(0)
    at = {"X": rng.random((3, 2)), "Wk": rng.random((2, 2)), "Wv": rng.random((2, 2))}
    other = {name: rng.random(value.shape) for name, value in at.items()}
    f = g.compile(want="values")
    assert_fresh(f, [at, other], g.values(at))


def test_a_repeated_letter_is_no_view_of_the_argument():
    g = gc.parse('input h[2,3,3]\ny = einsum("abb->ab", h)')
    h = np.arange(18.0).reshape(2, 3, 3)
    for engine in ENGINES.values():
        found = g.compile(want="value", **engine)(h)
        found[...] = -1
        assert h[0, 0, 0] == 0


# Threads.

VIEWS = """
input A[4,4] B[4,4]
C = (A @ B).T
D = C[1:3]
E = reshape(tanh(A*B), (2, 8))
F = einsum("aa->a", A @ A)
L = sum(sin(C)) + sum(E) + sum(F)
"""


def test_a_workspace_is_handed_back_after_the_results_are_copied():
    f = gc.parse(VIEWS).compile(want="values")
    rng = np.random.default_rng(0)
    at = {name: rng.random((4, 4)) for name in "AB"}
    expected = gc.parse(VIEWS).values(at)
    assert "spaces" in f._function("float64").__globals__
    assert_same(snatched(f)(**at), expected)


def test_threads_do_not_see_each_others_numbers(monkeypatch):
    """A few of the calls that benchmarks/threads.py makes by the hundred thousand."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from threads import wrong_calls

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert wrong_calls(calls=4_000, threads=4, want="values") == 0
    finally:
        sys.setswitchinterval(before)


def test_an_error_in_the_middle_of_a_call_leaves_nothing_behind():
    g = gc.parse(SOLVED)
    f = g.compile(want="values")
    at = {"A": np.eye(3) + 0.1, "b": np.arange(3.0)}
    before = kept(f(**at))
    with pytest.raises(gc.GraphcError, match="singular"):
        f(A=np.zeros((3, 3)), b=at["b"])
    assert_same(f(**at), before, 0)


SOLVED = "input A[3,3] b[3]\nC = sin(A) @ A\ny = solve(C, b)\nz = C.T @ y"


# What a graph is given is a copy.


def through_every_door() -> dict[str, tuple[np.ndarray, gc.Graph, dict]]:
    """{how: (the user's array, the graph that it was given to, a point)}."""
    found = {}

    def door(name, make, **at):
        array = np.array([1.0, 2.0, 4.0])
        found[name] = array, make(array), at

    def built(array):
        g = gc.Graph("built")
        x = g.input("x", shape=(3,), value=array)
        g.node("y", 2 * x)
        return g

    def points(array):
        g = gc.Graph("points")
        g.node("y", 2 * g.input("x", value=array))
        return g

    def lifted(array):
        g = gc.Graph("lifted")
        x = g.input("x")
        g.node("c", array)
        g.node("y", x * array)
        return g

    def exact(array):
        g = gc.Graph("exact")
        array[...] = 2
        whole = array.astype(object)
        g.node("y", g.input("x") * whole)
        whole[0] = 7
        return g

    def traced(array):
        @gc.graph
        def f(x):
            c = gc.const(array, "c")
            y = x * array + c @ array
            return y

        return f

    def default(array):
        @gc.graph(shapes={"w": (3,)})
        def f(x, *, w=array):
            y = x * w
            return y

        return f

    def own(array):
        g = gc.Graph("own")
        x = g.input("x", shape=(3,), value=[1, 1, 1])
        g.node("y", gc.sin(x), partials={"x": array})
        return g

    door("value=", built)
    door("value= of points", points)
    door("constant", lifted, x=2.0)
    door("exact constant", exact, x=2.0)
    door("traced", traced, x=2.0)
    door("default", default, x=2.0)
    door("partials=", own)
    return found


@pytest.mark.parametrize("name", through_every_door())
def test_a_graph_keeps_copies_of_the_users_arrays(name):
    array, g, at = through_every_door()[name]
    leaf = "w" if name == "default" else "x"

    def answers():
        return [
            g.values(at),
            g.derivative("y", leaf, at),
            g.compile(want="values")(**at),
            g.compile(of="y", wrt=leaf, want="jacobian")(**at),
        ]

    f = g.compile(want="values")
    before, called = answers(), kept(f(**at))
    array[...] = 100
    for old, new in zip(before, answers(), strict=True):
        assert_same(new, old, 0)
    assert_same(f(**at), called, 0)
    for result in before:  # what is done to a result does nothing to the graph
        for part in arrays(result):
            part[...] = 100
    assert_same(f(**at), called, 0)
    assert_same(g.values(at), called)
    assert f.source == g.compile(want="values").source


def test_the_value_of_a_node_is_a_copy():
    g = gc.Graph("given")
    g.input("x", shape=(2,), value=np.array([1.0, 2.0]))
    g["x"].value[...] = 7
    assert g["x"].value.tolist() == [1.0, 2.0]


def test_a_local_derivative_keeps_its_point():
    g = gc.parse("input x[2]\ny = x*x")
    x = np.array([1.0, 2.0])
    local = g.local("x", "y", {"x": x})
    x[...] = 7
    assert local.pull(np.ones(2)).tolist() == [2.0, 4.0]
    seed = np.ones(2)
    assert not np.shares_memory(g.local("y", "y", {"x": x}).pull(seed), seed)


def test_seeds_are_copied():
    g = gc.parse("input x[2]\ny = 2*x")
    at, seed = {"x": np.ones(2)}, np.array([1.0, 2.0])
    found = g.reverse({"y": seed}, at)
    assert not shared([[seed], arrays(dict(found)), arrays(at)])
    f = g.compile(of={"y": seed}, wrt="x", want="grad")
    seed[...] = 7
    assert f(**at)["x"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("function", [gc.stop, gc.transpose, lambda x: gc.reshape(x, (1, 3))])
def test_functions_of_plain_arrays_give_arrays_of_their_own(function):
    x = np.arange(3.0)
    assert not np.shares_memory(function(x), x)


# What is no array of real numbers is refused.

STRANGE = {
    "complex": np.array([1 + 2j, 3]),
    "a complex number": 1 + 2j,
    "a complex list": [1 + 2j, 3.0],
    "masked": np.ma.array([1.0, 2.0], mask=[True, False]),
    "a masked list": [np.ma.array([1.0, 2.0], mask=[True, False])[0], 2.0],
    "None": None,
    "a list with None": [None, 1.0],
    "datetime": np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
    "timedelta": np.array([1, 2], dtype="m8[s]"),
    "objects": np.array([1.0, object()], dtype=object),
    "complex objects": np.array([1.0, 1j], dtype=object),
    "text objects": np.array([1.0, "2"], dtype=object),
    "text": np.array(["1.5", "2.5"]),
    "bytes": np.array([b"1.5", b"2.5"]),
    "a list of text": ["1.5", "2.5"],
    "records": np.array([(1.0,), (2.0,)], dtype=[("a", float)]),
    "a ragged list": [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("text", ["input x\ny = x*x", "input x[2]\ny = x*x"])
@every_engine
@pytest.mark.filterwarnings("error")
def test_compiled_functions_refuse_what_is_not_real(name, text, engine):
    f = gc.parse(text).compile(want="value", **engine)
    for call in (lambda: f(STRANGE[name]), lambda: f(x=STRANGE[name])):
        with pytest.raises(gc.GraphcError, match=r"^value: x[ =].*; give ") as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(STRANGE) - {"None"}))
@pytest.mark.parametrize("shape", [(), (2,)])
def test_graphs_refuse_what_is_not_real(name, shape):
    g = gc.Graph("strange")
    if name not in ("a list of text", "text objects"):  # strings are exact numbers
        with pytest.raises(gc.GraphcError):
            g.input("x", shape=shape, value=STRANGE[name])
    x = g.input("y", shape=shape)
    with pytest.raises(gc.GraphcError):
        g.node("z", x * STRANGE[name])


def test_compiled_functions_take_every_kind_of_real_number():
    from decimal import Decimal
    from fractions import Fraction

    import mpmath
    import sympy

    half = [
        Fraction(1, 2),
        Decimal("0.5"),
        sympy.Rational(1, 2),
        mpmath.mpf("0.5"),
        np.float16(0.5),
    ]
    for text in ("input x\ny = x*x", "input x[5]\ny = x*x"):
        f = gc.parse(text).compile(want="value")
        assert f(half).tolist() == [0.25] * 5
        assert f(np.array(half, dtype=object)).tolist() == [0.25] * 5
        assert f([True] * 5).tolist() == [1.0] * 5
        assert f(np.ma.array([2.0] * 5)).tolist() == [4.0] * 5  # nothing is masked
