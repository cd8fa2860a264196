"""Value: a handle on one row of a graph, with the operators people write formulas with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import GraphcError
from .late import LATE

if TYPE_CHECKING:
    from ..structure.rows import GraphRow
    from ..structure.structure import Structure

COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class Value:
    """One row of a graph; operators on it append rows to the same graph."""

    __slots__ = ("graph", "row")
    __hash__ = object.__hash__

    def __init__(self, graph: Structure, row: GraphRow) -> None:
        self.graph = graph
        self.row = row

    def __repr__(self) -> str:
        return f"<value {self.graph.label(self.row)}>"

    def apply(self, name: str, *operands: Any, **attributes: Any) -> Value:
        """The value of a function of the table on these operands."""
        return self.graph.apply(name, operands, attributes)

    def __neg__(self) -> Value:
        return self.graph.apply("neg", (self,), {})

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return self.graph.apply("abs", (self,), {})

    def __add__(self, other: Any) -> Value:
        return self.graph.operator("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.operator("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.operator("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.operator("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.operator("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.operator("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.operator("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.operator("div", other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Value:
        if modulus is not None:
            self._rounded()
        return self.graph.operator("pow", self, other)

    def __rpow__(self, other: Any) -> Value:
        return self.graph.operator("pow", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.composed("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Value:
        return self.graph.composed("matmul", other, self)

    def __getitem__(self, index: Any) -> Value:
        return self.graph.composed("[]", self, index)

    @property
    def T(self) -> Value:
        """The transpose."""
        return self.graph.composed("transpose", self)

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The shape; () for a scalar."""
        return self.graph.shape(self.row)

    def __lt__(self, other: Any) -> Value:
        return self.graph.operator("lt", self, other)

    def __le__(self, other: Any) -> Value:
        return self.graph.operator("le", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.graph.operator("gt", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.graph.operator("ge", self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]  # a comparison node
        return self.graph.operator("eq", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]  # a comparison node
        return self.graph.operator("ne", self, other)

    def __len__(self) -> int:
        size = self.shape[0] if self.shape else None
        if isinstance(size, int):
            return size
        if size is None:
            raise GraphcError(f"the value {self._label()} is a scalar and has no length")
        raise GraphcError(
            f"the length of {self._label()} is the size {size!r}, which is known only at a point; "
            "use x.shape[0] in formulas"
        )

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, where all sizes are numbers."""
        total = 1
        for size in self.shape:
            if isinstance(size, str):
                raise GraphcError(
                    f"the number of elements of {self._label()} is not known while the graph is "
                    f"being declared: its size {size!r} is only a name"
                )
            total *= size
        return total

    def _label(self) -> str:
        return self.graph.label(self.row)

    def _undecided(self) -> NoReturn:
        raise GraphcError(
            f"the value {self._label()} is not a number while the graph is being declared, so it "
            "cannot decide an if, a loop, a chained comparison or a conversion; use "
            "gc.where(cond, a, b), and gc.sin(x) instead of math.sin(x)"
        )

    def __bool__(self) -> bool:
        self._undecided()

    def __float__(self) -> float:
        self._undecided()

    def __int__(self) -> int:
        self._undecided()

    def __index__(self) -> int:
        self._undecided()

    def __complex__(self) -> complex:
        self._undecided()

    def _rounded(self, *others: Any) -> NoReturn:
        raise GraphcError(
            f"the value {self._label()} cannot be rounded or divided with a remainder: round, "
            "floor, // and % have no derivative; compute them outside of the graph"
        )

    __round__ = __trunc__ = __floor__ = __ceil__ = _rounded
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _rounded

    def _joined(self, *others: Any) -> NoReturn:
        raise GraphcError(
            f"the value {self._label()} cannot be used with & | ^ ~ << >>; a condition is one "
            "comparison: nest gc.where(x > 0, gc.where(x < 1, a, b), b)"
        )

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _joined
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _joined

    def _unchanged(self, *others: Any) -> NoReturn:
        raise GraphcError(
            f"elements of the value {self._label()} cannot be set or deleted; join parts with "
            "gc.concat or gc.stack, or choose with gc.where"
        )

    __setitem__ = __delitem__ = _unchanged

    def __format__(self, specification: str) -> str:
        if specification:
            self._undecided()
        return str(self)

    def __iter__(self) -> Iterator[Value]:
        if self.shape and isinstance(self.shape[0], int):
            return iter([self[i] for i in range(self.shape[0])])
        raise GraphcError(
            f"the value {self._label()} is a scalar or has no known size, so it "
            "cannot be iterated over; declare several inputs instead"
        )

    # NumPy.

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise GraphcError(
            f"NumPy cannot hold the value {self._label()} in an array: it is not a number while "
            "the graph is being declared; use gc.stack([a, b]) for an array of values, and "
            "functions of graphc instead of those that ask for an array"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """NumPy's element-wise functions on values append the function of the same meaning."""
        return LATE["numpy ufunc"](ufunc, method, inputs, settings)

    def __array_function__(self, function: Any, types: Any, arguments: Any, settings: Any) -> Any:
        """NumPy's other functions on values, by the same rule."""
        return LATE["numpy function"](function, arguments, settings)

    def __getattr__(self, name: str) -> Any:
        """The methods of arrays that have a meaning on values."""
        found = None
        if not name.startswith("_"):
            found = LATE["numpy method"](self, name)
        if found is None:
            raise NoAttribute(
                f"a value of a graph has no attribute {name!r}; use a function of graphc, as in "
                "gc.sum(x)"
            )
        return found


class NoAttribute(GraphcError, AttributeError):
    """An attribute that values do not have: hasattr says no, and a user reads a sentence."""


def is_traced(operands: tuple[Any, ...]) -> Value | None:
    """The first Value among the operands, or None."""
    return next((operand for operand in operands if isinstance(operand, Value)), None)


Attributes = Mapping[str, Any]
