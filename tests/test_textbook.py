"""Every question of the textbook is answered: exactly if the answer is exact, else closely."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import sys
import warnings
from pathlib import Path
from statistics import median

import pytest
import sympy
from solution_text import Referee, check

import graphc as gc

ROOT = Path(__file__).parent.parent
TEXTBOOK = ROOT / "examples" / "textbook"
sys.path.insert(0, str(TEXTBOOK))

import solve  # noqa: E402  (they live beside the chapters)
import workbook  # noqa: E402

CATALOGUE = workbook.catalogue()
SOLVERS = workbook.load()
CHAPTERS = sorted(file for book in workbook.BOOKS for file in (TEXTBOOK / book).glob("*.py"))


def same(answer, ask):
    """Whether an answer is the one of the catalogue."""
    expected = ask.get("answer_exact", ask["answer_numeric"])
    return alike(answer, expected, "answer_exact" in ask, ask["tolerance"])


def alike(answer, expected, exact, tolerance):
    if isinstance(expected, list):
        together = isinstance(answer, list) and len(answer) == len(expected)
        return together and all(
            alike(*pair, exact, tolerance) for pair in zip(answer, expected, strict=True)
        )
    if isinstance(answer, (list, str)):
        return False
    if exact:
        return not isinstance(answer, float) and sympy.sympify(answer) == sympy.Rational(expected)
    return abs(float(answer) - expected) <= tolerance * (abs(expected) or 1)


@pytest.fixture(scope="module")
def solutions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        return {name: workbook.solve(item) for name, item in SOLVERS.items()}


def test_every_item_is_solved():
    assert len(CATALOGUE) == 141
    assert sum(len(item["asks"]) for item in CATALOGUE.values()) == 404
    assert list(SOLVERS) == list(CATALOGUE)


@pytest.mark.parametrize("name", SOLVERS)
def test_answers(name, solutions):
    asks, answers = CATALOGUE[name]["asks"], solutions[name].answers
    assert len(answers) == len(asks)
    for ask, answer in zip(asks, answers, strict=True):
        if not isinstance(ask["answer_numeric"], str):
            assert same(answer, ask), f"{ask['what']}: {answer}"


def test_a_wrong_answer_is_noticed():
    third = sympy.Rational(1, 3)
    exact = {"answer_exact": ["1/3", "2"], "answer_numeric": [1 / 3, 2], "tolerance": 1e-10}
    assert same([third, sympy.Integer(2)], exact)
    for wrong in ([third, third], [1 / 3, 2.0], [third], third, [[third], [2]], ["1/3", "2"]):
        assert not same(wrong, exact)
    rounded = {"answer_numeric": [0.5, 0], "tolerance": 1e-10}
    assert same([0.5 + 1e-11, 1e-11], rounded)
    assert not same([0.5 + 1e-9, 0], rounded)
    assert not same([0.5, 1e-9], rounded)


# The answers in words: what was computed must say so.
WORDS = {
    ("aggarwal-2.4.1", 2): "0, 1, undefined",
    ("aggarwal-2.6.3-edge", 0): "undefined 0/0",
    ("aggarwal-2.6.3-edge", 2): "infinite",
    ("aggarwal-2.1", 0): "F_x*f_x + F_y*g_x",
    ("aggarwal-4.3", 0): "-b/(2*a)",
    ("aggarwal-4.3", 2): "maximum",
    ("aggarwal-4.6.3", 1): "singular Hessian",
    ("prince-7.7", 2): "jump",
}


def test_answers_in_words(solutions):
    asked = {
        (name, place)
        for name, item in CATALOGUE.items()
        for place, ask in enumerate(item["asks"])
        if isinstance(ask["answer_numeric"], str)
    }
    assert asked == set(WORDS)
    for (name, place), words in WORDS.items():
        assert solutions[name].answers[place] == words


def test_a_verdict_needs_its_fact():
    assert workbook.verdict("maximum", True) == "maximum"
    with pytest.raises(AssertionError, match="maximum"):
        workbook.verdict("maximum", False)


def test_errata_are_shown_and_listed(solutions):
    for name, solution in solutions.items():
        note = CATALOGUE[name].get("note", "").lower()
        assert solution.errata or not ("errat" in note or "typo" in note), name
        for erratum in solution.errata:
            assert str(erratum.printed) != str(erratum.right)
    spec = importlib.util.spec_from_file_location("make_errata", ROOT / "docs" / "make_errata.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.page(solutions)
    for name, solution in solutions.items():
        for erratum in solution.errata:
            where = erratum.where.replace("|", r"\|")  # a bar would end the cell
            assert f"| {name} | {where} |" in page


def test_items_are_short():
    lengths = [
        sum(bool(line.strip()) for line in inspect.getsource(item).splitlines())
        for item in SOLVERS.values()
    ]
    assert median(lengths) <= 12, median(lengths)


@pytest.mark.parametrize("file", CHAPTERS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_chapters_use_the_public_interface(file):
    """No private name, no submodule of graphc, no array library that would do its work."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    for part in ast.walk(tree):
        if isinstance(part, ast.Attribute):
            assert not part.attr.startswith("_"), part.attr
        elif isinstance(part, ast.ImportFrom):
            own = part.module.startswith(f"{file.parent.name}.")
            assert own or part.module in ("collections", "itertools", "math", "sympy", "workbook")
        elif isinstance(part, ast.Import):
            assert [alias.name for alias in part.names] == ["graphc"]


def test_every_worked_solution_is_written(solutions):
    steps = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        for name, item in CATALOGUE.items():
            page = solve.page(item, solutions[name])
            assert all(ask["what"] in page for ask in item["asks"])
            steps += "Local derivatives" in page
    assert steps > 100  # the others only ask for values, sizes or counts


# Graphs of scalars with functions that the independent reader does not know.
UNREAD = {"aggarwal-2.4.1", "geiger-4.1.2", "geiger-4.2"}


def test_every_line_of_a_worked_solution_is_true(solutions):
    """Read again by a reader that knows only formulas and numerical differentiation."""
    checked = 0
    for name in set(CATALOGUE) - UNREAD:
        for graph in solutions[name].graphs:
            leaves = {leaf: graph[leaf].value for leaf in (*graph.input_names, *graph.param_names)}
            if all(graph[node].shape == () for node in graph) and None not in leaves.values():
                referee = Referee(graph.to_text(), leaves)
                for text in solve.workings(graph, CATALOGUE[name]):
                    checked += check(text, referee)
    assert checked > 3000


def test_the_runner(capsys, monkeypatch, solutions):
    found = {SOLVERS[name]: solution for name, solution in solutions.items()}
    monkeypatch.setattr(solve, "solve", found.get)  # they were solved before
    assert solve.main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(CATALOGUE)
    assert solve.main(["aggarwal-2.15"]) == 0
    page = capsys.readouterr().out
    assert "There are 32 paths from x to o." in page
    assert "729/31250 = 0.023328" in page
    with pytest.raises(SystemExit):
        solve.main(["aggarwal-2.151"])
    assert "did you mean 'aggarwal-2.1" in capsys.readouterr().err
    assert solve.main(["--all", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [len(found) for found in answers.values()] == [
        len(item["asks"]) for item in CATALOGUE.values()
    ]
    assert answers["aggarwal-2.15"][0][0] == 0.18
    assert answers["aggarwal-2.3.1-count"][0][2] == 50**30
    assert solve.main(["aggarwal-2.15", "--json", "--exact"]) == 0
    assert json.loads(capsys.readouterr().out)["aggarwal-2.15"][1] == "729/31250"
