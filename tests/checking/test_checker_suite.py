"""The labelled suites of benchmarks/checkers.py: graphc has to be right on every family."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import graphc as gc

FOLDER = Path(__file__).parents[2] / "benchmarks"


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
    assert len(answers) >= 1_100 and len(families) >= 60
    assert {f"factor 1+1e-{k}" for k in range(1, 7)} <= set(families)
    assert {f"1e-{k} from a kink" for k in range(1, 10)} <= set(families)


def test_no_right_case_is_called_wrong(answers):
    alarms = [(case, report) for case, report in answers if case.label != "wrong" and not report.ok]
    assert not alarms, told(alarms[:3])


def test_wrong_cases_are_not_missed(answers):
    missed = [(case, report) for case, report in answers if case.label == "wrong" and report.ok]
    assert not missed, told(missed[:3])


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


# Functions that can only be called.


@pytest.fixture(scope="module")
def verdicts():
    """[(case, report)] of all cases of functions."""
    with np.errstate(all="ignore"):
        return [
            (case, gc.check_function(case.function, case.gradient, case.at, **case.options))
            for case in module("function_cases").function_cases()
        ]


def shown(verdicts):
    return [(case.family, case.at, str(report)) for case, report in verdicts]


def test_there_are_enough_functions_of_every_family(answers, verdicts):
    families = Counter((case.family, case.label) for case, _ in verdicts)
    assert len(verdicts) >= 1_000 and len(answers) + len(verdicts) >= 2_000
    assert len(families) >= 30 and min(families.values()) >= 5


def test_no_right_gradient_of_a_function_is_called_wrong(verdicts):
    alarms = [
        (case, report) for case, report in verdicts if case.label == "right" and not report.ok
    ]
    assert not alarms, shown(alarms[:3])


def test_a_wrong_gradient_of_a_function_is_correct_only_below_the_bound(verdicts):
    missed = [(case, report) for case, report in verdicts if case.hides(report)]
    assert not missed, shown(missed[:3])
    crowds = [
        (case, report)
        for case, report in verdicts
        if case.family.startswith(("many", "hurried", "diagonal of a J", "diagonal of a s"))
        and case.label == "wrong"
        and report.verdict == "correct"
    ]
    assert not crowds, shown(crowds[:3])


def test_verdicts_are_as_good_as_the_evidence_allows(verdicts):
    wrong = [report.ok for case, report in verdicts if case.label == "wrong"]
    assert np.mean(wrong) < 0.12  # most of the others are too noisy to tell
    smooth = [report.verdict for case, report in verdicts if case.family == "smooth"]
    assert smooth.count("float-noise") <= 0.1 * len(smooth)
