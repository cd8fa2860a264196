"""One place: a tensor operation is added from outside by one record, and works everywhere."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from node import NODE, SWEPT, numbers, run, scripts

import graphc as gc
from graphc.shapes import axis_of
from graphc.table.tensors import OPERATIONS, define, unchanged

PACKAGE = Path(gc.__file__).parent
POINT = {"x": np.array([[0.5, -1.0, 2.0], [0.25, 3.0, -0.75]]), "w": np.array([1.5, -0.5, 2.0])}
TEXT = """
input x[2, 3]
param w[3]
y = cumsum(x*w, axis=1)
z = cumsum(y**2, axis=0)
L = sum(sin(z))
"""


def cumsum_value(arithmetic, args, settings):
    """The sums of the elements up to each, exact ones too."""
    (axis,) = settings["axes"]
    back = slice(None, None, -1 if settings.get("reverse") else 1)
    parts = np.moveaxis(args[0], axis, 0)[back]
    found = [parts[0]]
    for part in parts[1:]:
        found.append(arithmetic.apply("add", (found[-1], part), {}))
    return np.moveaxis(np.array(found, dtype=args[0].dtype)[back], 0, axis)


def cumsum_back(here, k, adjoint):
    """Each element adds to the later sums: the sums are taken from the other end."""
    turned = not here.settings.get("reverse")
    settings = {"axes": here.settings["axes"], **({"reverse": True} if turned else {})}
    return here.apply("cumsum", (adjoint,), settings)


def cumsum_settings(x, *, axis=-1, reverse=False):
    return {"axes": (axis_of(axis, x.shape, "cumsum"),), **({"reverse": True} if reverse else {})}


NUMPY = '''\
def {name}(x, axis, reverse=False):
    """The sums of the elements up to each along an axis, or from each on."""
    if reverse:
        return {np}.flip({np}.cumsum({np}.flip(x, axis), axis), axis)
    return {np}.cumsum(x, axis)
'''
JAVASCRIPT = """\
function cumsum(x, shape, { axes, reverse }) {
  const axis = shape.length + axes[0], out = Float64Array.from(x);
  const after = shape.slice(axis + 1).reduce((a, b) => a * b, 1), n = shape[axis];
  for (let at = 0; at < out.length; at++) {
    const i = reverse ? out.length - 1 - at : at, place = Math.floor(i / after) % n;
    if (reverse ? place < n - 1 : place > 0) out[i] += out[i + (reverse ? after : -after)];
  }
  return out;
}
"""


@pytest.fixture
def cumsum(own_operations):
    """The record."""
    return define(
        "cumsum",
        shape=lambda shapes, settings, labels: shapes[0],
        pull=cumsum_back,
        push=lambda here, k, tangent: here.apply("cumsum", (tangent,), dict(here.settings)),
        value=cumsum_value,
        through=unchanged,
        batch=unchanged,
        call=cumsum_settings,
        definitions={"numpy": {"cumsum": NUMPY}, "javascript": {"cumsum": JAVASCRIPT}},
        origin="user",
        doc="The sums of the elements up to each along an axis.",
    )


def loss(x, w):
    return np.sum(np.sin(np.cumsum(np.cumsum(x * w, axis=1) ** 2, axis=0)))


def slope(x, w):
    """dL/dx, by hand."""
    y = np.cumsum(x * w, axis=1)
    z_bar = np.cos(np.cumsum(y**2, axis=0))
    y_bar = 2 * y * np.flip(np.cumsum(np.flip(z_bar, 0), 0), 0)
    return np.flip(np.cumsum(np.flip(y_bar, 1), 1), 1) * w


def close(found, wanted):
    found, wanted = (np.asarray(value, dtype=float) for value in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_floats(cumsum):
    g = gc.parse(TEXT)
    close(g.values(POINT)["L"], loss(**POINT))
    close(g.reverse("L", POINT)["x"], slope(**POINT))
    cosines = np.cos(g.values(POINT)["z"]).ravel()
    jacobian = np.reshape(g.jacobian("z", "x", POINT), (6, 6))
    close(cosines @ jacobian, slope(**POINT).ravel())
    scaled = gc.parse(TEXT.replace("x*w", "s*x*w").replace("param w[3]", "param s w[3]"))
    tangent = scaled.forward("s", {**POINT, "s": 1.0})["L"]
    close(tangent, np.sum(slope(**POINT) * POINT["x"]))


def test_exact_numbers_and_fifty_digits(cumsum):
    g = gc.parse("input x[3]\ny = cumsum(x**2)\nL = sum(y*y)")
    at = {"x": [Fraction(1, 2), Fraction(1, 3), -1]}
    assert g.values(at)["y"].tolist() == [Fraction(1, 4), Fraction(13, 36), Fraction(49, 36)]
    slopes = g.reverse("L", at)["x"].tolist()
    assert slopes == [Fraction(71, 18), Fraction(62, 27), Fraction(-49, 9)]
    irrational = g.values({"x": ["sqrt(2)", "pi", 1]})["y"].tolist()
    assert irrational[1] == 2 + sympy.pi**2
    with mpmath.workdps(50):
        digits = [mpmath.mpf(1) / 3, mpmath.mpf(2), mpmath.mpf(3)]
        assert abs(g.values({"x": digits})["y"].tolist()[2] - (mpmath.mpf(1) / 9 + 13)) < 1e-48


def second():
    """d2L/dx2, by differences of the gradient."""
    step, columns = 1e-6, []
    for place in np.ndindex(2, 3):
        moved = [{**POINT, "x": POINT["x"].copy()} for _ in range(2)]
        moved[0]["x"][place] -= step
        moved[1]["x"][place] += step
        low, high = (slope(**at) for at in moved)
        columns.append((high - low).ravel() / (2 * step))
    return np.array(columns)


def test_second_derivatives(cumsum):
    g = gc.parse(TEXT)
    wanted = second()
    found = [g.hessian("L", "x", POINT), g.compile("L", "x", want="hessian")(**POINT)]
    found.append(g.compile("L", "x", want="hessian", sparse=True)(**POINT).toarray())
    for matrix in found:
        np.testing.assert_allclose(np.asarray(matrix, float).reshape(6, 6), wanted, atol=1e-7)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled(cumsum, mode, dtype):
    f = gc.parse(TEXT).compile("L", "x", want="jacobian", mode=mode, dtype=dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    found = np.asarray(f(**POINT)).reshape(2, 3)
    np.testing.assert_allclose(found, slope(**POINT), rtol=tolerance, atol=tolerance)


def test_emitted(cumsum):
    g = gc.parse(TEXT)
    text = g.emit("L", "x", want="value_and_grad")
    space: dict[str, object] = {"__name__": "emitted"}
    exec(text, space)
    value, slopes = space["value_and_grad"](**POINT)
    close(value, loss(**POINT))
    close(slopes["x"], slope(**POINT))
    assert "y = cumsum(x * w, axis=-1)" in text
    assert "cumsum(y_bar, axis=-1, reverse=True)" in text
    assert "cp.flip(cp.cumsum(cp.flip(x, axis), axis), axis)" in g.emit("L", "x", backend="cupy")


def test_sparse(cumsum):
    g = gc.parse("input x[4]\ny = cumsum(x)*x")
    at = {"x": np.array([1.0, 2.0, 3.0, 4.0])}
    found = g.compile("y", "x", want="jacobian", sparse=True)(**at).toarray()
    close(found, g.jacobian("y", "x", at))


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript(cumsum):
    script, _ = scripts(gc.parse(TEXT), "L", "x", POINT)
    found = run([script + SWEPT])[0]
    names = list(gc.parse(TEXT))
    close(numbers(found["values"])[names.index("L")], loss(**POINT))
    close(numbers(found["adjoints"])[names.index("x")], slope(**POINT))


def test_an_operation_without_javascript_says_so(cumsum):
    OPERATIONS["cumsum"] = replace(cumsum, definitions={})
    with pytest.raises(gc.GraphcError, match="cumsum has no JavaScript"):
        scripts(gc.parse(TEXT), "L", "x", POINT)


def test_checked(cumsum):
    g = gc.parse(TEXT)
    assert gc.check(g, "L", POINT).verdict == "correct"
    OPERATIONS["cumsum"] = replace(cumsum, pull=cumsum.push)
    report = gc.check(g, "L", POINT)
    assert report.verdict == "wrong"
    assert ("y", "z") in report.blame


def test_text(cumsum):
    g = gc.parse(TEXT)
    assert "y = cumsum(x*w, axis=1)" in g.to_text()
    for graph in (g, g.differentiate("L"), g.expand()):
        again = gc.parse(graph.to_text())
        assert again.to_text() == graph.to_text()
        for name, value in graph.values(POINT).items():
            close(again.values(POINT)[name], value)
    with pytest.raises(gc.GraphcError, match="cumsum: axis 2 is out of range"):
        gc.parse("input x[3]\ny = cumsum(x, axis=2)")


def test_traced_and_on_numbers(cumsum):
    def squares(x):
        y = cumsum(x**2)
        return y

    g = gc.graph(squares, shapes={"x": (3,)})
    close(g.values({"x": [1.0, 2.0, 3.0]})["y"], [1, 5, 14])
    close(cumsum([1, 2, 3]), [1, 3, 6])


def test_it_has_a_row_in_the_pages(cumsum):
    """The page of functions and operations is made from the records."""
    script = PACKAGE.parent / "docs" / "make_functions.py"
    spec = importlib.util.spec_from_file_location("make_functions", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "| `cumsum(x" in module.operations()


def test_shown_and_drawn(cumsum, tmp_path):
    g = gc.parse(TEXT)
    assert "cumsum" in g.explain("L", "x", POINT).latex
    assert "cumsum" in str(g.reverse("L")["x"])
    g.draw(tmp_path / "g.svg", at=POINT, of="L")
    assert "cumsum" in (tmp_path / "g.svg").read_text(encoding="utf-8")


# What people read is tidied by rules that are about operations: det(A)*inv(A) for the adjugate.
ASKING = ("algebra/tidying.py",)


def asked_names(tree):
    """The strings that something is compared with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_nobody_asks_for_an_operation_by_its_name():
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE).as_posix()
        if not path.startswith("table/") and path not in ASKING:
            asked = set(asked_names(ast.parse(file.read_text(encoding="utf-8"))))
            assert not asked & set(OPERATIONS), path


def test_a_record_replaces_none_and_lacks_nothing(own_operations):
    fields = {
        "shape": lambda shapes, settings, labels: shapes[0],
        "pull": lambda here, k, adjoint: adjoint,
        "push": lambda here, k, tangent: tangent,
        "value": lambda numbers, operands, settings: operands[0],
    }
    for name in ("softmax", "sum", "contract"):
        with pytest.raises(gc.GraphcError, match=f"{name!r} already; choose another name"):
            define(name, **fields)
    for field in fields:
        with pytest.raises(gc.GraphcError, match=f"nothing of {field}"):
            define("own", **{key: value for key, value in fields.items() if key != field})
