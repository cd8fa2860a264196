"""Cheap differences: steps as long as a claim needs, kinks on straight lines, rows made late."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import graphc as gc
from graphc.checking.batches import Switch, batched
from graphc.checking.kinks import extremes, nearby
from graphc.checking.neighbourhood import Branch
from graphc.checking.rows import Block, Rows
from graphc.checking.verdicts import CORRECT, NEAR_KINK, WRONG, Finding, Row
from graphc.structure.rows import GraphRow

# so many elements that emitted code evaluates their neighbours
LAYER = """
input x[20]
param W[12,20] b[12]
a = W @ x + b
h = {kinked}
L = sum(h*h + h)
"""


def layer(margin: float, kinked: str = "relu(a)") -> tuple[gc.Graph, dict[str, np.ndarray]]:
    """A layer one of whose units is so far from its kink."""
    rng = np.random.default_rng(5)
    at = {
        "x": rng.standard_normal(20),
        "W": rng.standard_normal((12, 20)) / 4,
        "b": np.full(12, 6.0),
    }
    at["b"][3] += margin - (at["W"] @ at["x"] + at["b"])[3]
    return gc.parse(LAYER.format(kinked=kinked)), at


@pytest.mark.parametrize("margin", [1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
def test_a_kink_on_a_straight_line_is_named_with_its_distance(margin):
    graph, at = layer(margin)
    report = gc.check(graph, "L", at)
    assert report.ok and report.kinks == ["h"]
    (row,) = [row for row in report.rows if (row.name, row.index) == ("b", (3,))]
    assert row.verdict == NEAR_KINK
    assert f"element 3 is {margin:.1e} away" in row.evidence
    assert {row.index[0] for row in report.rows if row.name == "W" and row.kink} <= {3}


def test_three_points_short_of_a_kink_need_no_further_neighbours():
    graph, at = layer(1e-4)
    report = gc.check(graph, "L", at)
    elements = sum(value.size for value in at.values())
    assert report.verdict == NEAR_KINK
    assert report.evaluations <= 2.2 * elements  # three for a longer step, four with five points


@pytest.mark.parametrize("margin", [1e-7, 1e-6, 1e-5])
def test_differences_beside_a_kink_stay_on_their_side_however_small_it_is(margin):
    graph, at = layer(margin, "a + 1e-8*relu(a)")
    pattern = re.compile(r"is (\S+) away, .* central differences within (\S+) agree")
    told = [pattern.search(row.evidence) for row in gc.check(graph, "L", at).rows if row.kink]
    found = [tuple(map(float, match.groups())) for match in told if match]
    assert found and all(step <= 1.5 * distance for distance, step in found)  # one digit is told


def test_a_wrong_claim_beside_a_kink_is_wrong():
    graph, at = layer(1e-4)
    right = graph.reverse("L", at)
    claimed = {name: np.array(right[name], float) for name in ("W", "b")}
    claimed["W"][3, 7] += 1e-3 * np.abs(claimed["W"]).max()
    report = gc.check(graph, "L", at, claimed=claimed)
    assert [row[:2] for row in report.rows if row.verdict == WRONG] == [("W", (3, 7))]


@pytest.mark.parametrize("kinked", ["relu(a**2 + 1e-10)", "abs(a**2 + 1e-10)"])
def test_a_margin_that_bends_away_has_no_kink(kinked):
    graph, at = layer(1e-5, kinked)  # a line along its slope would cross 5e-6 away
    report = gc.check(graph, "L", at)
    assert report.verdict == CORRECT and not report.kinks


@pytest.mark.parametrize(
    "kinked",
    ["relu(1.1e-3 + 1e-3*sin(1000*(x - 1)))", "relu(1e-3 + 5e-4*tanh((x - 1)/5e-4))"],
)
@pytest.mark.parametrize("size", [1, 250])
def test_a_line_through_a_turning_point_leads_to_no_kink(kinked, size):
    graph = gc.parse(f"input x[{size}]\nL = sum({kinked})")
    report = gc.check(graph, "L", {"x": np.ones(size)})
    assert report.verdict == CORRECT and not report.kinks


@pytest.mark.parametrize(
    "formula",
    [
        "relu((x - 1)**2 - 1e-8) + x",
        "relu((x - 1)**2 - 1e-6) + x",
        "relu((x - 1)**2 - 1e-8) + relu(x - 1.0012) + x",
    ],
)
def test_a_margin_at_its_least_has_its_kinks_on_both_sides(formula):
    (row,) = gc.check(gc.parse(f"input x\nL = {formula}"), "L", {"x": 1.0}).rows
    assert row.verdict == NEAR_KINK and "is 1.2e-03 away" not in row.evidence


LARGE = "input {leaves} A[60,60]\n{lines}\nL = {value} + 0*sum(A @ A)"  # too large for 50 digits


def test_a_third_that_follows_the_winner_hides_no_tie():
    text = LARGE.format(leaves="x y", lines="h = max(x, y, y - 4e-6)", value="h*h*h + x")
    at = {"x": 0.07021, "y": 0.07015, "A": np.ones((60, 60)) / 60}
    report = gc.check(gc.parse(text), "L", at, ["x", "y"])
    assert report.ok and report.rows[0].verdict == NEAR_KINK
    assert all("is 6.0e-05 away" in row.evidence for row in report.rows)


def test_differences_before_a_far_kink_are_as_short_as_without_it():
    value = "relu(x - 1/1000) + sin(100000*x) + 100000"
    graph = gc.parse(LARGE.format(leaves="x", lines="", value=value))
    report = gc.check(graph, "L", {"x": 1.3e-5, "A": np.ones((60, 60)) / 60}, "x")
    assert report.ok and report.kinks == ["L"]


def test_a_longer_step_misses_no_curvature():
    """A claim that equals what a longer step would measure is wrong all the same."""
    graph, x = gc.parse("input x\nL = 591867 + sin(10.5*x)"), 1.4071138493065893
    right = 10.5 * np.cos(10.5 * x)
    assert gc.check(graph, "L", {"x": x}).ok
    assert gc.check(graph, "L", {"x": x}, claimed={"x": right * (1 - 1e-5)}).verdict == WRONG


def test_which_margins_move_along_lines_follows_from_the_records():
    graph = gc.parse(
        """
        input x[2] y[2]
        a = relu(3*x + y)
        b = abs(x*y - 1)
        c = maximum(x*x, 0)
        d = relu(where(x > 0, x, 2*y))
        e = relu(sin(y) - x)
        L = sum(a + b + c + d + e)
        """
    )
    x, y, output = (graph.row(name) for name in "xyL")
    batch = batched(graph, (x, y), (output,))
    names = [graph.names[switch.node] for switch in batch.switches]
    bends = {n: pair for n, *pair in zip(names, batch.bends[x], batch.bends[y], strict=True)}
    assert [bends[name] for name in "abce"] == [
        [False, False],
        [False, False],
        [True, False],
        [False, True],
    ]
    assert bends["d"] == [False, False]


def test_a_margin_that_bends_towards_its_kink_is_found_by_five_points():
    graph, at = layer(3e-3, "relu(a**2 - 2.9e-3**2)")
    report = gc.check(graph, "L", at)
    (row,) = [row for row in report.rows if (row.name, row.index) == ("b", (3,))]
    assert report.ok and row.verdict == NEAR_KINK and row.kink == "h"


def test_small_slopes_are_held_to_their_own_size_with_a_longer_step():
    graph = gc.parse("param x[300]\ninput c[300]\nL = sum(c*sin(x)) + 3")
    rng = np.random.default_rng(1)
    at = {"x": rng.uniform(0.5, 1, 300), "c": 10.0 ** rng.uniform(-3.5, 0, 300)}
    right = at["c"] * np.cos(at["x"])
    report = gc.check(graph, "L", at, "x")
    assert report.verdict == CORRECT and report.evaluations < 1_000
    assert max(row.bound / abs(row.derived) for row in report.rows) < 2e-7
    small = int(np.abs(right).argmin())
    wrong = right.copy()
    wrong[small] *= 1 + 1e-6
    report = gc.check(graph, "L", at, claimed={"x": wrong})
    assert [row.index for row in report.rows if row.verdict == WRONG] == [(small,)]


def test_what_a_longer_step_passes_over_is_seen():
    """A feature narrower than the step, in an element whose slope is small beside the others."""
    graph = gc.parse(
        """
        param x[300]
        input c[300]
        u = 10**6*(x[7] - 3/4)
        L = sum(c*sin(x)) + 1e-8*u*exp(-u**2) + 3
        """
    )
    at = {"x": np.full(300, 0.75), "c": np.ones(300)}
    at["c"][7] = 1e-2
    smooth = at["c"] * np.cos(at["x"])  # without the feature, whose slope is 1e-2 here
    report = gc.check(graph, "L", at, claimed={"x": smooth})
    (row,) = [row for row in report.rows if row.verdict != CORRECT]
    assert row.index == (7,) and row.verdict == WRONG
    assert gc.check(graph, "L", at, "x").ok


@pytest.mark.parametrize(
    "term", ["x[2] - 2*x[3] + x[4]", "x[0] - x[1] - x[2] + x[3]", "x[8] - x[9] - x[16] + x[17]"]
)
def test_a_claim_of_0_is_not_cleared_by_parts_that_cancel(term):
    graph = gc.parse(f"input x[200]\ninput A[60,60]\ny = sum(A*A) + ({term})/10**12")
    rng = np.random.default_rng(0)
    at = {"x": rng.uniform(1, 2, 200), "A": rng.uniform(100, 200, (60, 60))}
    report = gc.check(graph, "y", at, claimed={"x": np.zeros(200)})
    assert sum(row.verdict == WRONG for row in report.rows) == term.count("x[")


@pytest.mark.parametrize("offset", [0, 1e3, 1e5, 1e6])
@pytest.mark.parametrize("error", [1e-7, 5e-6])
def test_beside_a_kink_a_small_graph_is_held_to_many_digits(offset, error):
    graph = gc.parse(f"input x = 1/1000\ny = {offset} + relu(x)*3")
    assert gc.check(graph, claimed={"x": 3.0}).verdict == NEAR_KINK
    assert gc.check(graph, claimed={"x": 3 * (1 + error)}).verdict == WRONG


def test_a_side_without_a_value_hides_no_kink_on_the_other():
    switch = Switch(GraphRow(4), GraphRow(5), "relu", ())
    branch = Branch(switch, np.array([[np.nan], [0.02], [0.01]]))
    found = nearby([branch], np.array([1e-5]), np.array([50.0]), np.zeros((1, 1), bool))
    assert found.near.all() and not found.lines


def test_steps_suit_every_output():
    graph = gc.parse("param x[220]\na = sum(sin(x))\nb = 1e-4*sum(x**2) + 5\noutput a b")
    at = {"x": np.linspace(0.5, 1.5, 220)}
    assert gc.check(graph, None, at).verdict == CORRECT


def test_pairs_of_neighbours_tell_kinks_on_straight_lines():
    point = np.array([1.0, -1e-3, 0.5])
    slopes = np.array([[0, 1e-4, 0], [0, 2e-3, 0], [1e-9, 0, 0], [0, 0, 0.01]])  # of each pair
    pairs = [point + sign * slope for slope in slopes for sign in (-1, 1)]
    pairs[6][2] += 0.1  # the margin of the last pair bends
    switch = Switch(GraphRow(4), GraphRow(5), "relu", ())
    branch = Branch(switch, np.array([*pairs, point]))
    step, reach = np.full(4, 1e-5), np.full(4, 100.0)
    found = nearby([branch], step, reach, np.zeros((1, 4), bool))
    assert found.near.tolist() == [True, True, False, True]
    assert found.crossed.tolist() == [False, True, False, False]
    lines = {pair: [tuple(line)[2:] for line in lines] for pair, lines in found.lines.items()}
    assert lines == {
        0: [(1, pytest.approx(1e-4), 1e-3, False)],
        1: [(1, pytest.approx(5e-6), 1e-3, False)],
    }


@pytest.mark.parametrize("count", [0, 1, 5, 8, 9, 400])
@pytest.mark.parametrize("width", [0, 1, 128, 2_000])
def test_extremes_are_those_of_every_line(count, width):
    margin = np.random.default_rng(0).standard_normal((count + 1, width))
    lowest, highest = extremes(margin)
    assert (lowest == margin.min(axis=0)).all() and (highest == margin.max(axis=0)).all()


def test_an_element_that_is_not_a_number_has_no_extremes():
    margin = np.zeros((20, 3))
    margin[4, 1] = np.nan
    assert np.isnan(extremes(margin)).tolist() == [[False, True, False]] * 2


def block(**changes) -> Block:
    found = Finding(0.5, NEAR_KINK, "told", "h", 1e-3)
    numbers = (np.array([1.0, 2.0, 3.0]),) * 3
    return replace(Block("x", (2, 3), 2, *numbers, "agree", "L", {1: found}), **changes)


def test_rows_are_a_sequence_of_what_the_blocks_hold():
    single = Row("w", (), 1.0, 2.0, WRONG, "no", "L", bound=1.0)
    rows = Rows([single, block()])
    expected = [
        single,
        Row("x", (0, 2), 1.0, 1.0, CORRECT, "agree", "L", "", 0, 1.0),
        Row("x", (1, 0), 2.0, 0.5, NEAR_KINK, "told", "L", "h", 0, 1e-3),
        Row("x", (1, 1), 3.0, 3.0, CORRECT, "agree", "L", "", 0, 3.0),
    ]
    assert rows == expected and list(rows) == expected and rows[1:3] == expected[1:3]
    assert len(rows) == 4 and rows[-1] == expected[-1] and repr(rows) == repr(expected)
    assert rows.verdicts == {row.verdict for row in expected}
    assert [row.point for row in rows.at(2)] == [2] * 4 and rows == expected
    assert pickle.loads(pickle.dumps(rows)) == expected


def test_a_block_without_a_correct_row_says_so():
    found = dict.fromkeys(range(3), Finding(0.0, WRONG, ""))
    assert block(findings=found).verdicts == {WRONG}
    assert block(findings={}).verdicts == {CORRECT}


def test_points_of_a_check_are_told_in_its_rows():
    graph = gc.parse("input x\ny = x**2")
    report = gc.check(graph, at={"x": np.array([1.0, 2.0, 3.0])})
    assert [row.point for row in report.rows] == [0, 1, 2]
    assert [row.derived for row in report.rows] == [2.0, 4.0, 6.0]
