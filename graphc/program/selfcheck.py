"""The check under __main__: derivatives along one direction against differences of the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .array_text import ArrayText
from .naming import Naming
from .points import point_texts
from .wants import Matrix

if TYPE_CHECKING:
    from .module import Task

STEP, TWICE = "1e-5", "2e-5"


def self_check(first: Task, companion: Task, text: ArrayText, naming: Naming) -> str:
    """The function `check` and its call, or a call that only shows the result."""
    if text.dtype != "float64":
        return ""
    graph, np = first.graph, text.namespace
    others = (*first.derived.tangents, *first.derived.seeds)
    plain = [row for row in first.arguments if row not in others]
    found = point_texts(graph, [first.program, companion.program], plain, others, np)
    if found is None:
        return ""
    at, along = found
    names = {row: naming.of(graph.names[row]) for row in [*plain, *others]}
    lines = ["def check():"]
    want = first.asked.want
    arguments = [row for row in plain if graph.names[row] in first.asked.wrt]
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
        (first.asked.want == "value_and_grad" or companion is not first)
        and first.asked.want not in ("value", "values")
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


def _comparison(first: Task, companion: Task, names: dict[int, str], text: ArrayText) -> list[str]:
    """Code that computes `derived` and `measured`, and compares them."""
    np, want, asked = text.namespace, first.asked.want, first.asked
    pairs = [(name, names[first.graph.row(name)]) for name in asked.wrt]
    called = companion.asked.want + "(**{})" + "[0]" * (companion.asked.want == "value_and_grad")
    ahead, behind, here = (called.format(point) for point in ("ahead", "behind", "at"))
    dots = ", ".join(f'{names[r]}=along["{names[s]}"]' for r, s in _dots(first))
    listed = asked.of_listed

    def along(slopes: str) -> str:
        if all(name == argument for name, argument in pairs):
            return f"sum({np}.sum({slopes}[name] * along[name]) for name in along)"
        return " + ".join(f'{np}.sum({slopes}["{a}"] * along["{b}"])' for a, b in pairs)

    lines = [
        f"ahead = {{name: at[name] + {STEP} * along.get(name, 0) for name in at}}",
        f"behind = {{name: at[name] - {STEP} * along.get(name, 0) for name in at}}",
    ]
    if want in ("grad", "value_and_grad"):
        part = "[1]" if want == "value_and_grad" else ""
        lines.append(f"slopes = {want}(**at){part}")
        inner = along("slopes[of]" if listed else "slopes")
        every = f"{np}.concatenate([{np}.ravel({inner}) for of in slopes])"
        lines.append(f"derived = {every if listed else inner}")
        lines += _measured(ahead, behind, listed, np)
    elif want == "vjp":
        lines.append(f"here = {here}")
        members = {
            names[row]: f"[{of!r}]" if listed else ""
            for row, of in zip(first.derived.seeds, asked.of, strict=True)
        }
        seeds = ", ".join(f"{bar}={np}.ones_like(here{m})" for bar, m in members.items())
        terms = " + ".join(f"{np}.sum({ahead}{m} - {behind}{m})" for m in members.values())
        lines += [
            f"slopes = vjp(**at, {seeds})[1]",
            f"derived = {along('slopes')}",
            f"measured = ({terms}) / {TWICE}",
        ]
    elif want in ("jvp", "hvp"):
        changes = f"jvp(**at, {dots})[1]" if want == "jvp" else f"hvp(**at, {dots})"
        levels = listed + (want == "hvp")
        derived = _joined("changes{}", "changes", levels, np)
        lines += [f"changes = {changes}", f"derived = {derived}"]
        lines += _measured(ahead, behind, levels, np)
    else:
        lines += _matrix_comparison(first, pairs, ahead, behind, np)
    return [
        *lines,
        f"error = {np}.max({np}.abs(derived - measured)) / (1 + {np}.max({np}.abs(measured)))",
        f'print(f"{want}: derived and measured slopes differ by {{error:.1e}}")',
        "if not error < 1e-5:",
        f'    raise SystemExit("{want}: derivatives and differences disagree")',
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


def _measured(ahead: str, behind: str, levels: int, np: str) -> list[str]:
    """Differences of results, all of them."""
    if not levels:
        return [f"measured = ({ahead} - {behind}) / {TWICE}"]
    differences = _joined("ahead{} - behind{}", "ahead", levels, np)
    return [f"ahead, behind = {ahead}, {behind}", f"measured = {differences} / {TWICE}"]


def _dots(first: Task) -> list[tuple[int, int]]:
    """(tangent argument, the leaf it belongs to)."""
    graph = first.graph
    return [
        (dot, graph.row(name))
        for dot, name in zip(first.derived.tangents, first.asked.wrt, strict=False)
    ]


def _matrix_comparison(
    first: Task, pairs: list[tuple[str, str]], ahead: str, behind: str, np: str
) -> list[str]:
    """Jacobians and Hessians, times the direction."""
    asked = first.asked
    if not isinstance(first.results, Matrix):
        argument = pairs[0][1]
        difference = f"({ahead} - {behind})"
        if asked.want == "hessian":
            difference = f'({ahead}["{pairs[0][0]}"] - {behind}["{pairs[0][0]}"])'
        shape = first.graph.shape(first.graph.row(asked.wrt[0]))
        product = f"{np}.tensordot({asked.want}(**at), along[{argument!r}], axes={len(shape)})"
        return [
            f"derived = {product if shape else f'{asked.want}(**at) * along[{argument!r}]'}",
            f"measured = {difference} / {TWICE}",
        ]
    along = ", ".join(
        f"{np}.ravel(along[{argument!r}])"
        if first.graph.shape(first.graph.row(name))
        else f"{np}.array([along[{argument!r}]])"
        for name, argument in pairs
    )
    measured = _measured(ahead, behind, asked.want == "hessian" or asked.of_listed, np)
    if asked.want == "jacobian" and not asked.of_listed:
        measured = [f"measured = {np}.ravel({ahead} - {behind}) / {TWICE}"]
    return [f"derived = {asked.want}(**at) @ {np}.concatenate([{along}])", *measured]
