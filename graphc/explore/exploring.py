"""The verb: a graph as one self-contained interactive page."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..derive.modes import reverse
from ..derive.request import Request
from ..draw.fold import EDGES, NODES, is_large
from ..errors import GraphcError, visible
from ..files import file_at, write_file
from ..structure.structure import Structure
from .model import MODES, model
from .scene import colours, escaped, scene
from .script import program_text
from .start import Start, start

SCRIPTS = ("numbers.js", "sweeps.js", "steps.js", "showing.js", "page.js")
MOST_FIELDS = 64  # elements of a tensor that has a field for each of them
VECTOR_COLUMNS = 5
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
    "base-uri 'none'; form-action 'none'"
)


def explore(
    graph: Structure,
    path: str | PathLike[str],
    of: Any = None,
    at: Mapping[str, Any] | None = None,
    wrt: Any = None,
    mode: str = "reverse",
) -> Path:
    """Writes the page; returns its path."""
    file = file_at(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise GraphcError(f"{visible(str(file))}: a page is an .html file; call it so")
    return write_file(file, page(graph, of, at, wrt, mode))


def page(
    graph: Structure,
    of: Any = None,
    at: Mapping[str, Any] | None = None,
    wrt: Any = None,
    mode: str = "reverse",
) -> str:
    """The page as text."""
    if not graph.names:
        raise GraphcError(
            f"the graph {visible(graph.name)} has no nodes; there is nothing to explore"
        )
    if is_large(graph):
        raise GraphcError(
            f"the graph has {len(graph.names)} nodes, and a page explores at most {NODES} nodes "
            f"and {EDGES} edges; collapse() some nodes, or draw() the whole folded"
        )
    point = start(graph, at)
    data = model(graph, point, of, wrt, mode)
    ends = [graph.nodes()[node] for node, _ in data["ends"][0]["seeds"]]
    program = program_text(graph, list(point.given), point.sizes)
    script = "\n".join(['"use strict";', "(() => {", _MODEL, program, *map(part, SCRIPTS), "})();"])
    style = colours() + "\n" + part("page.css")
    return _filled(
        part("page.html"),
        policy=POLICY.format(script=_hash(script), style=_hash(style)),
        name=escaped(data["name"]),
        summary=f"{len(data['nodes'])} nodes, {len(data['edges'])} edges; move an input and watch "
        "values and derivatives follow",
        style=style,
        ends=_options([end["label"] for end in data["ends"]]),
        sources=_options([node["name"] for node in data["nodes"]]),
        modes="\n".join(
            f'<label><input type="radio" name="mode" value="{word}"> {word}</label>'
            for word in MODES
        ),
        drawing=scene(graph, ends, _attributes(graph, point, data)),
        fields="\n".join(_field(number, given) for number, given in enumerate(data["given"]))
        or "<p>This graph has none.</p>",
        # a data block ends at the first </script>, so no < may stand in it
        model=json.dumps(data, ensure_ascii=True).replace("<", "\\u003c"),
        script=script,
    )


_MODEL = 'const model = JSON.parse(document.getElementById("model").textContent);'


def part(name: str) -> str:
    """A file of the page."""
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _filled(template: str, **parts: str) -> str:
    """The template with its {{places}} filled, each once, whatever the parts hold."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _options(labels: Sequence[str]) -> str:
    return "".join(
        f'<option value="{number}">{escaped(label)}</option>' for number, label in enumerate(labels)
    )


# Fields.


def _field(number: int, given: Mapping[str, Any]) -> str:
    """A number's field and slider, a small tensor's fields, or a word about a large one."""
    name, kind = escaped(given["name"]), given["kind"]
    label = f"{escaped(given['math'])} <small>{kind}</small>"
    if not given["shape"]:
        value = given["value"]
        reach = max(1.0, 2 * abs(value))
        return (
            f'<div class="field"><label for="given-{number}">{label}</label>'
            f'<input type="text" inputmode="decimal" id="given-{number}" data-input="{name}" '
            f'data-given="{number}" data-element="0" value="{_typed(value)}">'
            f'<input type="range" aria-label="slider of {name}" step="any" '
            f'min="{value - reach!r}" max="{value + reach!r}" value="{value!r}"></div>'
        )
    size = "×".join(map(str, given["shape"]))
    count = math.prod(given["shape"])
    if count > MOST_FIELDS or not count:
        norm = float(np.linalg.norm(given["value"]))
        first = ", ".join(f"{value:.4g}" for value in given["value"][:6])
        return (
            f'<div class="tensor"><p>{label} {size}, norm {norm:.4g}, {first}, … '
            "(too large for fields)</p></div>"
        )
    cells = "".join(
        f'<input type="text" inputmode="decimal" aria-label="{name}[{place}]" '
        f'data-input="{name}[{place}]" data-given="{number}" data-element="{element}" '
        f'value="{_typed(given["value"][element])}">'
        for element, place in enumerate(_places(given["shape"]))
    )
    columns = given["shape"][-1] if len(given["shape"]) > 1 else min(count, VECTOR_COLUMNS)
    return (
        f'<fieldset class="tensor"><legend>{label} {size}</legend>'
        f'<div class="grid" data-columns="{columns}">{cells}</div></fieldset>'
    )


def _typed(value: float) -> str:
    """A number as a person would type it, with all its digits."""
    return repr(value).removesuffix(".0")


def _places(shape: Sequence[int]) -> Iterator[str]:
    for place in np.ndindex(*shape):
        yield ",".join(map(str, place))


# What elements carry.


def _attributes(
    graph: Structure, point: Start, data: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """{id of an element: its attributes}: what it stands for, and the numbers of the start."""
    values, adjoints = _numbers(graph, point, data)
    found: dict[str, dict[str, str]] = {}
    for number, row in enumerate(graph.nodes()):
        shown, name = data["nodes"][number]["name"], graph.names[row]
        found[f"node-{number}"] = {
            "data-node": shown,
            **({"data-value": _full(values[name])} if name in values else {}),
            **({"data-adjoint": _full(adjoints[name])} if name in adjoints else {}),
            "tabindex": "-1" if number else "0",
            "role": "img",
            "aria-label": shown,
        }
    for number, edge in enumerate(data["edges"]):
        source, target = (data["nodes"][edge[end]]["name"] for end in ("source", "target"))
        found[f"edge-{number}"] = {
            "data-edge": f"{source}->{target}",
            "data-source": source,
            "data-target": target,
            "tabindex": "-1",
            "role": "img",
            "aria-label": f"{source} to {target}",
        }
    return found


def _numbers(
    graph: Structure, point: Start, data: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values and adjoints of the start, as far as they exist."""
    names = [graph.names[node] for node in graph.nodes()]
    seeds = {names[node]: seed for node, seed in data["ends"][0]["seeds"]}
    values: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = Request(graph, point.given).evaluation
        try:
            for node in graph.nodes() if not data["bare"] else ():
                values[graph.names[node]] = evaluation.value(node)
            shaped = {
                name: np.reshape(seed, evaluation.value(graph.row(name)).shape)
                if isinstance(seed, list)
                else seed
                for name, seed in seeds.items()
            }
            return values, dict(reverse(graph, shaped, point.given))
        except GraphcError:  # a value that does not exist at the start
            return {}, {}


def _full(value: Any) -> str:
    """All digits of a number or of nested lists of numbers."""
    listed = np.asarray(as_float(value), dtype=np.float64).tolist()
    return json.dumps(listed)
