"""The check under __main__: derivatives along one direction against differences of the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .array_text import ArrayText
from .naming import Naming
from .points import point_texts
from .question import Matrix

if TYPE_CHECKING:
    from .module import Task

STEP, TWICE = "1e-5", "2e-5"


def self_check(first: Task, companion: Task, text: ArrayText, naming: Naming) -> str:
    """The function `check` and its call, or a call that only shows the result."""
    if text.dtype != "float64":
        return ""
    graph, np = first.graph, text.namespace
    others = dict.fromkeys((*first.derived.tangents, *first.derived.seeds))
    plain = [row for row in first.arguments if row not in others]
    found = point_texts(graph, [first.program, companion.program], plain, list(others), np)
    if found is None:
        return ""
    at, along = found
    names = {row: naming.of(graph.names[row]) for row in [*plain, *others]}
    lines = ["def check():"]
    want = first.asked.want.name
    sources = set(first.asked.wrt)
    arguments = [row for row in plain if graph.names[row] in sources]
    if not _is_comparable(first, companion, arguments):
        lines.append('    """Prints the result at one point."""')
        ones = {names[row]: f"{np}.ones({text.shape(graph.shape(row))})" for row in others}
        lines += _point("at", {names[row]: at[row] for row in plain} | ones)
        lines.append(f'    print("{want}:", {want}(**at))')
        if first.asked.graph.partials or "stop" in first.asked.graph.ops:
            lines.append('    print("not compared with differences: the graph has its own slopes")')
    else:
        lines.append('    """Compares the derivatives along a direction with differences."""')
        lines += _point("at", {names[row]: at[row] for row in plain})
        lines += _point("along", {names[row]: along[row] for row in arguments})
        lines += [f"    {line}" for line in _comparison(first, companion, names, text)]
    lines += ["", "", 'if __name__ == "__main__":', "    check()", ""]
    return "\n".join(lines)


def _is_comparable(first: Task, companion: Task, arguments: list[int]) -> bool:
    """Whether differences of the value can tell: every `wrt` is an argument, nothing is stopped."""
    graph = first.asked.graph
    return (
        first.asked.want.compare is not None
        and (companion is not first or not first.asked.want.companion)
        and len(arguments) == len(first.asked.wrt)
        and "stop" not in graph.ops
        and not graph.partials
        and not any(isinstance(seed, str) for seed in (first.asked.weights or {}).values())
    )


def _point(name: str, values: dict[str, str]) -> list[str]:
    if not values:
        return [f"    {name} = {{}}"]
    inner = [f'        "{key}": {value},' for key, value in values.items()]
    return [f"    {name} = {{", *inner, "    }"]


@dataclass(frozen=True)
class Comparison:
    """What the lines that compare need: the task, the names of its arguments, texts of calls."""

    first: Task
    names: dict[int, str]
    np: str
    ahead: str  # the companion's call at a point a step ahead
    behind: str
    here: str

    @property
    def want(self) -> str:
        return self.first.asked.want.name

    @property
    def listed(self) -> bool:
        return self.first.asked.of_listed

    def pairs(self) -> list[tuple[str, str]]:
        """(name in wrt, argument) of each derivative."""
        return [(name, self.names[self.first.graph.row(name)]) for name in self.first.asked.wrt]

    def along(self, slopes: str) -> str:
        """Slopes by name, times the direction."""
        pairs, np = self.pairs(), self.np
        if all(name == argument for name, argument in pairs):
            return f"sum({np}.sum({slopes}[name] * along[name]) for name in along)"
        return " + ".join(f'{np}.sum({slopes}["{a}"] * along["{b}"])' for a, b in pairs)

    def dots(self) -> str:
        """The tangents as arguments: the direction."""
        graph, asked = self.first.graph, self.first.asked
        pairs = zip(self.first.derived.tangents, asked.wrt, strict=False)
        return ", ".join(
            f'{self.names[dot]}=along["{self.names[graph.row(name)]}"]' for dot, name in pairs
        )

    def measured(self, levels: int) -> list[str]:
        """Differences of results in dicts of so many levels, all of them."""
        if not levels:
            return [f"measured = ({self.ahead} - {self.behind}) / {TWICE}"]
        differences = _joined("ahead{} - behind{}", "ahead", levels, self.np)
        return [
            f"ahead, behind = {self.ahead}, {self.behind}",
            f"measured = {differences} / {TWICE}",
        ]


def _comparison(first: Task, companion: Task, names: dict[int, str], text: ArrayText) -> list[str]:
    """Code that computes `derived` and `measured`, and compares them."""
    np, asked = text.namespace, first.asked.want
    value = "[0]" * (companion is first)  # it gives the value beside the slopes
    ahead, behind, here = (
        f"{companion.asked.want.name}(**{point}){value}" for point in ("ahead", "behind", "at")
    )
    assert asked.compare is not None
    return [
        f"ahead = {{name: at[name] + {STEP} * along.get(name, 0) for name in at}}",
        f"behind = {{name: at[name] - {STEP} * along.get(name, 0) for name in at}}",
        *asked.compare(Comparison(first, names, np, ahead, behind, here)),
        f"error = {np}.max({np}.abs(derived - measured)) / (1 + {np}.max({np}.abs(measured)))",
        f'print(f"{asked.name}: derived and measured slopes differ by {{error:.1e}}")',
        "if not error < 1e-5:",
        f'    raise SystemExit("{asked.name}: derivatives and differences disagree")',
    ]


# How each want is compared.


def gradient(here: Comparison, part: str = "") -> list[str]:
    """Slopes by name."""
    inner = here.along("slopes[of]" if here.listed else "slopes")
    every = f"{here.np}.concatenate([{here.np}.ravel({inner}) for of in slopes])"
    return [
        f"slopes = {here.want}(**at){part}",
        f"derived = {every if here.listed else inner}",
        *here.measured(here.listed),
    ]


def second_part(here: Comparison) -> list[str]:
    """Slopes by name, beside the value."""
    return gradient(here, "[1]")


def pulled(here: Comparison) -> list[str]:
    """What an adjoint of ones brings."""
    first, np = here.first, here.np
    members = {
        here.names[row]: f"[{of!r}]" if here.listed else ""
        for row, of in zip(first.derived.seeds, first.asked.of, strict=True)
    }
    seeds = ", ".join(f"{bar}={np}.ones_like(here{m})" for bar, m in members.items())
    terms = " + ".join(f"{np}.sum({here.ahead}{m} - {here.behind}{m})" for m in members.values())
    return [
        f"here = {here.here}",
        f"slopes = {here.want}(**at, {seeds})[1]",
        f"derived = {here.along('slopes')}",
        f"measured = ({terms}) / {TWICE}",
    ]


def change(here: Comparison) -> list[str]:
    """The change of the value, beside it."""
    return _changes(here, "[1]", here.listed)


def change_of_slopes(here: Comparison) -> list[str]:
    """The changes of slopes by name."""
    return _changes(here, "", here.listed + 1)


def _changes(here: Comparison, part: str, levels: int) -> list[str]:
    return [
        f"changes = {here.want}(**at, {here.dots()}){part}",
        f"derived = {_joined('changes{}', 'changes', levels, here.np)}",
        *here.measured(levels),
    ]


def _joined(part: str, results: str, levels: int, np: str) -> str:
    """Results by name as one vector: `part` of each, in dicts of so many levels."""
    names = [f"name{level or ''}" for level in range(levels)]
    over = [
        f"for {name} in {results}{''.join(f'[{outer}]' for outer in names[:level])}"
        for level, name in enumerate(names)
    ]
    each = part.format(*["".join(f"[{name}]" for name in names)] * part.count("{}"))
    return f"{np}.concatenate([{np}.ravel({each}) {' '.join(over)}])" if levels else each


def matrix(here: Comparison) -> list[str]:
    """Jacobians and Hessians, times the direction."""
    first, np, pairs = here.first, here.np, here.pairs()
    second = first.asked.want.order == 2
    if not isinstance(first.results, Matrix):
        argument = pairs[0][1]
        member = f'["{pairs[0][0]}"]' if second else ""
        shape = first.graph.shape(first.graph.row(first.asked.wrt[0]))
        product = f"{np}.tensordot({here.want}(**at), along[{argument!r}], axes={len(shape)})"
        return [
            f"derived = {product if shape else f'{here.want}(**at) * along[{argument!r}]'}",
            f"measured = ({here.ahead}{member} - {here.behind}{member}) / {TWICE}",
        ]
    along = ", ".join(
        f"{np}.ravel(along[{argument!r}])"
        if first.graph.shape(first.graph.row(name))
        else f"{np}.array([along[{argument!r}]])"
        for name, argument in pairs
    )
    if second or here.listed:
        measured = here.measured(1)
    else:
        measured = [f"measured = {np}.ravel({here.ahead} - {here.behind}) / {TWICE}"]
    return [f"derived = {here.want}(**at) @ {np}.concatenate([{along}])", *measured]
