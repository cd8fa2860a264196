"""Constant nodes: what has a name can be derived by, whatever its value."""

from __future__ import annotations

import numpy as np
import pytest
from engines import every_engine

import graphc as gc
from graphc.cli import main

WEIGHTED = "param w[2] = [1, 2]\nh = [5, 7]\nL = sum(w*h)\noutput L"


def test_a_constant_tensor_node_has_a_derivative_in_every_mode():
    g = gc.parse(WEIGHTED)
    assert g.derivative("L", "h", at={}).tolist() == [1, 2]
    assert g.reverse("L", at={})["h"].tolist() == [1, 2]
    assert g.forward({"h": [1, 1]}, at={})["L"] == 3
    assert str(g.derivative("L", "h")) == "w"
    assert g.jacobian("L", ["h", "w"], at={}).tolist() == [[1, 2, 5, 7]]
    assert g.differentiate("L", ["h"]).values({})["h_bar"].tolist() == [1, 2]


@every_engine
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_compiled_code_derives_by_a_constant_tensor_node(engine, mode):
    g = gc.parse(WEIGHTED)
    _, slopes = g.compile("L", ["h", "w"], **engine, mode=mode)(w=[1.0, 2.0])
    assert slopes["h"].tolist() == [1, 2] and slopes["w"].tolist() == [5, 7]


def test_the_edge_from_a_constant_tensor_node_is_shown(capsys, tmp_path):
    file = tmp_path / "g.gc"
    file.write_text(WEIGHTED)
    assert main(["show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "stopped" not in shown
    assert "h -> L  w" in shown


SECOND = {  # formulas with a constant node h: its value, and the Hessian by w and h at w = 3
    "w*h + h**2*w": (0, [[0, 1], [1, 6]]),
    "w*h": (1, [[0, 1], [1, 0]]),
    "w**2*(1 + h)": (-1, [[0, 6], [6, 0]]),
    "w**2/h": (1, [[2, -6], [-6, 18]]),
}


@pytest.mark.parametrize("formula", SECOND)
@pytest.mark.parametrize("scalar", [True, False])
def test_a_declared_number_is_not_folded_into_a_derivative(formula, scalar):
    number, expected = SECOND[formula]
    if scalar:
        text = f"param w\nh = {number}\nL = {formula}\noutput L"
    else:
        text = f"param w v[2]\nh = {number}\nL = {formula} + sum(v)\noutput L"
    g = gc.parse(text)
    at = {"w": 3} if scalar else {"w": 3, "v": [0, 0]}
    assert np.array(g.hessian("L", ["w", "h"], at)).tolist() == expected
    compiled = g.compile("L", ["w", "h"], want="hessian")
    assert compiled(**at).tolist() == expected


def test_an_exponent_with_a_name_has_a_derivative():
    g = gc.parse("param w\nh = 2\nL = w**h\noutput L")
    assert str(g.derivative("L", "h", at={"w": 3})) == "9*log(3)"
    assert g.compile("L", ["w", "h"])(w=3.0)[1]["h"] == pytest.approx(9 * np.log(3))
    assert g.derivative("L", "w", at={"w": -3}) == -6
