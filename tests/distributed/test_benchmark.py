"""The benchmark of rows in chunks holds what it prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: nothing to measure")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dask_rows.py"


def test_the_rows_are_the_same_in_any_chunks_and_fit_into_memory(tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, str(SCRIPT), "--quick", "--only", "rows", "--json", str(file)]
    env = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    (part,) = json.loads(file.read_text(encoding="utf-8"))["parts"]
    assert part["sample"] <= 1e-10 and part["peak_megabytes"] < 2000
