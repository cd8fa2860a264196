"""Contractions are planned when they are written, and sums of parts grow with the parts alone."""

import itertools
import re

import numpy as np
import pytest

import graphc as gc
from graphc.shapes import LETTERS
from graphc.table.contraction_plan import as_product, first_pair

SIZES = dict(zip("abcdef", (2, 3, 4, 5, 1, 2), strict=True))
SPECS = [  # matrices, stacks, vectors; groups of letters side by side and apart
    *("ab,bc->ac", "ab,cb->ca", "abc,adc->abd", "abc,abd->adc", "abc,bc->a", "bc,abc->a"),
    *("kij,nkj->nki", "abc,abd->bcd", "abc,bcd->abd", "fij,fj->fi", "fj,fij->fi", "fij,fi->fj"),
    *("k,kij->ij", "ab,cab->c", "abc,cbd->ad", "abc,cbd->da", "abcd,bd->ca", "abcd,cdef->fabe"),
    *("abcd,cbe->aed", "abcd,cbe->dea", "abc,abc->b", "abc,cab->a", "ab,ab->", "ab,ac->bc"),
    *("ab,bc->c", "ab,c->c", "aab,bc->ac", "ab,bc->acd", "ab,bc->aac", "ab,ac->abc", "ab,ca->bac"),
    *("vb,bij,bvj->vi", "ab,ac,cad->cbd", "a,b,ab->", "ab,bc,cd->ad", "ab,,bc->ac", "a,b,c->abc"),
    *("ab,bc,cd,da->", "abc,abd,acd->bcd", "a,ab,b,bc->c", "ab,bc,cd->ade", "ab,b,b,bc->ca"),
    *("abc->a", "abc->b", "abc->cb", "abc->", "abc->ca", "aab->b"),
]


def sized(spec):
    """The spec in letters a to f."""
    names = {}
    return "".join(names.setdefault(x, LETTERS[len(names)]) if x.isalpha() else x for x in spec)


def declared(spec, named=False):
    """A graph whose node y is the contraction, its operands, and y by brute force."""
    left, out = spec.split("->")
    words = left.split(",")
    chance = np.random.default_rng(len(spec))
    arrays = [chance.standard_normal([SIZES[x] for x in word]) for word in words]
    shapes = [[f"n_{x}" if named else str(SIZES[x]) for x in word] for word in words]
    lines = [f"input x{k}" + f"[{','.join(shape)}]" * bool(shape) for k, shape in enumerate(shapes)]
    fresh = "".join(f", {x}={SIZES[x]}" for x in dict.fromkeys(out) if x not in left)
    given = ", ".join(f"x{k}" for k in range(len(words)))
    lines += [f'y = einsum("{spec}", {given}{fresh})', "L = sum(sin(y))"]
    letters = dict.fromkeys("".join(words) + out)
    expected = np.zeros([SIZES[x] for x in out])
    for index in itertools.product(*(range(SIZES[x]) for x in letters)):
        place = dict(zip(letters, index, strict=True))
        factors = [
            array[tuple(place[x] for x in word)] for array, word in zip(arrays, words, strict=True)
        ]
        expected[tuple(place[x] for x in out)] += np.prod(factors)
    return gc.parse("\n".join(lines)), dict(zip(given.split(", "), arrays, strict=True)), expected


@pytest.mark.parametrize("named", [False, True], ids=["known sizes", "named sizes"])
@pytest.mark.parametrize("spec", map(sized, SPECS))
def test_a_planned_contraction_is_the_sum_of_products(spec, named):
    graph, at, expected = declared(spec, named)
    slopes = graph.reverse("L", at)
    for style in ("fast", "readable"):
        value = graph.compile("y", want="value", style=style)
        np.testing.assert_allclose(value(**at), expected, rtol=1e-12, atol=1e-12)
        f = graph.compile("L", wrt=list(at), style=style)
        value, gradient = f(**at)
        np.testing.assert_allclose(value, np.sum(np.sin(expected)), rtol=1e-12)
        for name in at:
            np.testing.assert_allclose(gradient[name], slopes[name], rtol=1e-11, atol=1e-12)
        assert "optimize" not in f.source  # it would plan anew at every call


@pytest.mark.parametrize("spec", map(sized, SPECS))
def test_an_einsum_is_called_for_what_is_no_product_of_matrices_alone(spec):
    """Each einsum of a module has at most two operands, and is no matrix product."""
    graph, at, _ = declared(spec)
    for style in ("fast", "readable"):
        source = graph.compile("L", wrt=list(at), style=style).source
        code = source[source.index("def value_and_grad") :]
        for found in re.findall(r'np\.einsum\("([a-zA-Z,]*)->([a-zA-Z]*)"', code):
            operands = found[0].split(",")
            assert len(operands) <= 2
            assert len(operands) < 2 or as_product(*operands, found[1]) is None


def test_the_cheapest_pair_is_the_first():
    sizes = {"v": 500, "b": 16, "i": 3, "j": 3}
    assert first_pair(["vb", "bij", "bvj"], "vi", sizes) == (0, 2, "vbj")
    assert first_pair(["ab", "bc", "c"], "a", {"a": 9, "b": 9, "c": 9}) == (1, 2, "b")
    assert first_pair(["ab", "bc", "c"], "a", {"a": "n", "b": 9, "c": 9})[:2] == (1, 2)


def test_what_two_contractions_share_is_computed_once():
    """The product of the factors that are no parameter is there for the slope, too."""
    graph = gc.parse(
        "input w[50,4] x[4,50,3]\nparam R[4,3,3]\n"
        'y = einsum("vb,bij,bvj->vi", w, R, x)\nL = sum(y**2)'
    )
    f = graph.compile("L", wrt=["R"])
    code = f.source[f.source.index("space = ") :]
    assert len(re.findall(r"np\.multiply\(w", code)) == 1
    assert len(re.findall("matmul| @ ", code)) == 2


# Parts that are joined, and slopes of an array that is read in parts.


def chain(steps):
    """A recurrence over the rows of an array, whose states are stacked."""

    @gc.graph(shapes={"X": (steps, 3), "W": (3, 3)})
    def model(X, *, W):
        h = X[0]
        states = []
        for t in range(steps):
            h = gc.tanh(h @ W + X[t])
            states.append(h)
        loss = gc.sum(gc.stack(states) ** 2) + gc.sum(gc.concat(states))
        return loss

    return model


def test_rows_and_memory_grow_with_the_steps():
    plans = [chain(steps).compile(wrt=["X", "W"]).plan for steps in (50, 100, 200)]
    operations, memory = (
        [getattr(plan, field) for plan in plans] for field in ("operations", "memory")
    )
    for counts in (operations, memory):
        assert counts[2] - counts[1] <= 2.2 * (counts[1] - counts[0])


def test_no_whole_array_is_made_for_each_part():
    """Each part is added where it belongs; whole arrays are made for the first one alone."""
    for steps in (20, 40):
        f = chain(steps).compile(wrt=["X", "W"])
        code = f.source[f.source.index("space = ") :]
        assert "put(" not in code
        assert code.count("accumulate(0, ") <= 4
        whole = re.findall(r"accumulate\((\w+), \w+, \w+, out=(\w+)\)", code)
        assert len(whole) >= 3 * steps
        assert sum(first != out for first, out in whole) <= 4


@pytest.mark.parametrize(
    "formula",
    [
        *("concat([x, y])", "stack([x, y])", "stack([x, y], axis=1)", "concat([x, -x, y])"),
        "scatter(x, [0, 2], 4) + scatter(y, [1, 2], 4)",
        "scatter(x, [0, 2], 3) + scatter(y, [0, 2], 3)",
        "scatter(x, [0, 1], 2) + scatter(y, [1, 0], 2) + scatter(x, [1, 0], 2)",
    ],
)
def test_joined_zeros_have_the_sign_that_the_interpreter_gives(formula):
    graph = gc.parse(f"input x[2] y[2]\nz = {formula}\nw = 2*z")
    at = {"x": np.array([-0.0, 1.0]), "y": np.array([-0.0, -0.0])}
    expected = graph.values(at)["z"]
    for want in ("z", "w"):
        found = graph.compile(want, want="value")(**at)
        assert (np.signbit(found) == np.signbit(expected)).all()


def test_a_whole_that_is_read_again_is_not_overwritten():
    graph = gc.parse(
        "input x[2] y[2] z[2]\na = scatter(x, [0, 1], 6) + scatter(y, [2, 3], 6)\n"
        "b = a + scatter(z, [4, 5], 6)\nL = sum(a*b)"
    )
    at = {name: np.arange(1.0, 3.0) + k for k, name in enumerate("xyz")}
    f = graph.compile("L", wrt=["x", "y", "z"])
    for _ in range(2):  # the workspace is used again
        value, gradient = f(**at)
        assert value == graph.values(at)["L"]
        for name, slope in graph.reverse("L", at).items():
            if name in at:
                np.testing.assert_array_equal(gradient[name], slope)


def test_what_no_argument_enters_is_made_once():
    """Where slopes are is known when the module is loaded, and where it is not they stay apart."""
    graph = gc.parse(
        "input x[4]\nparam c[2] = [1, 2]\ny = take(x, [0, 2, 2])\n"
        "L = sum(sqrt(y))*norm(outer([1, 2], [3, 4]) @ c)"
    )
    f = graph.compile("L", wrt=["x", "c"])
    code = f.source[f.source.index("def value_and_grad") :]
    assert "np.array(" not in code and "np.ones(" not in code
    at = {"x": np.array([1.0, 0.0, 4.0, 0.0]), "c": np.array([1.0, 2.0])}
    slopes = graph.reverse("L", at)
    for _ in range(2):
        gradient = f(**at)[1]
        for name in at:
            np.testing.assert_allclose(gradient[name], slopes[name], rtol=1e-14)


def test_a_constant_that_is_a_result_is_fresh():
    graph = gc.parse("input x[3]\nL = sum(x)")
    f = graph.compile("L", wrt=["x"])
    first = f(x=np.zeros(3))[1]["x"]
    first[:] = 7
    np.testing.assert_array_equal(f(x=np.zeros(3))[1]["x"], np.ones(3))
