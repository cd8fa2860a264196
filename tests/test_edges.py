"""At the edges: branches not taken, infinities and signed zeros, the same in every engine."""

from __future__ import annotations

import pytest
from edge_graphs import NODE, Case, answers, cases, in_javascript, truth

import graphc as gc

CASES = list(cases())
every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every
def test_a_branch_that_is_not_taken_contributes_nothing(case: Case):
    for x in case.closed:
        expected = truth(case, x)
        wrong = [
            f"x = {x}, {engine}: {found}, not {expected[order]}"
            for order, engine, found in answers(case, x)
            if found != pytest.approx(expected[order], rel=1e-14, abs=0)
        ]
        assert not wrong, "\n".join([case.text, *wrong])


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_page_has_no_part_of_the_branch_that_is_not_taken():
    asked = [(case, x) for case in CASES for x in case.closed]
    found = in_javascript([(gc.parse(case.text), {"x": x}) for case, x in asked])
    for (case, x), slopes in zip(asked, found, strict=True):
        first = truth(case, x)[1]
        assert slopes == [pytest.approx(first)] * 2, f"{case.text} at {x}"
