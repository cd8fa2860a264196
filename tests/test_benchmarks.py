"""The benchmarks run with whatever peers there are, and compare values before they time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = ("w1_ladder", "w2_random_dag", "w3_mlp", "w4_sparse", "w5_all_pairs", "w7_import")


@pytest.mark.parametrize("script", [*SCRIPTS, "checkpointing", "setup", "objectives"])
def test_a_benchmark_runs(script, tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, str(FOLDER / f"{script}.py"), "--quick", "--seconds", "0.01"]
    done = subprocess.run(
        [*command, "--json", str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent)},
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    parts = json.loads(file.read_text(encoding="utf-8"))["parts"]
    for part in parts:
        names = {figure["name"] for figure in part.get("figures", [])} or set(part["megabytes"])
        assert "graphc" in names


def test_a_wrong_value_is_not_timed(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import measure

    with pytest.raises(AssertionError, match="b / a"):
        measure.assert_equal({"a": lambda: (1.0, {"w": [2.0]}), "b": lambda: (1.0, [2.0 + 1e-6])})
    with pytest.raises(AssertionError, match="different things"):
        measure.assert_equal({"a": lambda: (1.0, 2.0), "b": lambda: 1.0})
    measure.assert_equal({"a": lambda: (1.0, {"w": [2.0]}), "b": lambda: [1.0, [2.0 + 1e-13]]})
