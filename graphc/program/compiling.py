"""compile and emit: from a question to text, and from text to a function."""

from __future__ import annotations

from typing import Any

from ..collecting import collection_rests
from ..structure.structure import Structure
from .compiled import Compiled
from .options import options
from .planning import files, planned, written
from .wants import question


def emit(
    graph: Structure,
    of: Any = None,
    wrt: Any = None,
    want: str = "value_and_grad",
    style: str = "readable",
    **settings: Any,
) -> str:
    """The text of a standalone module."""
    asked = question(graph, of, wrt, want)
    chosen = options(style=style, **settings)
    with collection_rests():
        one, _ = planned(asked, chosen)
        return written(one, chosen)


def emit_files(
    graph: Structure,
    path: str,
    of: Any = None,
    wrt: Any = None,
    want: str = "value_and_grad",
    style: str = "readable",
    **settings: Any,
) -> dict[str, str]:
    """{path: text} of a standalone module, and of the header beside it where there is one."""
    asked = question(graph, of, wrt, want)
    chosen = options(style=style, **settings)
    with collection_rests():
        one, _ = planned(asked, chosen)
        return files(one, chosen, path)


def compile_graph(
    graph: Structure,
    of: Any = None,
    wrt: Any = None,
    want: str = "value_and_grad",
    **settings: Any,
) -> Compiled:
    """A function that computes what was asked, with its text and its plan."""
    asked = question(graph, of, wrt, want)
    chosen = options(**settings)
    with collection_rests():
        one, plan = planned(asked, chosen)
    chosen.backend.require()
    return Compiled(one, plan, chosen, settings.get("dtype", "float64"))
