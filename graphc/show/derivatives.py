"""Derivatives of a graph, as `graphc derive` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..derive import modes as derive
from ..derive.pairs import all_pairs
from ..derive.pathwise import pathwise
from ..errors import GraphcError, listing
from ..structure.reach import origins
from ..structure.structure import Structure
from ..table.letters import name_latex
from ..write import latex
from ..write.numbers import value_text
from ..write.tables import Block, Table
from .notation import TEXT, Notation

MODES = ("auto", "reverse", "forward", "paths", "all-pairs")
SUFFIXES = {"reverse": "bar", "forward": "dot"}  # adjoints and tangents in the form of steps
NO_PATH = "0 (no path)"
READABLE = 200  # characters; a longer exact number is printed as 30 digits


@dataclass(frozen=True)
class Question:
    """What was asked: which derivatives, where, and how they are to be found."""

    graph: Structure
    of: Sequence[str] = ()  # each on its own; none: the outputs
    seeds: Mapping[str, str] | None = None  # instead of `of`: the derivative of a weighted sum
    wrt: Sequence[str] = ()  # none: every node with a path
    at: Mapping[str, str] | None = None  # None: symbols
    mode: str = "auto"
    form: str = "nodes"
    limit: int = 10_000

    def targets(self) -> list[str]:
        """The nodes to be derived."""
        names = self.graph.names
        if self.seeds is not None:
            return [names[self.graph.row(name)] for name in self.seeds]
        rows = [self.graph.row(name) for name in self.of] or self.graph.outputs()
        return [names[row] for row in rows]

    def sources(self) -> list[str]:
        """The nodes asked for with wrt."""
        return [self.graph.names[self.graph.row(name)] for name in self.wrt]


@dataclass(frozen=True)
class Answer:
    """One derivative; `terms` are (path, product), if paths were asked for."""

    of: str
    wrt: str
    value: Any
    reached: bool = True
    terms: tuple[tuple[tuple[str, ...], Any], ...] = ()


def answers(question: Question) -> list[Answer]:
    """The derivatives that were asked for, in the order in which they are found."""
    mode = "reverse" if question.mode == "auto" else question.mode
    _check(question, mode)
    if mode == "all-pairs":
        return _all_pairs(question)
    if question.seeds is not None:
        return _reverse(question, question.seeds, weighted_sum(question.seeds))
    if mode == "forward" and question.form == "steps":
        return [answer for name in _leaves(question) for answer in _tangents(question, name)]
    if mode == "reverse":
        return [a for name in question.targets() for a in _reverse(question, name, name)]
    return [
        _pair(question, target, source, mode)
        for target in question.targets()
        for source in question.sources() or reaching(question.graph, target)
    ]


def _check(question: Question, mode: str) -> None:
    if not question.targets():
        raise GraphcError("the graph computes nothing that could be derived; add a formula")
    if question.seeds is not None and mode != "reverse":
        raise GraphcError("seeds such as --of o=5 belong to --mode reverse; leave --mode out")
    if question.form == "steps" and mode not in SUFFIXES:
        raise GraphcError("--form steps belongs to --mode reverse or --mode forward; choose one")
    if question.form != "nodes" and mode == "all-pairs":
        raise GraphcError("--mode all-pairs writes results in node names only; leave --form out")


def _reverse(question: Question, of: Any, label: str) -> list[Answer]:
    found = derive.reverse(question.graph, of, question.at, question.form)
    names = question.sources() or list(found)
    return [Answer(label, name, found.get(name, 0), name in found) for name in names]


def _tangents(question: Question, wrt: str) -> list[Answer]:
    found = derive.forward(question.graph, wrt, question.at, question.form)
    wanted = [row for name in question.of for row in [question.graph.row(name)]]
    names = [question.graph.names[row] for row in wanted] or list(found)
    return [Answer(name, wrt, found.get(name, 0), name in found) for name in names]


def _leaves(question: Question) -> list[str]:
    graph = question.graph
    return question.sources() or [graph.names[row] for row in graph.leaves()]


def _pair(question: Question, of: str, wrt: str, mode: str) -> Answer:
    graph, at = question.graph, question.at
    reached = wrt in reaching(graph, of)
    if mode == "forward":
        return Answer(of, wrt, derive.derivative(graph, of, wrt, at, mode, question.form), reached)
    found = pathwise(graph, of, wrt, at, question.limit, question.form)
    return Answer(of, wrt, found.value, reached, tuple((t.path, t.product) for t in found.terms))


def _all_pairs(question: Question) -> list[Answer]:
    pairs = all_pairs(question.graph, question.at)
    targets = set(question.targets()) if question.of else {target for _, target in pairs}
    sources = question.sources()
    if sources and question.of:
        keys = [(source, target) for target in question.targets() for source in sources]
    else:
        keys = [(s, t) for s, t in pairs if t in targets and (not sources or s in sources)]
    return [Answer(t, s, pairs.get((s, t), 0), (s, t) in pairs) for s, t in keys]


def reaching(graph: Structure, target: str) -> list[str]:
    """The nodes with a path to the target, from the target backwards."""
    found = origins(graph, graph.row(target))
    return [graph.names[node] for node in sorted(found, reverse=True)]


def weighted_sum(seeds: Mapping[str, str]) -> str:
    """The seeds as the sum whose derivative is taken."""
    factors = ((seed if seed.isalnum() else f"({seed})", name) for name, seed in seeds.items())
    return f"({' + '.join(f'{factor}*{name}' for factor, name in factors)})"


# Pages.


def derivatives_page(
    question: Question, found: Iterable[Answer], notation: Notation = TEXT
) -> list[Block]:
    """One table for each node that was derived, or for each pair if paths were asked for."""
    page: list[Block] = []
    if question.at is not None:
        where = listing(f"{name} = {value}" for name, value in point(question).items())
        page.append(f"At {notation.code(where)}")
    forward = question.form == "steps" and question.mode == "forward"
    if question.mode == "paths":
        page += [_path_table(question, answer, notation) for answer in found]
    elif question.mode == "all-pairs":
        rows = [
            (notation.path(a.wrt, a.of), *_cells(question, a.value, a.reached, notation))
            for a in found
        ]
        title = notation.code("d j / d i")
        page.append(Table(title, ("i -> j", *_columns(question)), rows))
    else:
        for label, group in groupby(found, key=lambda a: a.wrt if forward else a.of):
            rows = [
                (
                    _left(question, answer.of if forward else answer.wrt, notation),
                    *_cells(question, answer.value, answer.reached, notation),
                )
                for answer in group
            ]
            title = f"d node / d {label}" if forward else f"d {label} / d node"
            if question.form == "steps":
                title = f"{title} is written node_{_suffix(question)}"
            page.append(Table(notation.code(title), ("node", *_columns(question)), rows))
    return page


def _left(question: Question, name: str, notation: Notation) -> str:
    if question.form != "steps":
        return notation.names([name])
    return notation.names([f"{name}_{_suffix(question)}"])


def _suffix(question: Question) -> str:
    return SUFFIXES.get(question.mode, "bar")


def _columns(question: Question) -> tuple[str, ...]:
    return ("derivative",) if question.at is None else ("derivative", "decimal")


def _cells(question: Question, value: Any, reached: bool, notation: Notation) -> tuple[str, ...]:
    shown = readable(question, value)
    if getattr(shown, "ndim", 0):
        shown = value_text(shown)  # on one line
    exact = notation.math(notation.expression(shown)) if reached else NO_PATH
    return (exact,) if question.at is None else (exact, decimal(value))


def _path_table(question: Question, answer: Answer, notation: Notation) -> Table:
    count = len(answer.terms)
    paths = f"over {count} path{'s' * (count != 1)}" if count else "there is no path"
    rows = [
        (notation.path(*path), *_cells(question, product, True, notation))
        for path, product in answer.terms
    ]
    rows.append(("sum", *_cells(question, answer.value, answer.reached, notation)))
    title = f"d {answer.of} / d {answer.wrt}, {paths}"
    return Table(notation.code(title), ("path", "product", *_columns(question)[1:]), rows)


def derivatives_latex(question: Question, found: Iterable[Answer]) -> str:
    """The derivatives as equations, each followed by its paths if they were asked for."""
    pairs = []
    for answer in found:
        if question.form == "steps" or question.seeds is not None:  # an adjoint, or a tangent
            name = answer.of if question.mode == "forward" else answer.wrt
            left = name_latex(f"{name}_{_suffix(question)}")
        else:
            left = latex.fraction("d", answer.of, answer.wrt).text
        no_path = "" if answer.reached else r" \quad \text{(no path)}"
        pairs.append((left, _result(question, answer.value) + no_path))
        arrow = r" \to "
        pairs += [
            (rf"\text{{along }} {arrow.join(map(name_latex, path))}", _result(question, z))
            for path, z in answer.terms
        ]
    return latex.equations(pairs) + "\n"


def _result(question: Question, value: Any) -> str:
    exact = latex.expression_latex(readable(question, value))
    short = decimal(value) if question.at is not None else ""
    return exact if short in ("", exact) else rf"{exact} \approx {short}"


def readable(question: Question, value: Any) -> Any:
    """The exact number if it is short enough to be read, else its digits."""
    long = question.at is not None and len(str(value)) > READABLE
    return value.evalf(30) if long and hasattr(value, "evalf") else value


def derivatives_data(question: Question, found: Iterable[Answer]) -> dict[str, Any]:
    """The derivatives as plain data, for JSON."""
    return {
        "graph": question.graph.name,
        "mode": "reverse" if question.mode == "auto" else question.mode,
        "form": question.form if question.at is None else None,
        "seeds": question.seeds,
        "at": None if question.at is None else point(question),
        "derivatives": [
            {
                "of": answer.of,
                "wrt": answer.wrt,
                **number(answer.value),
                "path": answer.reached,
                **(
                    {"terms": [{"path": list(path), **number(z)} for path, z in answer.terms]}
                    if question.mode == "paths"
                    else {}
                ),
            }
            for answer in found
        ],
    }


def point(question: Question) -> dict[str, str]:
    """The values that were used, given ones included."""
    graph = question.graph
    given = {graph.names[row]: value_text(value) for row, value in graph.given.items()}
    return {**given, **{graph.names[graph.row(n)]: v for n, v in (question.at or {}).items()}}


def number(value: Any) -> dict[str, Any]:
    """A result as exact text and as a float; the float is None for symbols."""
    return {"value": str(value), "float": as_float(value)}


def as_float(value: Any) -> float | None:
    """The nearest float; None for symbols and for what no float can hold."""
    if getattr(value, "free_symbols", None) or getattr(value, "shape", ()):
        return None
    try:
        return float(value)
    except (OverflowError, TypeError):
        return None


def decimal(value: Any, digits: int = 12) -> str:
    """The leading digits of a number; empty for symbols."""
    nearest = as_float(value)
    return "" if nearest is None else f"{nearest:.{digits}g}"
