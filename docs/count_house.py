"""Counts what the design page says of the house: python docs/count_house.py

The page carries the table that this prints, and a test holds the two equal.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "graphc"
LONGEST_CLASS = 300  # lines
KEPT = ("list", "Column")  # how columns are declared


def trees() -> dict[Path, ast.Module]:
    return {
        file.relative_to(PACKAGE): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(PACKAGE.rglob("*.py"))
    }


def row_stores(modules: dict[Path, ast.Module]) -> list[str]:
    """The classes that keep columns of operations and operands of their own."""
    return [
        node.name
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and {"ops", "operands"} <= _columns(node)
    ]


def _columns(tree: ast.ClassDef) -> set[str]:
    """The lists and columns that a class declares."""
    return {
        target.attr if isinstance(target, ast.Attribute) else target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith(KEPT)
        for target in [node.target]
        if isinstance(target, (ast.Attribute, ast.Name))
    }


def calls_in_loops(modules: dict[Path, ast.Module], function: str, first: str) -> list[str]:
    """The functions in which, for each of many, a function is called with such a first argument."""
    found = []
    for tree in modules.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                loops = [loop for loop in ast.walk(node) if isinstance(loop, ast.For)]
                calls = [c for loop in loops for c in ast.walk(loop) if isinstance(c, ast.Call)]
                asked = [c for c in calls if ast.unparse(c.func).split(".")[-1] == function]
                if any(c.args and first in ast.unparse(c.args[0]) for c in asked):
                    found.append(node.name)
    return found


def long_classes(modules: dict[Path, ast.Module]) -> list[str]:
    return [
        node.name
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.end_lineno - node.lineno >= LONGEST_CLASS
    ]


def lines_per_room() -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        room = f"{parts[0]}/" if len(parts) > 1 else "modules beside the rooms"
        counts[room] += len(file.read_text(encoding="utf-8").splitlines())
    return counts


def table() -> str:
    """The table of the design page."""
    modules = trees()
    rows = [
        ("places to touch for a function", "1", "a record; `tests/table/test_functions.py`"),
        ("for a tensor operation", "1", "a record; `tests/table/test_one_record.py`"),
        ("for a back end", "1", "a record; `tests/program/test_one_backend.py`"),
        ("for a want", "1", "a record; `tests/program/test_one_want.py`"),
        _counted("stores of rows", row_stores(modules)),
        _counted("interpreters of rows", calls_in_loops(modules, "apply", "ops[")),
        _counted(
            "places where rewriting rules are applied", calls_in_loops(modules, "rule", "store")
        ),
        _counted(f"classes over {LONGEST_CLASS} lines", long_classes(modules)),
    ]
    lines = ["| what | how many | which |", "|---|---|---|"]
    lines += [f"| {what} | {count} | {which} |" for what, count, which in rows]
    rooms = ", ".join(
        f"{room} {round(count, -2):,}" for room, count in sorted(lines_per_room().items())
    )
    return "\n".join([*lines, "", f"Lines per room, to the hundred: {rooms}.", ""])


def _counted(what: str, names: list[str]) -> tuple[str, str, str]:
    return what, str(len(names)), ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    print(table())
