"""What the tests of the native library share: a library that was built, machines without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphc.native import library
from graphc.native.building import compiler


@pytest.fixture(scope="session")
def built() -> Path:
    """The file of this machine's library; without a compiler there is nothing to test."""
    found = library.native()
    if not found.is_there:
        assert os.environ.get("GRAPHC_NATIVE") == "0" or not compiler()[0], found.reason
        pytest.skip(found.reason)
    assert found.file is not None
    return found.file


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Path:
    """A machine on which nothing was installed or built: its home, cache and temporary files."""
    for name in ("home", "cache", "temporary", "installed"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr(library, "HERE", tmp_path / "installed")
    monkeypatch.setattr(library.tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRAPHC_CACHE", str(tmp_path / "cache"))
    for name in ("CC", "XDG_CACHE_HOME", "GRAPHC_NATIVE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def stand_in(machine, monkeypatch, built):
    """Makes $CC a shell script; in it, `made` puts a library that is right where it is wanted."""

    def write(script: str = "made") -> Path:
        text = f"""#!/bin/sh
echo "$@" >> {machine}/calls
for word; do [ "$last" = -o ] && target=$word; last=$word; done
made() {{ cp {built} "$target"; }}
{script}
"""
        file = machine / "compiler"
        file.write_text(text)
        file.chmod(0o755)
        monkeypatch.setenv("CC", str(file))
        return file

    return write


@pytest.fixture
def calls(machine):
    """How often the compiler was called."""
    file = machine / "calls"
    return lambda: len(file.read_text().splitlines()) if file.exists() else 0
