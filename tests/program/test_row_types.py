"""A row of a graph is none of a program: the type checker refuses one where the other belongs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphc

MIXED = """\
from graphc.algebra.rules import TemplateRow
from graphc.derive.evaluation import Evaluation
from graphc.program.module import Task
from graphc.program.program import Program, ProgramRow, lower
from graphc.program.question import Derived, flat, mapped
from graphc.structure.reach import ancestors
from graphc.structure.rows import GraphRow
from graphc.structure.structure import Structure


def rows(graph: Structure, program: Program, g: GraphRow, p: ProgramRow, t: TemplateRow) -> None:
    graph.shape(g), graph.ops[g], graph.names[g], graph.operation("neg", (g,), {})
    program.shape(p), program.ops[p], program.names[p], program.apply("neg", (p,), {})
    graph.shape(program.origin[p])
    for each in program.in_order():
        program.settings(each)
    graph.shape(p)  # refused
    graph.ops[p]  # refused
    graph.names[p]  # refused
    graph.operation("neg", (p,), {})  # refused
    graph.shape(t)  # refused
    graph.shape(0)  # refused
    program.shape(g)  # refused
    program.ops[g]  # refused
    program.operands[g]  # refused
    program.names[g]  # refused
    program.apply("neg", (g,), {})  # refused
    program.origin[g]  # refused
    program.ops[t]  # refused
    for row in graph.in_order():
        program.settings(row)  # refused


def walks(graph: Structure, program: Program, g: GraphRow, p: ProgramRow) -> None:
    graph.shape(ancestors(graph, [g])[0])
    program.shape(ancestors(program, [p])[0])
    ancestors(graph, [p])  # refused
    ancestors(program, [g])  # refused
    _, place = lower(graph, [g], ())
    program.shape(place[g])
    graph.shape(place[g])  # refused
    lower(graph, [p], ())  # refused


def results(derived: Derived, one: Task, evaluation: Evaluation, p: ProgramRow) -> None:
    derived.graph.shape(flat(derived.results)[0])
    one.program.shape(one.rows()[0])
    one.program.shape(flat(derived.results)[0])  # refused
    one.graph.shape(one.rows()[0])  # refused
    one.program.shape(one.arguments[0])  # refused
    mapped(derived.results, one.program.shape)  # refused
    evaluation.value(p)  # refused
"""


def test_the_type_checker_tells_rows_of_graphs_and_of_programs_apart(tmp_path):
    pytest.importorskip("mypy")
    project = Path(graphc.__file__).parent.parent
    snippet = tmp_path / "mixed.py"
    snippet.write_text(MIXED)
    options = ("--strict", "--follow-imports=silent", "--no-error-summary")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(snippet)],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert not found.stderr
    told = {int(line) for line in re.findall(r"mixed\.py:(\d+): error", found.stdout)}
    lines = enumerate(MIXED.splitlines(), 1)
    assert told == {number for number, line in lines if line.endswith("# refused")}, found.stdout
