"""An array library with NumPy's functions: what a module's text has to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..table.functions import Function
from ..table.tensors import Operation


@dataclass(frozen=True)
class Library:
    """An array library, as a module's text calls it."""

    name: str  # under which records keep their functions and their code for it
    package: str
    namespace: str  # what the package is called in the text
    like: str | None = None  # another one whose functions it has, too
    lacks: Mapping[str, str] = field(default_factory=dict)  # functions of NumPy -> definitions
    vector: bool = False  # whether it has the functions of native/vector_maths.h, by our names
    beside: tuple[str, ...] = ()  # packages whose functions are imported by their names

    @property
    def packages(self) -> frozenset[str]:
        """What a module's text may import because of the library."""
        return frozenset((self.package, *self.beside))

    def native(self, record: Function) -> str | None:
        """The library's function for a record, or None."""
        if self.vector and record.vector and len(record.parameters) == 1:
            return record.name
        own = record.native.get(self.name)
        return record.native.get(self.like) if own is None and self.like else own

    def has(self, record: Function | Operation) -> bool:
        """Whether the text calls a function, by the library's name or a user's code for it."""
        if isinstance(record, Operation):
            return self.name in record.native or self.like in record.native
        theirs = self.name in record.code and record.origin != "graphc"
        return theirs or self.native(record) is not None
