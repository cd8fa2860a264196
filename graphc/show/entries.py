"""Entries: the numbers that a student wrote, and how exactly they are meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.exact import as_float
from ..errors import GraphcError
from ..read.expressions import constant
from ..structure.rows import GraphRow

RELATIVE = 1e-9  # numbers closer than this are the same
ZERO = 1e-12  # as good as 0, where the truth is 0
USUAL = 4  # so many numbers with the same digits make a habit
MANY_DIGITS = 12  # a float with more digits was computed, not rounded by hand
_DECIMAL = re.compile(r"[-+]?(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?\Z")
Tables = dict[str, dict[GraphRow, "Entry"]]


@dataclass(frozen=True)
class Entry:
    """A number or array that a student gave, and what rounding may have taken from it.

    Python drops zeros at the end: a float 0.5 among numbers of six digits may mean 0.500000.
    """

    value: Any
    unit: Any  # one unit of the last digit given; 0 for an exact number
    fine: Any  # the same, if it has as many digits as the others

    def matches(self, truth: Any, other: Any = None, fine: bool = False) -> bool:
        """Whether it is the truth (or lies between the truth and the other), rounded or cut."""
        truth = np.asarray(truth, dtype=float)
        if np.shape(self.value) != truth.shape:
            return False
        unit = self.fine if fine else self.unit
        ends = [truth, truth if other is None else np.asarray(other, dtype=float)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        same = RELATIVE * np.maximum(np.abs(truth), np.abs(self.value)) + ZERO * (truth == 0)
        slack = same + unit * (0.5 + RELATIVE)
        cut = same + unit * (1 - RELATIVE)  # digits may be cut off towards 0
        inside = (self.value >= low - slack) & (self.value <= high + slack)
        below = (np.abs(self.value) <= np.abs(truth)) & (np.abs(self.value - truth) <= cut)
        return bool(np.all(inside | (below & (unit > 0))))


def read(value: Any, what: str) -> Entry:
    """What a student wrote; units that depend on the other entries are NaN until settled."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        parts = [read(part, what) for part in value]
        if len({np.shape(part.value) for part in parts}) > 1:
            raise GraphcError(f"{what}: the rows have different lengths")
        columns = zip(*((part.value, part.unit, part.fine) for part in parts), strict=True)
        return Entry(*(np.array(column, dtype=float) for column in columns))
    if isinstance(value, bool) or value is None:
        raise GraphcError(f"{what}: {value!r} is not a number")
    if isinstance(value, str):
        text = value.strip().replace("−", "-")
        decimal = _DECIMAL.match(text)
        if decimal is not None and (decimal[1] or decimal[2]):
            return _entry(float(text), _unit(decimal), _unit(decimal))
        return _entry(float(as_float(constant(text, what))), 0, 0)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise GraphcError(f"{what}: {type(value).__name__} is not a number") from None
    decimal = _DECIMAL.match(repr(number))
    if not isinstance(value, float) or decimal is None:
        return _entry(number, 0, 0)
    if number.is_integer():
        return _entry(number, np.nan, np.nan)
    digits = repr(number).partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits) > MANY_DIGITS:
        return _entry(number, 0, 0)
    return _entry(number, _unit(decimal), np.nan)


def _entry(value: float, unit: float, fine: float) -> Entry:
    return Entry(np.float64(value), np.float64(unit), np.float64(fine))


def _unit(decimal: re.Match[str]) -> float:
    """One unit of the last digit; 0 for a whole number."""
    if decimal[2] is None and decimal[3] is None:
        return 0.0
    return float(10.0 ** (int(decimal[3] or 0) - len(decimal[2] or "")))


def settled(tables: Tables) -> Tables:
    """The entries, their floats judged by the habit of the whole table.

    1.0 among numbers of six digits may be 0.999997; 0.5 among many of them is 0.500000.
    """
    found = [entry for table in tables.values() for entry in table.values()]
    if not found:
        return tables
    units = np.concatenate([np.ravel(entry.unit) for entry in found])
    values = np.abs(np.concatenate([np.ravel(entry.value) for entry in found]))
    rounded = (units > 0) & (values > 0)
    counts = _digits(values[rounded], units[rounded])
    most = max(counts.max(initial=0), 2)  # 1.0 has two
    smallest = units[rounded].min(initial=np.inf)
    usual = np.count_nonzero(counts >= most - 1) >= USUAL

    def settle(entry: Entry) -> Entry:
        value = np.asarray(entry.value)
        unit = np.where(value == 0, smallest, 10.0 ** (_size(value) - most + 1))
        unit = unit if rounded.any() else np.zeros(value.shape)
        own = np.where(np.isnan(entry.unit), unit, entry.unit)
        fine = np.where(np.isnan(entry.fine), np.minimum(unit, own), entry.fine)
        short = (
            np.isnan(entry.fine) & usual & (_digits(value, np.where(own > 0, own, 1)) <= most / 2)
        )
        return Entry(entry.value, np.where(short, np.maximum(fine, smallest), own), fine)

    return {
        name: {row: settle(entry) for row, entry in table.items()} for name, table in tables.items()
    }


def _size(value: Any) -> Any:
    """The place of the first digit: 0 for 5.3, -1 for 0.53."""
    return np.floor(np.log10(np.maximum(np.abs(value), 1e-300)))


def _digits(value: Any, unit: Any) -> Any:
    """The number of significant digits."""
    return _size(value) - np.round(np.log10(unit)) + 1
