"""Every engine that runs compiled code, for tests that compare them."""

from __future__ import annotations

from typing import Any

import pytest

import graphc as gc
from graphc.program.backends.native.tape import taped
from graphc.program.compiled import Compiled
from graphc.program.options import options
from graphc.program.wants import question

Engine = dict[str, Any]  # options of compile
ENGINES: dict[str, Engine] = {
    "readable": {"style": "readable"},
    "numpy": {"style": "fast", "backend": "numpy"},
    "native": {"style": "fast"},
}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def on_tape(graph: gc.Graph, of: str, wrt: Any, want: str = "value_and_grad") -> Compiled | None:
    """A graph of any size on the tape, which large ones run on; None if it cannot run there."""
    chosen = options()
    found = taped(question(graph, of, wrt, want), chosen)
    return None if found is None else Compiled(*found, chosen, chosen.dtype)
