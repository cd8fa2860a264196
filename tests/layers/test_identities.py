"""Matrix-calculus identities: derived, printed, and checked in 50-digit arithmetic."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from identities import IDENTITIES, Identity
from numpy_text import evaluate

import graphc as gc

ROOT = Path(__file__).parents[2]
SIZES = {"n": 4}
every = pytest.mark.parametrize("identity", IDENTITIES, ids=lambda i: f"{i.group}-{i.title}")


def point(g: gc.Graph, seed: int = 3) -> dict[str, object]:
    """Random positive numbers with 60 digits; square matrices are far from singular."""
    rng = random.Random(seed)
    at = {}
    for name in g.input_names:
        shape = [SIZES.get(size, size) for size in g[name].shape]
        array = np.empty(shape, dtype=object)
        for index in np.ndindex(array.shape):
            array[index] = mpmath.mpf(rng.randrange(3 * 10**59, 15 * 10**59)) / 10**60
            if len(shape) == 2 and shape[0] == shape[1] and index[0] == index[1]:
                array[index] += 2
        at[name] = array.tolist()
    return at


def derived(g: gc.Graph, identity: Identity, at: dict[str, object] | None = None) -> object:
    if identity.group == "Hessians":
        return g.hessian("f", identity.wrt, at)
    if g["f"].shape:
        return g.derivative("f", identity.wrt, at)
    return g.reverse("f", at)[identity.wrt]


def flat(value: object) -> np.ndarray:
    return np.asarray(value, dtype=object).ravel()


def differences(g: gc.Graph, identity: Identity, at: dict[str, object]) -> np.ndarray:
    """The derivative by central differences: of the value, or of the gradient for a Hessian."""
    h = mpmath.mpf(10) ** -25
    base = np.array(at[identity.wrt], dtype=object)

    def moved(index: tuple[int, ...], step: object) -> np.ndarray:
        changed = base.copy()
        changed[index] = changed[index] + step
        here = {**at, identity.wrt: changed.tolist()}
        if identity.group == "Hessians":
            return np.asarray(g.reverse("f", here)[identity.wrt], dtype=object)
        return np.asarray(g.values(here)["f"], dtype=object)

    columns = [(moved(i, h) - moved(i, -h)) / (2 * h) for i in np.ndindex(base.shape)]
    return np.moveaxis(np.array(columns, dtype=object), 0, -1)


@every
def test_identity_is_printed_in_matrix_form(identity: Identity) -> None:
    assert str(derived(gc.parse(identity.text), identity)) == identity.expected


@every
def test_identity_holds_to_50_digits(identity: Identity) -> None:
    g = gc.parse(identity.text)
    with mpmath.workdps(80):
        at = point(g)
        measured = differences(g, identity, at).ravel()
    with mpmath.workdps(50):
        result = derived(g, identity, at)
        scale = max(abs(value) for value in measured) + 1
        for value, other in zip(flat(result), measured, strict=True):
            assert abs(value - other) <= scale * mpmath.mpf(10) ** -20


@every
def test_printed_text_is_the_derivative(identity: Identity) -> None:
    """The text, evaluated by NumPy, is the derivative that graphc computes at that point."""
    g = gc.parse(identity.text)
    at = {
        name: np.array(value, dtype=float) if np.ndim(value) else float(value)
        for name, value in point(g, seed=5).items()
    }
    names = {**SIZES, **g.values(at)}
    printed = evaluate(identity.expected, names)
    wanted = np.asarray(derived(g, identity, at), dtype=float)
    assert np.shape(printed) == np.shape(wanted)
    np.testing.assert_allclose(printed, wanted, rtol=1e-12, atol=1e-13)


@every
def test_latex_is_sane(identity: Identity) -> None:
    text = derived(gc.parse(identity.text), identity).latex()
    depth = 0
    for character in re.sub(r"\\[{}]", "", text):
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert len(re.findall(r"\\left(?!\w)", text)) == len(re.findall(r"\\right(?!\w)", text))
    bare = re.sub(r"\\[A-Za-z]+|\\.", " ", re.sub(r"\\operatorname\{[a-z\\_]+\}", " ", text))
    assert not re.search(r"[@*\"]|\.T|None|[A-Za-z]{5}", bare), text


def test_there_are_enough_of_them() -> None:
    assert len(IDENTITIES) >= 60
    assert len({(i.inputs, i.formula, i.wrt, i.group) for i in IDENTITIES}) == len(IDENTITIES)
    wrong = [i.formula for i in IDENTITIES if "SymPy" in i.title]
    assert wrong == ["trace(A) + 1", "log(det(A))", "M[0,0]"]


def test_differentiating_twice_gives_the_hessian() -> None:
    g = gc.parse("input A[3,2] x[2] b[3]\nf = sum((A @ x - b)**2)")
    slopes = g.differentiate("f", "x")
    slopes.node("s", "x_bar[0] + 2*x_bar[1]")
    (name,) = slopes.differentiate("s", "x").output_names
    at = {"A": [[1, 2], [3, 4], [5, 6]], "x": [1, -1], "b": [1, 0, 2]}
    hessian = np.array(g.hessian("f", "x", at))
    assert hessian.tolist() == [[70, 88], [88, 112]]
    product = slopes.differentiate("s", "x").values(at)[name]  # H @ (1, 2)
    assert np.array(product).tolist() == [70 + 2 * 88, 88 + 2 * 112]


def test_the_page_is_made_from_the_table() -> None:
    script = ROOT / "docs" / "make_identities.py"
    made = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    ).stdout
    for identity in IDENTITIES:
        assert f"| `{identity.formula}` | `{identity.wrt}`" in made, identity.title
