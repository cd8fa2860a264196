"""Back ends: a folder for each, in which one record says everything, and the registry of them.

A Backend comes in by `register`; compile and emit look it up by its name.
"""

from __future__ import annotations

from ...errors import GraphcError
from ..backend import Backend
from .c import C
from .cupy import CUPY
from .javascript import JAVASCRIPT
from .native import AUTO
from .numpy import NUMPY

BACKENDS: dict[str, Backend] = {one.name: one for one in (AUTO, NUMPY, CUPY, C, JAVASCRIPT)}


def register(backend: Backend) -> None:
    """Makes a back end known to compile and emit."""
    if backend.name in BACKENDS:
        raise GraphcError(f"there is a back end {backend.name!r} already; choose another name")
    BACKENDS[backend.name] = backend


def offered() -> list[str]:
    """The names that compile and emit take: back ends that write modules."""
    return [name for name, backend in BACKENDS.items() if backend.module is not None]
