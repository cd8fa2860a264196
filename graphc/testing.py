"""Helpers for test suites: a gradient that is not right fails the test with a report."""

from __future__ import annotations

from typing import Any

from .checking.checks import check
from .checking.functions import check_function
from .checking.report import Report
from .structure.structure import Structure


def assert_grad(function: Any, grad: Any = None, at: Any = None, **options: Any) -> Report:
    """The report of a check that was passed; otherwise an AssertionError that shows it.

    `function` is a graph (then `grad` may be a dict of claimed adjoints) or any callable with its
    gradient.
    """
    if isinstance(function, Structure) and not callable(grad):
        return check(function, at=at, claimed=grad, **options).raise_if_failed()
    return check_function(function, grad, at, **options).raise_if_failed()
