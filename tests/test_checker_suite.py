"""The labelled suite of benchmarks/checkers.py: graphc has to be right on every family."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

import graphc as gc

FOLDER = Path(__file__).parent.parent / "benchmarks"


def module(name):
    """A module of the benchmarks folder."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def answers():
    """[(case, report)] of all cases."""
    found = module("checker_cases").cases()
    return [
        (case, gc.check(case.graph, "y", case.at, claimed=case.claimed, dtype=case.dtype))
        for case in found
    ]


def told(answers):
    return [(case.family, case.text, case.at, str(report)) for case, report in answers]


def test_there_are_enough_cases_of_every_family(answers):
    families = Counter(case.family for case, _ in answers)
    assert len(answers) >= 600 and len(families) >= 30
    assert {f"factor 1+1e-{k}" for k in range(1, 7)} <= set(families)
    assert {f"1e-{k} from a kink" for k in range(1, 10)} <= set(families)


def test_no_right_case_is_called_wrong(answers):
    alarms = [(case, report) for case, report in answers if case.label != "wrong" and not report.ok]
    assert not alarms, told(alarms[:3])


def test_wrong_cases_are_not_missed(answers):
    wrong = [(case, report) for case, report in answers if case.label == "wrong"]
    missed = [(case, report) for case, report in wrong if report.ok]
    assert len(missed) <= 0.005 * len(wrong), told(missed[:3])


def test_every_kink_is_named(answers):
    kinks = [(case, report) for case, report in answers if case.label in ("at-kink", "near-kink")]
    unnamed = [
        (case, report)
        for case, report in kinks
        if report.verdict != case.label or case.kink not in report.kinks
    ]
    assert len(kinks) >= 100 and not unnamed, told(unnamed[:3])


def test_the_wrong_argument_is_blamed(answers):
    for case, report in answers:
        if case.family.startswith("factor"):
            spoilt = {row.name for row in report.rows if row.verdict == "wrong"}
            assert len(spoilt) == 1 and {source for source, _ in report.blame} == spoilt, case.text
