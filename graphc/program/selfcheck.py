"""The check under __main__: derivatives along one direction against differences of the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..structure.rows import GraphRow
from .array_text import ArrayText
from .naming import Naming
from .points import find_point
from .question import Matrix
from .sparse import Sparse

if TYPE_CHECKING:
    from .module import Task

STEP = "1e-5"
WIDER = ("2e-5", "3e-5")  # steps whose slopes tell how good those of STEP are
AGREE = "1e-5"  # of a slope, beside ten times what is not known of it
ROUNDING = "1e-10"  # what a value loses to rounding, over STEP


def self_check(first: Task, companion: Task, text: ArrayText, naming: Naming) -> str:
    """The function `check` and its call, or a call that only shows the result."""
    if text.dtype != "float64":
        return ""
    graph, np = first.graph, text.namespace
    others = dict.fromkeys((*first.derived.tangents, *first.derived.seeds))
    plain = [row for row in first.arguments if row not in others]
    point = find_point(graph, [first.program, companion.program], plain, list(others))
    if point is None:
        return ""
    at = {row: part.text.replace("np.", f"{np}.") for row, part in point.at.items()}
    along = {row: part.text.replace("np.", f"{np}.") for row, part in point.along.items()}
    names = {row: naming.of(graph.names[row]) for row in [*plain, *others]}
    lines = ["def check():"]
    want = first.asked.want.name
    sources = set(first.asked.wrt)
    arguments = [row for row in plain if graph.names[row] in sources]
    if not is_comparable(first, companion, arguments):
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
        compared = _comparison(first, companion, names, text)
        lines += [f"    {line}" if line else "" for line in compared]
    lines += ["", "", 'if __name__ == "__main__":', "    check()", ""]
    return "\n".join(lines)


def is_comparable(first: Task, companion: Task, arguments: list[GraphRow]) -> bool:
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
    names: dict[GraphRow, str]
    np: str
    call: str  # of the companion at a point, {}

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

    def measured(self, results: str) -> list[str]:
        """The function `slope`: differences of `results`, a number or array, of what is `found`."""
        return [
            "",
            "def moved(step):",
            "    point = {name: at[name] + step * along.get(name, 0) for name in at}",
            f"    found = {self.call.format('**point')}",
            f"    return {results}",
            "",
            "def slope(step):",
            "    return (moved(step) - moved(-step)) / (2 * step)",
            "",
        ]

    def joined(self, levels: int) -> list[str]:
        """The same, of results in dicts of so many levels: all of them."""
        return self.measured(_joined("found{}", "found", levels, self.np))


def _comparison(
    first: Task, companion: Task, names: dict[GraphRow, str], text: ArrayText
) -> list[str]:
    """Code that computes `derived` and `measured`, and compares them."""
    np, asked = text.namespace, first.asked.want
    value = "[0]" * (companion is first)  # it gives the value beside the slopes
    call = f"{companion.asked.want.name}({{}}){value}"
    assert asked.compare is not None
    gaps = " + ".join(f"{np}.abs(slope({step}) - measured)" for step in WIDER)
    return [
        *asked.compare(Comparison(first, names, np, call)),
        f"measured = slope({STEP})",
        f"doubt = {np}.max({gaps})",
        f"doubt = doubt + {ROUNDING} * {np}.max({np}.abs(moved(0)))  # by rounding",
        f"error = {np}.abs(derived - measured)",
        f'told = f"differ by {{{np}.max(error):.1e}}, measured to {{doubt:.1e}}"',
        f'print("{asked.name}: derived and measured slopes", told)',
        f"if not {np}.all(error <= {AGREE} * {np}.abs(measured) + 10 * doubt):",
        f'    raise SystemExit("{asked.name}: derivatives and differences disagree")',
    ]


# How each want is compared.


def gradient(here: Comparison, part: str = "") -> list[str]:
    """Slopes by name."""
    inner = here.along("slopes[of]" if here.listed else "slopes")
    every = f"{here.np}.concatenate([{here.np}.ravel({inner}) for of in slopes])"
    return [
        *here.joined(here.listed),
        f"slopes = {here.want}(**at){part}",
        f"derived = {every if here.listed else inner}",
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
    return [
        *here.measured(" + ".join(f"{np}.sum(found{m})" for m in members.values())),
        f"here = {here.call.format('**at')}",
        f"slopes = {here.want}(**at, {seeds})[1]",
        f"derived = {here.along('slopes')}",
    ]


def change(here: Comparison) -> list[str]:
    """The change of the value, beside it."""
    return _changes(here, "[1]", here.listed)


def change_of_slopes(here: Comparison) -> list[str]:
    """The changes of slopes by name."""
    return _changes(here, "", here.listed + 1)


def _changes(here: Comparison, part: str, levels: int) -> list[str]:
    return [
        *here.joined(levels),
        f"changes = {here.want}(**at, {here.dots()}){part}",
        f"derived = {_joined('changes{}', 'changes', levels, here.np)}",
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
    if not isinstance(first.results, (Matrix, Sparse)):
        argument = pairs[0][1]
        member = f'["{pairs[0][0]}"]' if second else ""
        shape = first.graph.shape(first.graph.row(first.asked.wrt[0]))
        product = f"{np}.tensordot({here.want}(**at), along[{argument!r}], axes={len(shape)})"
        return [
            *here.measured(f"found{member}"),
            f"derived = {product if shape else f'{here.want}(**at) * along[{argument!r}]'}",
        ]
    along = ", ".join(
        f"{np}.ravel(along[{argument!r}])"
        if first.graph.shape(first.graph.row(name))
        else f"{np}.array([along[{argument!r}]])"
        for name, argument in pairs
    )
    measured = here.joined(1) if second or here.listed else here.measured(f"{np}.ravel(found)")
    return [*measured, f"derived = {here.want}(**at) @ {np}.concatenate([{along}])"]
