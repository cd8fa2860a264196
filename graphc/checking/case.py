"""A function and its claimed gradient at one point: what is called, compared and reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import GraphcError
from .arguments import Arguments, claims, output
from .coordinates import Coordinate
from .groups import Budget
from .many import Layout, searched
from .report import Report
from .rows import Rows
from .schemes import EPSILON
from .verdicts import CORRECT, FAILING, NOISE, Finding, Index, Row

MOST_SINGLY = 2_000  # coordinates that are measured one by one


class Case:
    """A function and its claimed gradient at one point."""

    def __init__(
        self,
        function: Callable[..., Any],
        grad: Any,
        args: Arguments,
        arrays: dict[str, Any],
        budget: Budget,
        rng: Any,
    ) -> None:
        self.function, self.grad, self.args, self.budget, self.rng = (
            *(function, grad, args, budget),
            rng,
        )
        self.notes: list[str] = []
        self.epsilon = float(np.finfo(args.dtype).eps)  # of the claims
        coarse = args.dtype if self.epsilon > EPSILON else np.dtype(float)
        self.arrays = {n: a.astype(coarse).astype(float) for n, a in arrays.items()}
        self.wide = self.epsilon > EPSILON and self._keeps_float64()
        self.measured_in = EPSILON if self.wide else self.epsilon
        first = self._first_value()
        self.shape, self.base = first.shape, first.ravel()
        self.noise = self._repeated(first)
        self.claims = self._claims()

    def _keeps_float64(self) -> bool:
        """Whether the function, given float64, computes in float64."""
        moved = {name: array * (1 + 2.0**-30) for name, array in self.arrays.items()}
        try:
            with np.errstate(all="ignore"):
                here, there = (self.args.call(self.function, p, True) for p in (self.arrays, moved))
            double = isinstance(here, float) or str(getattr(here, "dtype", "")).endswith("float64")
            return double and bool((output(here) != output(there)).any())  # no float32 inside
        except Exception:
            return False

    def _first_value(self) -> Any:
        try:
            with np.errstate(all="ignore"):
                return output(self.args.call(self.function, self.arrays, self.wide))
        except (ArithmeticError, ValueError) as error:
            if isinstance(error, GraphcError):
                raise
            self.notes.append(f"the function raised {type(error).__name__}: {error}")
            return np.array(np.nan)
        except Exception as error:
            raise GraphcError(
                f"the function raised {type(error).__name__} at the point: {error}"
            ) from error

    def _repeated(self, first: Any) -> float:
        """The noise of repeated calls at the same point; told if there is any."""
        again = [self.values({}) for _ in range(2)]
        self.budget.spend(1)
        with np.errstate(all="ignore"):
            spread = max(float(np.max(np.abs(v - first.ravel()), initial=0.0)) for v in again)
        if spread > 0 and np.isfinite(spread):
            self.notes.append(
                f"the function is not deterministic: equal calls differ by {spread:.1e}"
            )
            return spread
        return 0.0

    def _claims(self) -> dict[str, Any]:
        """{argument: (outputs, elements)} or, for element-wise functions, (elements,)."""
        grad = self.grad
        if callable(grad):
            with np.errstate(all="ignore"):
                try:
                    grad = self.args.call(grad, self.arrays, False)
                    again = claims(self.args, self.args.call(self.grad, self.arrays, False), [])
                except (ArithmeticError, ValueError) as error:
                    if isinstance(error, GraphcError):
                        raise
                    self.notes.append(f"the gradient raised {type(error).__name__}: {error}")
                    grad = {n: np.full(a.shape, np.nan) for n, a in self.arrays.items()}
                    again = {}
                except Exception as error:
                    raise GraphcError(
                        f"the gradient raised {type(error).__name__} at the point: {error}"
                    ) from error
            found = claims(self.args, grad, self.notes)
            self.spread = _spread(found, again)
            if self.spread:
                self.notes.append(
                    f"the gradient is not deterministic: equal calls differ by {self.spread:.1e}"
                )
        else:
            found, self.spread = claims(self.args, grad, self.notes), 0.0
        return {name: self._shaped(name, claim) for name, claim in found.items()}

    def _shaped(self, name: str, claim: Any) -> Any:
        shape = self.arrays[name].shape
        size = int(np.prod(shape, dtype=int))
        single = int(np.prod(self.shape, dtype=int)) == 1
        if claim.shape == (*self.shape, *shape) or (single and claim.shape == shape):
            return claim.reshape(-1, size) if size else np.zeros((len(self.base), 0))
        if claim.shape == shape == self.shape:
            return claim.ravel()  # element by element: the diagonal of the Jacobian
        if single and claim.size == size and (claim.ndim == 0 or size == 1):
            return claim.reshape(1, size)
        raise GraphcError(
            f"the gradient by {name!r} has shape {claim.shape}, but the argument has shape "
            f"{shape} and the function's value has shape {self.shape}"
        )

    def values(self, moved: Mapping[str, Any]) -> Any:
        """The function's value, flat, with some arguments replaced; NaN where it raised."""
        self.budget.spend(1)
        try:
            with np.errstate(all="ignore"):
                found = self.args.call(self.function, {**self.arrays, **moved}, self.wide)
            return output(found).ravel()
        except (ArithmeticError, ValueError):
            return np.full(len(self.base), np.nan)

    def report(self, number: int) -> Report:
        """The rows of every argument, or of a search if there are too many."""
        total = sum(claim.size for claim in self.claims.values())
        limit, used = self.budget.evaluations, self.budget.used
        many = total > MOST_SINGLY or (limit is not None and 5 * total > limit - used)
        scalar, rows = len(self.base) == 1, []
        if not (scalar and (many or self.budget.spent)):
            rows = [row for name in self.claims for row in self._singly(name)]
        if scalar and (many or self.budget.spent):  # what was not taken singly is in a direction
            rows += self._searched()
        rows = [row._replace(point=number) for row in rows]
        blame = [
            (row.name, row.index)
            for row in rows
            if row.verdict in FAILING and row.index is not None
        ]
        shown = {name: array.tolist() for name, array in self.arrays.items() if array.size <= 100}
        return Report(
            Rows(rows),
            [],
            blame,
            self.notes,
            points=[shown],
            evaluations=self.budget.used - used,
            curve=self._curve,
        )

    # One coordinate at a time.

    def _singly(self, name: str) -> list[Row]:
        rows: list[Row] = []
        claim, array = self.claims[name], self.arrays[name]
        diagonal = claim.ndim == 1
        for place in range(array.size):
            if self.budget.spent:
                told = f"the budget ended at {name}[{place}]: the rest was not checked"
                self.notes.append(told)
                if len(self.base) > 1:
                    rows.append(Row(name, None, np.nan, np.nan, NOISE, told, "f"))
                break
            outputs = [place] if diagonal else list(range(len(self.base)))
            column = claim[place : place + 1] if diagonal else claim[:, place]
            coordinate = Coordinate(self, name, place)
            found = coordinate.judged(outputs, column)
            for output_place, mine, one in zip(outputs, column, found, strict=True):
                index = _index(place, array.shape)
                if not diagonal and len(self.base) > 1:
                    index = (*_index(output_place, self.shape), *index)
                rows.append(self._row(name, index, float(mine), one))
            if diagonal:
                rows += self._beside(coordinate)
        return rows

    def _beside(self, coordinate: Coordinate) -> list[Row]:
        """What a claim for the diagonal of a Jacobian left out: the worst entry of a column."""
        name, place = coordinate.name, coordinate.place
        with np.errstate(all="ignore"):
            moved = np.abs(coordinate.values(coordinate.steps()) - self.base).max(axis=0)
        moved[place] = 0.0
        moved[~np.isfinite(moved)] = 0.0
        if not moved.any():
            return []
        other = int(moved.argmax())
        (found,) = coordinate.judged([other], np.zeros(1))
        if found.verdict == CORRECT:
            return []
        told = (
            f"{found.evidence}; the claim has the shape of the value, which is the diagonal of a "
            f"Jacobian: give all of it, of shape {(*self.shape, *self.arrays[name].shape)}"
        )
        index = (*_index(other, self.shape), *_index(place, self.arrays[name].shape))
        return [self._row(name, index, 0.0, found._replace(evidence=told))]

    def _searched(self) -> list[Row]:
        """Directions and groups, where there are too many coordinates to take them singly."""
        layout = Layout({name: self.arrays[name] for name in self.claims})

        def value(offsets: dict[str, Any]) -> float:
            self.budget.used -= 1  # the search counts itself
            return float(self.values({n: self.arrays[n] + part for n, part in offsets.items()})[0])

        rows, covered = searched(
            *(layout, self.claims, value, self._single, self.budget),
            of="f",
            rng=self.rng,
            noise=self.noise,
            epsilon=self.measured_in,
            rounding=self.epsilon,
        )
        self.notes.append(covered)
        return rows

    def _single(self, name: str, place: int) -> Row:
        """The row of one coordinate of a function with one value."""
        array = self.arrays[name]
        column = self.claims[name][:, place]
        (found,) = Coordinate(self, name, place).judged([0], column)
        return self._row(name, _index(place, array.shape), float(column[0]), found)

    def _row(self, name: str, index: tuple[int, ...], mine: float, found: Finding) -> Row:
        return Row(
            *(name, Index(index), mine, float(found.measured), found.verdict, found.evidence),
            *("f", name if found.kink else ""),
            bound=found.bound,
        )

    def _curve(self, row: Row) -> list[tuple[float, float]]:
        """[(step, error)] of central differences for one derivative."""
        array = self.arrays[row.name]
        index = tuple(row.index or ())[-array.ndim :] if array.ndim else ()
        place = int(np.ravel_multi_index(index, array.shape)) if index else 0
        coordinate = Coordinate(self, row.name, place)
        steps = coordinate.scale * 10.0 ** np.arange(-15, 0, 0.25)
        with np.errstate(all="ignore"):
            slopes = (coordinate.values(steps) - coordinate.values(-steps))[:, 0] / (2 * steps)
        return [
            (float(h), abs(float(s) - row.measured))
            for h, s in zip(steps, slopes, strict=True)
            if np.isfinite(s)
        ]


def _index(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(place, shape)) if shape else ()


def _spread(first: Mapping[str, Any], again: Mapping[str, Any]) -> float:
    with np.errstate(all="ignore"):
        gaps = [
            float(np.max(np.abs(first[n] - again[n]), initial=0.0)) for n in first if n in again
        ]
    return max((gap for gap in gaps if np.isfinite(gap)), default=0.0)
