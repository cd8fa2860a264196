"""The house: imports go one way, importing is cheap, and results do not depend on the hash seed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphc
from graphc.structure.paths import topological

PACKAGE = Path(graphc.__file__).parent
LONGEST_CLASS = 300  # lines


def module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(file: Path, lazy: bool) -> set[str]:
    """The modules of ours that a file imports, when it is loaded or (`lazy`) ever."""
    inside = module_name(file).split(".")
    package = inside if file.name == "__init__.py" else inside[:-1]
    package = [part for part in package if part]
    found: set[str] = set()
    stack: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while stack:
        tree = stack.pop()
        if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not lazy:
            continue  # loaded later, if at all
        if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.dump(tree.test):
            stack.extend(tree.orelse)
            continue
        target: list[str] | None = None
        if isinstance(tree, ast.ImportFrom) and tree.level:
            base = package[: len(package) - tree.level + 1]
            target = [*base, *(tree.module.split(".") if tree.module else [])]
        elif isinstance(tree, ast.ImportFrom) and (tree.module or "").startswith("graphc"):
            target = str(tree.module).split(".")[1:]
        if target is not None:
            found |= {".".join([*target, alias.name]) for alias in tree.names}
            found.add(".".join(target))
        stack.extend(ast.iter_child_nodes(tree))
    return found


def test_imports_go_one_way():
    files = {module_name(file): file for file in PACKAGE.rglob("*.py")}
    edges = [
        (target, name)
        for name, file in files.items()
        for target in sorted(imports(file, lazy=False))
        if target in files and target not in ("", name)
    ]
    assert len(edges) > len(files)  # they were found
    order, cycle = topological(edges, list(files))
    assert not cycle, " -> ".join(cycle)


def test_rooms_come_in_the_order_of_the_design_page():
    """What a room imports, now or later, stands before it on the page, or in the room itself."""
    page = (PACKAGE.parent / "docs" / "design.md").read_text(encoding="utf-8")
    drawn = page.split("## Rooms")[1].split("```")[1]
    rooms = [line.split("  ")[0].strip().split() for line in drawn.splitlines() if line.strip()]
    order = {name.rstrip("/"): place for place, room in enumerate(rooms) for name in room}
    files = {file: module_name(file) for file in PACKAGE.rglob("*.py")}
    assert set(order) == {name.split(".")[0] for name in files.values()} - {""}
    upwards = [
        f"{name} -> {target}"
        for file, name in files.items()
        if name
        for target in sorted(imports(file, lazy=True))
        if order.get(target.split(".")[0], -1) > order[name.split(".")[0]]
    ]
    assert not upwards


def test_every_room_says_what_comes_in_and_goes_out():
    for file in PACKAGE.glob("*/__init__.py"):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        assert len(text.splitlines()) >= 3, file


def test_the_design_page_counts_the_house_as_it_is():
    docs = PACKAGE.parent / "docs"
    counted = python(str(docs / "count_house.py")).stdout.strip()
    assert counted in (docs / "design.md").read_text(encoding="utf-8"), counted


def test_no_class_is_several_rooms_without_walls():
    long = [
        f"{module_name(file)}.{tree.name}"
        for file in PACKAGE.rglob("*.py")
        for tree in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(tree, ast.ClassDef) and (tree.end_lineno or 0) - tree.lineno >= LONGEST_CLASS
    ]
    assert not long


def test_the_sweep_knows_nothing_of_ours():
    assert not {name for name in imports(PACKAGE / "structure" / "paths.py", lazy=True) if name}


@pytest.mark.parametrize("word", ["eval", "exec", "compile", "pickle", "__import__"])
def test_nothing_is_executed(word):
    """User text is never run: only the text that the compiler wrote is, in one place.

    And where there is no graphc: a worker of Dask runs text that was checked before it was sent.
    """
    running = (PACKAGE / "program" / "running.py", PACKAGE / "distributed" / "worker.py")
    for file in PACKAGE.rglob("*.py"):
        if file in running and word in ("exec", "compile"):
            continue
        for tree in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)
            assert not (called and tree.func.id == word), f"{file.name}:{tree.lineno}"
            if isinstance(tree, (ast.Import, ast.ImportFrom)):
                assert word not in {alias.name for alias in tree.names}, file.name


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=env, capture_output=True, text=True, check=True
    )


def imported(module: str) -> set[str]:
    """The modules that one import brings into a fresh process."""
    report = python("-X", "importtime", "-c", f"import {module}").stderr
    return {line.split("|")[-1].strip() for line in report.splitlines()}


def test_importing_brings_no_sympy():
    modules = imported("graphc")
    assert "graphc" in modules
    for heavy in ("sympy", "networkx", "rich", "graphviz", "pygraphviz", "matplotlib", "dask"):
        assert heavy not in modules


def test_declaring_and_floats_bring_no_sympy():
    python(
        "-c",
        "import sys, graphc as gc\n"
        "g = gc.parse('input x\\ny = sigmoid(x)*relu(x)')\n"
        "g.values({'x': 0.5}), g.to_text(), g.count_paths('x', 'y')\n"
        "assert 'sympy' not in sys.modules",
    )


def test_a_reverse_of_floats_alone_brings_no_sympy():
    """Also where a derivative is exact: the seed, a whole number, a fraction."""
    python(
        "-c",
        "import sys, numpy as np, graphc as gc\n"
        "g = gc.parse('input x y\\nz = x/2 + 3*y\\no = z*x + tanh(y) + y')\n"
        "found = g.reverse('o', {'x': 0.5, 'y': 0.25})\n"
        "assert {type(number) for number in found.values()} == {int, float}, found\n"
        "assert found['o'] == 1 and found['z'] == 0.5\n"
        "t = gc.parse('input x[3]\\nparam W[2,3]\\nL = sum(tanh(W @ x))/2')\n"
        "t.reverse('L', {'x': np.ones(3), 'W': np.ones((2, 3))})\n"
        "assert 'sympy' not in sys.modules",
    )


def test_importing_brings_fewer_modules_than_numpy():
    assert len(imported("graphc")) < len(imported("numpy"))


def test_what_is_public_is_there():
    for name in graphc.__all__:
        assert getattr(graphc, name) is not None, name
    assert dir(graphc) == sorted(graphc.__all__)
    with pytest.raises(AttributeError, match="did you mean 'parse'"):
        _ = graphc.prase


DERIVING = """
import sympy, warnings
import graphc as gc
warnings.simplefilter("ignore")
g = gc.parse('''
input y1 y2 y3
param w2 w3
y4 = y1*y2
y5 = y1*y2*y3
y6 = w2*y2 + w3*y3
y7 = sin(y4)
y8 = cos(y5)
y9 = sin(y6)
y10 = y7*y8*y9 + relu(max(y1, y2, y3))
''')
print(g.reverse("y10"), g.forward("y2", form="inputs"), g.reverse("y10", form="steps"))
print(g.all_pairs(), g.pathwise("y10", "y2"), g.hessian("y10", ["y1", "y2"]))
at = {"y1": "1/2", "y2": "3/5", "y3": "pi/7", "w2": 2, "w3": -1}
print(g.values(at), g.reverse("y10", at), g.top_paths("y10", "y2", at))
print(g.expand().to_text(), g.differentiate("y10").to_text(), g.collapse("y4", "y5").to_text())
print(gc.from_sympy({"o": g.values()["y10"]}).to_text())
print(sympy.latex(g.derivative("y10", "y2")), g.to_networkx().nodes(data=True))
try:
    g.values({"q": 1})
except gc.GraphcError as error:
    print(error)
"""


def test_output_does_not_depend_on_the_hash_seed():
    first, second, third = (python("-c", DERIVING, PYTHONHASHSEED=s).stdout for s in "015")
    assert len(first) > 1000
    assert first == second == third
