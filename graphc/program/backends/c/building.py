"""A C file as a library that is loaded: built by the system's compiler."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

from ....errors import GraphcError
from ....native.building import compiler

FLAGS = (
    *("-std=c99", "-fno-math-errno", "-ffp-contract=off", "-shared", "-fPIC"),
    "-fno-semantic-interposition",  # so that the function over points may inline the other
)
LONGEST_MESSAGE = 300


def require_compiler() -> None:
    """Nothing, or an error that says what to do without a compiler."""
    _, missing = compiler()
    if missing:
        raise GraphcError(
            f"backend='c' needs a C compiler, and {missing}; use backend='numpy', or "
            "emit(backend='c') for a file that is compiled elsewhere"
        )


@cache
def _directory() -> Path:
    """A directory of our own, which goes when the process does."""
    path = tempfile.mkdtemp(prefix="graphc-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def library(text: str, level: str = "-O2") -> ctypes.CDLL:
    """The library of a file of C, compiled at a level of optimisation."""
    require_compiler()
    name = sha256((level + text).encode()).hexdigest()[:32]
    source, target = _directory() / f"{name}.c", _directory() / f"{name}.so"
    if not target.exists():
        source.write_text(text, encoding="utf-8")
        fresh = target.with_suffix(f".{os.getpid()}.so")
        words, _ = compiler()
        command = [*words, level, *FLAGS, "-o", str(fresh), str(source), "-lm"]
        built = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if built.returncode:
            said = built.stderr.strip().splitlines() or [f"exit status {built.returncode}"]
            raise GraphcError(
                f"the C compiler {words[0]} failed ({said[0][:LONGEST_MESSAGE]}); use "
                "backend='numpy'"
            )
        os.replace(fresh, target)
    return ctypes.CDLL(str(target))
