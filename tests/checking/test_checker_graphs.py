"""Random graphs for the checker: no right derivative is wrong, no fault passes beyond its bound."""

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "checker_graphs.py"


@pytest.fixture(scope="module")
def graphs():
    spec = importlib.util.spec_from_file_location("checker_graphs", FILE)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["checker_graphs"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.filterwarnings("ignore")  # some graphs sit on kinks by construction
def test_random_graphs_are_judged_rightly(graphs):
    tally = graphs.run(15, 0)
    assert not tally.failures, "\n\n".join(tally.failures)
    assert tally.said["right: correct"] > 300 and tally.said["wrong: wrong"] > 20
    assert tally.said["wrong own derivative: wrong"] == 15
