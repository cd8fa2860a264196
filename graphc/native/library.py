"""The native library: the one that was installed, or built at first use, or none.

It is looked for beside this file, where the build hook puts it, then in a cache directory, and
built there by the system's C compiler if it is in neither place. Nobody but the user and the system
may be able to write to that directory; a library whose content is not what its name says, or that
cannot be loaded, is not taken. Without a library NumPy runs everything.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .building import DAY, EXTENSIONS, HERE, SECONDS, build, compiler, stem, variants, whole

PRIVATE = 0o700
UNKNOWN = 65534  # the owner of what stands outside of a container
PAUSE = 0.05  # seconds between two looks at a lock


@dataclass(frozen=True)
class Native:
    """What this machine has: the library, or the reason why there is none."""

    library: Any  # ctypes.PyDLL, or None
    reason: str
    variant: str = ""
    file: Path | None = None

    @property
    def is_there(self) -> bool:
        return self.library is not None


def native() -> Native:
    """The library of this process; GRAPHC_NATIVE=0 turns it off."""
    if os.environ.get("GRAPHC_NATIVE") == "0":
        return Native(None, "GRAPHC_NATIVE=0 turns the native engines off")
    return _found()


@cache
def _found() -> Native:
    """What is found is asked for once in a process, a failure too."""
    if not hasattr(os, "geteuid"):
        return Native(None, "the native engines are not made for this system")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return Native(None, "the native engines need the interpreter's lock")
    variant = fastest()
    try:
        beginning = stem(variant)
    except OSError:
        return Native(None, "the sources of the native library are not there")
    where = [(HERE, "the native library that was installed")]
    where += [(path, "the native library that was built before") for path in directories()]
    for path, reason in where:
        if (one := _kept(path, variant, reason)) is not None:
            return one
    if not compiler()[0]:
        return Native(None, compiler()[1])
    for path in _writable():
        return _built(path, beginning, variant)
    return Native(None, "there is no directory in which the native library could be built")


def fastest() -> str:
    """The fastest variant that this processor runs."""
    try:
        words = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return "baseline"
    return next(variant for variant in variants() if {*EXTENSIONS[variant]}.issubset(words))


# Finding.


def _kept(directory: Path, variant: str, reason: str) -> Native | None:
    """The first library of a directory that is whole and can be loaded."""
    for file in whole(directory, variant):
        try:
            if directory != HERE and not _is_guarded(file.lstat()):
                continue
            library = ctypes.PyDLL(str(file))
            _declare(library)
        except (OSError, AttributeError):
            continue  # of another kind of machine, perhaps, that has the same home
        return Native(library, reason, variant, file)
    return None


def directories() -> Iterator[Path]:
    """Where a library may be kept: directories that nobody else can write to."""
    yield from filter(is_private, places())


def is_private(path: Path) -> bool:
    try:
        return _is_guarded(os.lstat(path)) and path.is_dir() and _way_is_guarded(path)
    except OSError:
        return False


def places() -> Iterator[Path]:
    """$GRAPHC_CACHE, or the user's cache; then one beside the temporary files."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".cache")
    if chosen := os.environ.get("GRAPHC_CACHE"):
        yield Path(chosen).absolute()
    elif os.path.isabs(home):  # a user without a home has none
        yield Path(home, "graphc")
    with suppress(OSError):
        yield Path(tempfile.gettempdir(), f"graphc-{os.geteuid()}").absolute()


def _is_guarded(facts: os.stat_result) -> bool:
    """Whether something is the user's or the system's own, and nobody else can write to it."""
    link = stat.S_ISLNK(facts.st_mode)  # its permissions mean nothing
    shared = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return facts.st_uid in (0, os.geteuid()) and (link or not shared)


def _way_is_guarded(path: Path) -> bool:
    """Whether nobody else can put another directory where this one stands."""
    real = Path(os.path.realpath(path))
    if not _is_guarded(real.stat()):
        return False
    for part in {*path.parents, *real.parents}:
        facts = os.lstat(part)
        if facts.st_uid not in (0, os.geteuid(), UNKNOWN):
            return False
        link = stat.S_ISLNK(facts.st_mode)
        if facts.st_mode & stat.S_IWOTH and not (link or facts.st_mode & stat.S_ISVTX):
            return False
    return True


# Building.


def _writable() -> Iterator[Path]:
    """Directories in which a library can be built; the last one is this process's alone."""
    for path in places():
        try:
            path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError:
            continue
        if is_private(path):
            yield path
    if (alone := _temporary()) is not None:
        yield alone


@cache
def _temporary() -> Path | None:
    """A directory of this process alone."""
    import atexit
    import shutil

    try:
        path = tempfile.mkdtemp(prefix="graphc-")
    except OSError:
        return None
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def _built(directory: Path, beginning: str, variant: str) -> Native:
    """The library, built now unless another process just did, or unless that failed lately."""
    with _one_at_a_time(directory / f"{beginning}.lock"):
        reason = "the native library, built just now"
        if (one := _kept(directory, variant, reason)) is not None:
            return one
        note = directory / f"{beginning}-{_compiler_digest()}.failed"
        if failure := remembered(note):
            return Native(None, failure)
        _tell("graphc builds its native library; this happens once and takes some seconds")
        file, failure = build(directory, variant)
        if file is not None:
            if (one := _kept(directory, variant, reason)) is not None:
                return one
            failure = "the native library was built but cannot be loaded"
        with suppress(OSError):
            note.write_text(failure, encoding="utf-8")
        return Native(None, failure)


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """One process builds while others wait; where files cannot be locked, each of them builds."""
    try:
        import fcntl

        file = lock.open("w")
    except (ImportError, OSError):
        yield
        return
    with file:
        given_up = time.monotonic() + 2 * SECONDS
        while time.monotonic() < given_up:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(PAUSE)
            except OSError:
                break
        yield


def _compiler_digest() -> str:
    """What tells one compiler from another, and from itself after it was changed."""
    command = compiler()[0]
    facts = os.stat(command[0])
    parts = (*command, facts.st_size, facts.st_mtime_ns)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def remembered(note: Path) -> str:
    """Why building failed within the last day; nothing if it did not."""
    try:
        if not 0 <= time.time() - note.stat().st_mtime < DAY:
            return ""
        reason = note.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f"{reason}; it is tried again after a day, or without {note}" if reason else ""


def _tell(sentence: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(sentence, file=sys.stderr, flush=True)


POINTER, INTEGER = ctypes.c_void_p, ctypes.c_int64
SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "graphc_plan": (POINTER, (ctypes.c_int, *(POINTER,) * 5)),
    "graphc_plan_free": (None, (POINTER,)),
    "graphc_sum": (ctypes.c_double, (POINTER, INTEGER)),
    "graphc_slots": (INTEGER, (POINTER,)),
    "graphc_point_start": (None, (POINTER, POINTER)),
    "graphc_point": (None, (POINTER, POINTER)),
    "graphc_names": (ctypes.c_char_p, ()),
    "graphc_tape_names": (ctypes.c_char_p, ()),
    "graphc_callable": (ctypes.py_object, (POINTER, ctypes.py_object)),
    "graphc_door": (ctypes.py_object, (*(POINTER,) * 4, ctypes.py_object)),
    "graphc_link": (ctypes.py_object, (POINTER, ctypes.py_object)),
    "graphc_links": (ctypes.py_object, (ctypes.py_object,)),
    "graphc_buffers": (ctypes.py_object, (POINTER, POINTER, ctypes.py_object)),
}
RELEASING = {  # these run long: other threads go on meanwhile
    "graphc_run": (
        ctypes.c_int,
        (POINTER, POINTER, POINTER, POINTER, ctypes.c_int, INTEGER, INTEGER),
    ),
    "graphc_vector": (None, (ctypes.c_int, ctypes.c_int, POINTER, POINTER, INTEGER)),
    "graphc_tape_check": (INTEGER, (POINTER, INTEGER)),
    "graphc_tape_mark": (INTEGER, (POINTER, INTEGER, INTEGER, POINTER)),
    "graphc_tape_group": (None, (POINTER, INTEGER, POINTER, POINTER)),
    "graphc_tape_values": (None, (POINTER, INTEGER, POINTER)),
    "graphc_tape_reverse": (None, (POINTER, INTEGER, POINTER, POINTER, POINTER)),
    "graphc_tape_slopes": (None, (POINTER, INTEGER, POINTER, POINTER, POINTER)),
    "graphc_tape_pull": (None, (POINTER, INTEGER, *(POINTER,) * 4)),
    "graphc_tape_edges": (INTEGER, (POINTER, INTEGER, *(POINTER,) * 8)),
    "graphc_pairs": (
        ctypes.c_int,
        (
            *(*(POINTER,) * 3, INTEGER, POINTER, *(INTEGER,) * 4),
            *(POINTER, INTEGER, POINTER, POINTER),
        ),
    ),
    "graphc_pairs_put": (None, (POINTER, POINTER, *(INTEGER,) * 3, POINTER)),
    "graphc_pairs_reach": (ctypes.c_int, (POINTER, POINTER, *(INTEGER,) * 4, POINTER)),
}


def _declare(library: Any) -> None:
    """Types of arguments and results; functions that run long give up the interpreter's lock."""
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    for name, (result, arguments) in RELEASING.items():
        prototype = ctypes.CFUNCTYPE(result, *arguments)
        setattr(library, name, prototype((name, library)))


def address(array: Any) -> int:
    """Where an array's memory begins; `array.ctypes.data` says the same three times slower."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # it must not be written to, or holds nothing
        return int(array.ctypes.data)
