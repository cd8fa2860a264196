"""graphc doctor: what this machine has, and which engine will run."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from .. import __version__
from ..errors import GraphcError
from ..native.building import compiler
from ..program.backends.native import missing
from ..write.tables import Block, Table, print_page
from .writing import print_json

KINDS = {"scalars": "of scalars", "large": "of scalars, large", "tensors": "with tensors"}
NEEDED = ("numpy", "sympy", "mpmath", "networkx", "rich")
EXTRAS = {  # what they are for
    "scipy": "sparse=True, result='sparse', gc.flat for its optimizers",
    "dask": "map and reduce beyond one machine",
    "cupy": "backend='cupy' on an NVIDIA GPU",
}
SECONDS = 10  # for a program to say its version
NONE = "not here"


def register(commands: Any) -> None:
    """Adds the command."""
    doctor = commands.add_parser(
        "doctor", help="what this machine has: engines, compiler, drawing", allow_abbrev=False
    )
    doctor.add_argument("--json", action="store_true", help="for programs")
    doctor.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    found = facts()
    if options.json:
        print_json(found)
    else:
        print_page(page(found))


# Facts.


def facts() -> dict[str, Any]:
    """Everything that is told; the library is built if that is what compiling would do."""
    return {
        "graphc": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": _processors(),
        "engines": _engines(),
        "library": _library(),
        "compiler": _compiler(),
        "packages": {name: _version(name) for name in NEEDED},
        "extras": {name: _extra(name) for name in EXTRAS},
        "drawing": _drawing(),
    }


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _engines() -> dict[str, dict[str, str]]:
    """For each kind of graph the engine, and why it is not another one."""
    why = missing()
    if why:
        return {
            kind: {"engine": "numpy", "reason": why} for kind in ("scalars", "large", "tensors")
        }
    return {
        "scalars": {"engine": "blocks", "reason": "native, one point or many at a time"},
        "large": {"engine": "tape", "reason": "native, one point of a large graph of scalars"},
        "tensors": {
            "engine": "numpy",
            "reason": "NumPy, with native chains of element-wise operations",
        },
    }


def _library() -> dict[str, Any]:
    """Where the native library is, or why there is none, and where it would be kept."""
    if find_spec("_ctypes") is None:
        return {"file": None, "variant": None, "reason": missing(), "cache": []}
    from ..native.library import is_private, native, places

    here = native()
    cache = [
        {"path": str(path), "exists": path.exists(), "private": is_private(path)}
        for path in (places() if hasattr(os, "geteuid") else ())
    ]
    file = None if here.file is None else str(here.file)
    return {"file": file, "variant": here.variant or None, "reason": here.reason, "cache": cache}


def _compiler() -> dict[str, Any]:
    command, reason = compiler()
    return {"command": command, "says": _said([*command, "--version"]) if command else reason}


def _said(command: list[str]) -> str:
    """The first line that a program prints."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "it does not say its version"
    lines = done.stdout.decode(errors="replace").strip().splitlines() or [""]
    line = "".join(letter if letter.isprintable() else " " for letter in lines[0])
    return line if not done.returncode and line else "it does not say its version"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extra(name: str) -> dict[str, Any]:
    """The version and what it is for; CuPy, a package of many names, needs a device too."""
    if find_spec(name) is None:
        return {"version": None, "for": EXTRAS[name], "problem": None}
    problem = None
    if name == "cupy":
        from ..program.backends.cupy.device import require_device

        try:
            require_device()
        except GraphcError as error:
            problem = str(error)
    return {"version": _version(name) or "unknown", "for": EXTRAS[name], "problem": problem}


def _drawing() -> dict[str, Any]:
    """What turns DOT into pictures: the system's program first, then the libraries of a wheel."""
    program = shutil.which("dot")
    return {
        "dot": program,
        "says": _said([program, "-V"]) if program else None,
        "pygraphviz": _version("pygraphviz"),
    }


# The page.


def page(found: dict[str, Any]) -> list[Block]:
    """The facts for people."""
    first = (
        f"graphc {found['graphc']}, Python {found['python']}, {found['system']}, "
        f"{found['processors']} processors"
    )
    packages = [(name, version or NONE, "") for name, version in found["packages"].items()]
    packages += [
        (name, one["version"] or NONE, one["problem"] or one["for"])
        for name, one in found["extras"].items()
    ]
    return [
        first,
        Table("engines of compile()", ("graph", "engine", "why"), list(_engine_rows(found))),
        Table("what they are made of", ("what", "here"), list(_parts(found))),
        Table("packages", ("name", "version", "for"), packages),
        "Numbers are float64 unless dtype= says otherwise; threads= splits arrays of points among "
        "processors, 1 unless you say more. GRAPHC_NATIVE=0 turns the native engines off, CC "
        "chooses the compiler, GRAPHC_CACHE the directory of the library.",
    ]


def _engine_rows(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for kind, one in found["engines"].items():
        yield KINDS[kind], one["engine"], one["reason"]


def _parts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    library, compiling, drawing = found["library"], found["compiler"], found["drawing"]
    yield "library", library["reason"]
    if library["file"]:
        yield "", library["file"]
        yield "variant", library["variant"]
    yield "C compiler", ": ".join(filter(None, (" ".join(compiling["command"]), compiling["says"])))
    for place in library["cache"]:
        state = "" if place["private"] else " (not there)"
        if place["exists"] and not place["private"]:
            state = " (not used: others can write to it, or put another one there)"
        yield "cache", f"{place['path']}{state}"
    if drawing["dot"]:
        yield "drawing", f"{drawing['dot']}: {drawing['says']}"
    if drawing["pygraphviz"]:
        yield "drawing", f"pygraphviz {drawing['pygraphviz']}, which brings Graphviz along"
    if not drawing["dot"] and not drawing["pygraphviz"]:
        yield "drawing", "DOT text only; pip install pygraphviz, or install Graphviz"
