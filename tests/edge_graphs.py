"""Graphs in which a branch that is not taken is singular, and every engine that derives them."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from engines import ENGINES, on_tape

import graphc as gc
from graphc.explore.exploring import part
from graphc.explore.model import model
from graphc.explore.script import program_text
from graphc.explore.start import start

NODE = shutil.which("node")
OPEN = 2.0  # a point at which every branch is ordinary
# gate with {h} for a function that is singular at the points -> what is left there
SELECTIONS = {
    "where(x > 0, {h}, 3*x)": "3*x",
    "where(x >= 1, {h}, 0)": "0*x",
    "where(x < 1/4, 5, {h})": "5 + 0*x",
    "where(x <= 0, x**2, {h})": "x**2",
    "where(x == 2, {h}, 1)": "1 + 0*x",
    "where(x != 2, 7*x, {h})": "7*x",
    "where(x > -5, where(x > 1, {h}, x), 0)": "x",
    "where(x > 1, {h}, 0) + where(x > 3/2, 2*{h}, 0)": "0*x",
    "4*where(x > 0, -{h}, x)": "4*x",
    "where(x > 0, 1, 0)*where(x > 1, {h}, x)": "0*x",
}
SINGULAR = (  # {u}: the argument, which is negative or 0 where the gate is closed
    *("sqrt({u})", "log({u})", "{u}**(3/2)", "{u}**(1/3)", "1/{u}", "{u}**(-2)", "{u}**x"),
    *("asin(1 - 1/({u} + 1)) + 1/{u}", "x/{u}", "x*log({u})", "sqrt({u})*log({u})"),
    *("atan2({u}, {u}) + log({u})", "logaddexp(1/{u}, 1)", "tanh(1/{u})", "exp(1/{u}**2)"),
)
# functions that are gates themselves, of a value that has no slope at 0 but a place
PIECEWISE = {
    "relu({h} - 1)": "0*x",
    "leaky_relu({h} - 1, slope=0)": "0*x",
    "max(x + 5, {h})": "x + 5",
    "max({h}, x + 5)": "x + 5",
    "min(x - 5, -{h})": "x - 5",
    "max(x + 5, {h}, 2)": "x + 5",
    "clip({h}, 2, 3)": "2 + 0*x",
    "hardtanh({h} - 3)": "0*x - 1",
    "heaviside({h} - 2)*x": "0*x",
    "sign({h} - 2)*x": "-x",
    "0*{h} + x": "x",
    "relu(relu({h} - 1) + 1)": "1 + 0*x",
}
STEEP = ("sqrt({u})", "{u}**(1/3)", "asin({u} - 1)", "{u}**(3/2)", "-sqrt({u}) + {u}**(1/4)")


@dataclass(frozen=True)
class Case:
    """A graph whose gates are closed at some points, and the formula that is left there."""

    name: str
    text: str
    left: str
    closed: tuple[float, ...]


def cases() -> Iterator[Case]:
    """Gates by inner functions, each in one of the ways that nodes can be cut."""
    tables = ((SELECTIONS, SINGULAR, (-1.0, 0.0)), (PIECEWISE, STEEP, (0.0,)))
    number = 0
    for gates, inner, closed in tables:
        for gate, left in gates.items():
            for form in inner:
                number += 1
                way = number % 4
                h = form.format(u="u" if way > 1 else "x")
                text = [
                    f"input x\nL = {gate.format(h=f'({h})')}",
                    f"input x\nh = {h}\nL = {gate.format(h='h')}",
                    f"input x\nu = 1*x\nh = {h}\ny = {gate.format(h='h')}\nL = y*y",
                    f"input x\nu = x + 0\nh = {h}\nk = h/3\nm = h - k\n"
                    f"y = {gate.format(h='(m + k)')}\nL = y + sin(u)",
                ][way]
                rest = [left, left, f"({left})*({left})", f"{left} + sin(x)"][way]
                yield Case(f"{gate} of {form} {way}", text, rest, closed)


def scalar_answers(graph: gc.Graph, x: float) -> Iterator[tuple[int, str, float]]:
    """(order, engine, derivative of L by x) at one point, and at it beside another one."""
    at, points = {"x": x}, {"x": np.array([OPEN, x])}
    for mode in ("reverse", "forward", "paths"):
        yield 1, f"interpreter {mode}", graph.derivative("L", "x", at=at, mode=mode)
        yield 1, f"points {mode}", graph.derivative("L", "x", at=points, mode=mode)[1]
    order = list(graph)
    yield 1, "pairs", graph.all_pairs(at)["x", "L"]
    dense = graph.all_pairs(at, result="dense")
    yield 1, "dense", dense[order.index("x"), order.index("L")]
    for mode in ("reverse", "forward"):
        slope = graph.differentiate("L", "x", mode=mode)
        (name,) = slope.output_names
        yield 1, f"graph {mode}", slope.values(at)[name]
        yield 1, f"graph at points {mode}", slope.values(points)[name][1]
        for again in ("reverse", "forward"):
            second = slope.differentiate(name, "x", mode=again)
            yield 2, f"graph {mode} {again}", second.values(at)[second.output_names[0]]
    yield 2, "interpreter", graph.hessian("L", "x", at=at)
    for name, engine in ENGINES.items():
        for mode in ("reverse", "forward"):
            f = graph.compile("L", "x", want="grad", **engine, mode=mode)
            yield 1, f"{name} {mode}", f(**at)["x"]
            yield 1, f"{name} points {mode}", f(**points)["x"][1]
        f = graph.compile("L", "x", want="hessian", **engine)
        yield 2, f"{name}", f(**at)
        yield 2, f"{name} points", f(**points)[1]
        f = graph.compile("L", "x", want="hvp", **engine)
        yield 2, f"{name} hvp", f(**at, x_dot=1.0)["x"]
    if (tape := on_tape(graph, "L", "x", "grad")) is not None:
        yield 1, "tape", tape(**at)["x"]


def tensor_answers(text: str, x: float) -> Iterator[tuple[int, str, float]]:
    """The same of a sum over a vector, whose other element is open."""
    graph = gc.parse(text.replace("input x", "input x[2]") + "\nT = sum(L)")
    at = {"x": np.array([OPEN, x])}
    for mode in ("reverse", "forward"):
        yield 1, f"tensor {mode}", graph.derivative("T", "x", at=at, mode=mode)[1]
        jacobian = graph.derivative("L", "x", at=at, mode=mode)
        yield 1, f"tensor Jacobian {mode}", jacobian[1, 1]
        yield 0, f"tensor Jacobian beside its diagonal {mode}", jacobian[0, 1]
    slope = graph.differentiate("T", "x")
    yield 1, "tensor graph", slope.values(at)[slope.output_names[0]][1]
    yield 2, "tensor interpreter", graph.hessian("T", "x", at=at)[1, 1]
    for name, engine in ENGINES.items():
        for mode in ("reverse", "forward"):
            f = graph.compile("T", "x", want="grad", **engine, mode=mode)
            yield 1, f"tensor {name} {mode}", f(**at)["x"][1]
            matrix = graph.compile("L", "x", want="jacobian", **engine, mode=mode)(**at)
            yield 1, f"tensor Jacobian {name} {mode}", matrix[1, 1]
            yield 0, f"beside its diagonal {name} {mode}", matrix[0, 1]
        f = graph.compile("T", "x", want="hvp", **engine)
        yield 2, f"tensor {name} hvp", f(**at, x_dot=np.array([0.0, 1.0]))["x"][1]
        f = graph.compile("T", "x", want="hessian", **engine)
        yield 2, f"tensor {name} hessian", f(**at)[1, 1]


def answers(case: Case, x: float) -> Iterator[tuple[int, str, float]]:
    """(order, engine, derivative) by every route but JavaScript; order 0 has to be 0."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for order, engine, value in scalar_answers(gc.parse(case.text), x):
            yield order, engine, float(value)
        for order, engine, value in tensor_answers(case.text, x):
            yield order, engine, float(value)


def truth(case: Case, x: float) -> dict[int, float]:
    """The derivatives of what is left, by order."""
    left = gc.parse(f"input x\nL = {case.left}")
    first, second = left.derivative("L", "x", at={"x": x}), left.hessian("L", "x", at={"x": x})
    return {0: 0.0, 1: float(first), 2: float(second)}


POINT = "const point = new Point(model.given.map(({ value }) => tensorOf(value)));"
SWEPT = """
return [point.adjoints(model.ends[0].seeds)[0], point.tangents(0, 0)[nodes.length - 1]];
"""


def in_javascript(
    graphs: list[tuple[gc.Graph, dict[str, Any]]], asked: str = SWEPT
) -> list[list[float]]:
    """(adjoint of x, tangent of L) of each graph at its point, as a page computes them."""
    pieces = []
    for graph, at in graphs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = start(graph, at)
            data = json.dumps(model(graph, point, "L", "x"))
        program = program_text(graph, list(point.given), point.sizes)
        body = "\n".join(
            [f"const model = {data};", program, part("numbers.js"), part("sweeps.js"), POINT, asked]
        )
        pieces.append(f"console.log(((() => {{\n{body}\n}})()).map(String).join(' '));")
    found = subprocess.run(
        [str(NODE), "-"],
        input='"use strict";\n' + "\n".join(pieces),
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    words = [line.replace("Infinity", "inf").split() for line in found.stdout.splitlines()]
    return [[float("nan") if w == "null" else float(w) for w in line] for line in words]
