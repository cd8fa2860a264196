"""A referee that finds nothing has to be shown to find something: planted faults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from . import oracles
from .faults import FAULTS
from .report import found

GRAPHS = 300


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_within_300_graphs(name: str) -> None:
    """In a process of its own, which stays wrong; the graph that shows it is clean without it."""
    command = [sys.executable, "-m", "tests.referee", "--fault", name, "--graphs", str(GRAPHS)]
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    seed = int(run.stdout.split("seed ")[1].split(":")[0])
    assert found([seed], oracles.installed()[-1:])[0] == []
