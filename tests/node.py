"""The computation of a page, run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import numpy as np

import graphc as gc
from graphc.explore.exploring import part
from graphc.explore.model import model
from graphc.explore.script import program_text
from graphc.explore.start import start

NODE = shutil.which("node")


MLP = """
input X[n, 3] = [[0.5, -0.25, 1], [1, 0.75, -0.5], [-1, 0.5, 0.25], [0.1, 0.2, -0.3]]
input Y[n, 2] = [[1, 0], [0, 1], [1, 0], [0, 1]]
param W1[3, 4] = [[0.5, -0.4, 0.3, 0.2], [0.1, 0.6, -0.7, 0.8], [-0.9, 0.2, 0.4, -0.1]]
param b1[4] = [0.1, -0.2, 0.3, 0]
param W2[4, 2] = [[0.7, -0.3], [0.2, 0.5], [-0.6, 0.4], [0.1, -0.8]]
param b2[2] = [0, 0.05]
A1 = X @ W1 + b1
H = tanh(A1)
Z = H @ W2 + b2
L = mean(softmax_cross_entropy(Z, Y))
output L
"""


PARTS = (part("numbers.js"), part("sweeps.js"))


def scripts(graph: gc.Graph, of: Any = None, wrt: Any = None, at: Any = None) -> tuple[str, Any]:
    """The computation of a page without the page, and where it starts."""
    point = start(graph, at)
    data = json.dumps(model(graph, point, of, wrt))
    program = program_text(graph, list(point.given), point.sizes)
    return "\n".join([f"const model = {data};", program, *PARTS]), point


def run(pieces: list[str]) -> list[Any]:
    """What each piece, the body of a function, returns; all in one process."""
    bodies = "\n".join(
        f"console.log(JSON.stringify(((() => {{\n{piece}\n}})())));" for piece in pieces
    )
    found = subprocess.run(
        [str(NODE), "-"], input=f'"use strict";\n{bodies}', capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return [json.loads(line) for line in found.stdout.splitlines()]


SWEPT = """
const point = new Point(model.given.map(({ value }) => tensorOf(value)));
const { seeds } = model.ends[0];
const text = (list) => list.map((x, i) => (x === null ? null : full(x, nodes[i].shape)));
const paths = point.paths(model.wrt, seeds);
return {
  values: text(point.values),
  adjoints: text(point.adjoints(seeds)),
  tangents: text(point.tangents(model.wrt, 0)),
  total: paths.total,
  paths: paths.terms.map((term) => full(term.value, nodes[model.wrt].shape)),
};
"""


def numbers(texts: dict[str, Any] | list[Any]) -> Any:
    return [None if text is None else np.array(json.loads(text)) for text in texts]


def close(found: Any, expected: Any, what: Any = "") -> None:
    expected = np.asarray(expected).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14, err_msg=str(what))
