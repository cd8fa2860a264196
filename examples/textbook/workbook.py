"""The workbook: an item is a generator of its graphs, its answers and remarks on the book."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import graphc as gc

HERE = Path(__file__).parent
BOOKS = {
    "aggarwal": "Aggarwal, Neural Networks and Deep Learning, 2nd edition",
    "gbc": "Goodfellow, Bengio and Courville, Deep Learning",
    "matang": "Ma and Tang, Deep Learning on Graphs",
    "prince": "Prince, Understanding Deep Learning",
    "geiger": "Geiger, Deep Learning, lecture notes",
}  # in the order of the catalogue

Item = Callable[[], Iterator[Any]]
ITEMS: dict[str, Item] = {}  # filled by the chapters


@dataclass(frozen=True)
class Erratum:
    """A place where a book is wrong: what is printed, and what it should be."""

    where: str
    printed: Any
    right: Any


@dataclass
class Solution:
    """What solving an item gave."""

    graphs: list[gc.Graph] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    errata: list[Erratum] = field(default_factory=list)


def exercise(identifier: str) -> Callable[[Item], Item]:
    """A decorator that enters the item of this identifier into the workbook."""

    def enter(item: Item) -> Item:
        if identifier in ITEMS:
            raise ValueError(f"{identifier} is solved twice")
        ITEMS[identifier] = item
        return item

    return enter


def pick(results: Mapping[str, Any], names: str) -> list[Any]:
    """The results of these nodes, in this order."""
    return [results[name] for name in names.split()]


def iterate(step: gc.Graph, steps: int, **start: Any) -> list[dict[str, Any]]:
    """The points after each step of a graph whose node `x_next` is the next value of `x`."""
    state = [name for name in step if f"{name}_next" in step]
    points = [start]
    for _ in range(steps):
        values = step.values(points[-1])
        points.append({**start, **{name: values[f"{name}_next"] for name in state}})
    return points[1:]


def newton(g: gc.Graph, of: str, wrt: str, at: Mapping[str, Any]) -> Any:
    """Where one Newton step on `of` leads from the vector `wrt`."""
    slope, curvature = g.derivative(of, wrt, at), g.hessian(of, wrt, at)
    return g.values(at)[wrt] - gc.solve(curvature, slope)


def verdict(words: str, fact: Any) -> str:
    """The words, if the computed fact bears them out."""
    if not fact:
        raise AssertionError(f"nothing computed says {words!r}")
    return words


def catalogue() -> dict[str, dict[str, Any]]:
    """Every item with its questions, by identifier, in the order of the books."""
    items = json.loads((HERE / "catalogue.json").read_text(encoding="utf-8"))
    return {item["id"]: item for item in items}


def load() -> dict[str, Item]:
    """Every solved item, in the order of the catalogue."""
    for book in BOOKS:
        for chapter in sorted((HERE / book).glob("*.py")):
            import_module(f"{book}.{chapter.stem}")
    return {identifier: ITEMS[identifier] for identifier in catalogue() if identifier in ITEMS}


def solve(item: Item) -> Solution:
    """The graphs, answers and errata of an item."""
    solution = Solution()
    for part in item():
        if isinstance(part, gc.Graph):
            solution.graphs.append(part)
        elif isinstance(part, Erratum):
            solution.errata.append(part)
        else:
            solution.answers.append(nested(part))
    return solution


def nested(answer: Any) -> Any:
    """An answer as nested lists of numbers: arrays and matrices become lists of rows."""
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    return [nested(part) for part in answer] if isinstance(answer, (list, tuple)) else answer


def number(answer: Any) -> Any:
    """An answer as JSON has it: whole numbers as such, other numbers as floats, words as words."""
    if isinstance(answer, list):
        return [number(part) for part in answer]
    if isinstance(answer, str):
        return answer
    if isinstance(answer, float):
        return float(answer)
    try:
        exact = Fraction(str(answer))
    except ValueError:
        return float(answer)  # an exact irrational number
    return exact.numerator if exact.denominator == 1 else float(exact)


def exact(answer: Any) -> Any:
    """An answer as JSON has it, with every exact number as the text of its formula."""
    if isinstance(answer, list):
        return [exact(part) for part in answer]
    return answer if isinstance(answer, (str, int, float)) else str(answer)


def written(answer: Any) -> str:
    """An answer for reading: exact where it is exact, with its decimals."""
    if isinstance(answer, list):
        return "[" + ", ".join(written(part) for part in answer) + "]"
    text = str(answer)
    if isinstance(answer, (str, int)) or text.lstrip("-").isdigit():
        return text
    decimal = f"{float(answer):.12g}"
    symbols = set(text) - set("0123456789.+-e")
    return f"{text} = {decimal}" if symbols and len(text) <= 60 else decimal
