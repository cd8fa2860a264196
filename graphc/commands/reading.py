"""Reading what the user gave on the command line: graph files, points, names."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import GraphcError, visible
from ..graphs import LARGEST_FILE, Graph, load, parse
from ..structure.reach import upstream
from ..structure.rows import GraphRow
from ..structure.structure import Structure

LARGEST_POINT = 16 << 20


def read_graph(file: str) -> Graph:
    """The graph in a file; - is standard input."""
    if file != "-":
        return load(file)
    if sys.stdin is None:
        raise GraphcError("standard input is closed; give a file")
    data = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise GraphcError(f"standard input is over {LARGEST_FILE >> 20} MB; split the graph")
    try:
        return parse(data.decode(), "stdin")
    except UnicodeDecodeError:
        raise GraphcError("standard input is not text in UTF-8") from None
    except GraphcError as error:
        raise GraphcError(f"standard input, {error}") from None


def given_complete(graph: Structure, rows: Iterable[GraphRow]) -> bool:
    """Whether the file gives every value that these nodes need."""
    leaves = set(graph.leaves()) & upstream(graph, rows)
    return bool(graph.given) and leaves <= set(graph.given)


def takes_point(command: argparse.ArgumentParser, symbolic: bool = False) -> None:
    """Adds --at, and --symbolic for what can do without numbers."""
    command.add_argument(
        "--at",
        metavar="POINT",
        action="append",
        help="y1=1/2,y2=3/5 or a JSON file {name: number}; may be repeated",
    )
    if symbolic:
        command.add_argument(
            "--symbolic", action="store_true", help="symbols, even if values are given"
        )


def point(texts: Sequence[str]) -> dict[str, str]:
    """{name: exact text} of every --at, the later ones winning."""
    found: dict[str, str] = {}
    for text in texts:
        found.update(_point(text))
    return found


def _point(text: str) -> dict[str, str]:
    """{name: exact text} from y1=1/2,y2=3/5 or from a JSON file."""
    if "=" in text and not Path(text).is_file():
        pairs = assignments(text, "--at")
        for name, value in pairs.items():
            if value is None:
                raise GraphcError(f"--at: {visible(name)} has no value; write {name}=1/2")
        return {name: str(value) for name, value in pairs.items()}
    return _point_file(text)


def _point_file(file: str) -> dict[str, str]:
    shown = visible(file)
    try:
        if Path(file).stat().st_size > LARGEST_POINT:
            raise GraphcError(f"--at: {shown} is over {LARGEST_POINT >> 20} MB")
        text = Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise GraphcError(f"--at: {shown} is not a text file in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise GraphcError(
            f"--at: cannot read {shown}: {reason}; give name=value,... or a JSON file"
        ) from None
    try:
        # numbers stay text, so that 0.3 is 3/10
        data = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_once
        )
    except GraphcError as error:
        raise GraphcError(f"--at: {shown}: {error}") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "it nests too deep"
        raise GraphcError(f"--at: {shown} is not JSON: {reason}") from None
    if not isinstance(data, dict):
        raise GraphcError(f'--at: {shown} must hold an object such as {{"x": 0.5, "w": "1/3"}}')
    for name, value in data.items():
        if not isinstance(value, str) or value in ("NaN", "Infinity", "-Infinity"):
            raise GraphcError(
                f"--at: the value of {visible(name)} in {shown} is {visible(json.dumps(value))}; "
                'give a finite number, or exact text such as "1/3"'
            )
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise GraphcError(f"{visible(twice)} is given twice; keep one")
    return dict(pairs)


def names(text: str) -> list[str]:
    """Names separated by commas."""
    found = [part.strip() for part in _split(text)]
    if not all(found):
        raise GraphcError(f"{visible(text)} has an empty name; write names such as y1,y2")
    return found


def assignments(text: str, option: str) -> dict[str, str | None]:
    """{name: text after =, or None} of parts separated by commas."""
    found: dict[str, str | None] = {}
    for part in names(text):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name in found:
            raise GraphcError(f"{option}: {visible(name)} is given twice; keep one")
        if equals and not value:
            raise GraphcError(f"{option}: {visible(name)} has no value; write {name}=1/2")
        found[name] = value if equals else None
    return found


def _split(text: str) -> list[str]:
    """The parts between commas, except commas within brackets, as in h[2,1]."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
