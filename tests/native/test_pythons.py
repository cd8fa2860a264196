"""The library is built once, for every version of Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("one_python.py")


def pythons(version: str) -> list[str]:
    """The interpreters of a version, those of an environment first."""
    found = [shutil.which(f"python{version}")]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += sorted(map(str, root.glob(f"versions/{version}.*/bin/python")))
    return [python for python in found if python and runs(python)]


def runs(python: str) -> bool:
    """A link of pyenv is there, but runs only a version that was chosen."""
    return not subprocess.run([python, "-c", "import ctypes"], capture_output=True).returncode


@pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(10, 15)])
def test_one_library_for_every_python(version, built):
    here = f"3.{sys.version_info.minor}"
    found = [sys.executable] if version == here else pythons(version)
    if not found:
        pytest.skip(f"there is no python{version} here")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "GRAPHC_CACHE": str(built.parent),  # the same file, whoever built it
        "CC": "none",
    }
    done = subprocess.run(
        [found[0], str(SCRIPT), str(built)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == "blocks" or done.stdout.startswith("no graphc")
