"""Value: a handle on one row of a graph, with the operators people write formulas with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import GraphcError

if TYPE_CHECKING:
    from .structure import Structure

COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class Value:
    """One row of a graph; operators on it append rows to the same graph."""

    __slots__ = ("graph", "row")
    __hash__ = object.__hash__

    def __init__(self, graph: Structure, row: int) -> None:
        self.graph = graph
        self.row = row

    def __repr__(self) -> str:
        return f"<value {self.graph.label(self.row)}>"

    def apply(self, name: str, *operands: Any, **attributes: Any) -> Value:
        """The value of a function of the table on these operands."""
        return self.graph.apply(name, operands, attributes)

    def __neg__(self) -> Value:
        return self.apply("neg", self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return self.apply("abs", self)

    def __add__(self, other: Any) -> Value:
        return self.apply("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.apply("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.apply("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.apply("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.apply("div", other, self)

    def __pow__(self, other: Any) -> Value:
        return self.apply("pow", self, other)

    def __rpow__(self, other: Any) -> Value:
        return self.apply("pow", other, self)

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
        return self.apply("lt", self, other)

    def __le__(self, other: Any) -> Value:
        return self.apply("le", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.apply("gt", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.apply("ge", self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]  # a comparison node
        return self.apply("eq", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]  # a comparison node
        return self.apply("ne", self, other)

    def _undecided(self) -> NoReturn:
        raise GraphcError(
            f"the value {self.graph.label(self.row)} is not a number while the graph is being "
            "declared, so it cannot decide an if, a loop or a conversion; use gc.where(cond, a, b)"
        )

    def __bool__(self) -> bool:
        self._undecided()

    def __float__(self) -> float:
        self._undecided()

    def __int__(self) -> int:
        self._undecided()

    def __index__(self) -> int:
        self._undecided()

    def __iter__(self) -> Iterator[Value]:
        if self.shape and isinstance(self.shape[0], int):
            return iter([self[i] for i in range(self.shape[0])])
        raise GraphcError(
            f"the value {self.graph.label(self.row)} is a scalar or has no known size, so it "
            "cannot be iterated over; declare several inputs instead"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's element-wise functions on values append the function of the same meaning."""
        name = self.graph.function_of_ufunc(ufunc.__name__)
        if name is None or method != "__call__" or kwargs:
            raise GraphcError(
                f"NumPy's {ufunc.__name__}"
                f"{'' if method == '__call__' else '.' + method} cannot be traced; "
                "use the function of the same meaning in graphc (gc.sin, gc.exp, ...)"
            )
        return self.graph.apply(name, inputs, {})


def is_traced(operands: tuple[Any, ...]) -> Value | None:
    """The first Value among the operands, or None."""
    return next((operand for operand in operands if isinstance(operand, Value)), None)


Attributes = Mapping[str, Any]
