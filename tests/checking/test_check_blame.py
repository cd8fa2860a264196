"""Blame under mutation: planted wrong local derivatives are named, and nobody else is.

A sample of what benchmarks/blame.py does with a thousand graphs.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def blame():
    sys.path.insert(0, str(FOLDER))  # it imports its neighbours
    try:
        spec = importlib.util.spec_from_file_location("blame", FOLDER / "blame.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


@pytest.mark.parametrize("planted", [0, 1, 2])
def test_exactly_the_planted_edges_are_blamed(blame, planted):
    exactly, named, graphs = blame.tally(60, planted, seed=1)
    assert named >= 0.99 * graphs
    assert exactly >= 0.99 * graphs
