"""Building the native library: its sources, the compiler, and a file that is whole or not there.

The build hook loads this module by its path before anything is installed: it needs the standard
library and nothing else. A library's name holds a digest of its sources and one of its content.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("engine.c", "callable.c", "links.c")
HEADERS = (
    *("blocks.h", "chain_blocks.h", "chains.h", "kernels.h", "pairs.h", "python_abi.h"),
    *("streams.h", "tape.h", "tape_cases.h", "vector_maths.h", "vector_maths32.h"),
)
FLAGS = (  # nothing that changes a value: no fast maths, and a*b + c is rounded twice
    *("-std=c99", "-O3", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-fno-math-errno"),
)
QUICKER = ("-fno-trapping-math",)  # not every compiler knows it
EXTENSIONS = {  # what a processor has for each variant, the fastest first, in the words of Linux
    "avx512": ("avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"),
    "avx2": ("avx2", "fma"),
    "baseline": (),
}
WIDE = ("-mprefer-vector-width=512",)  # compilers take half of it otherwise
VARIANTS = {
    name: (*(f"-m{word}" for word in words), *(WIDE if name == "avx512" else ()))
    for name, words in EXTENSIONS.items()
}
SECONDS = 180  # a compiler that takes longer is given up
DAY = 86_400
LONGEST = 200  # characters of what a compiler says
WORK = "building-"  # how the names of directories begin in which something is being built

# A fresh process loads what was made: a file that kills the process that loads it is not kept.
TRIAL = """
import ctypes, sys
library = ctypes.PyDLL(sys.argv[1])
library.graphc_names.restype = ctypes.c_char_p
library.graphc_callable
sys.exit(not library.graphc_names())
"""


def variants() -> tuple[str, ...]:
    """The variants that processors of this kind may run, the fastest first."""
    intel = platform.machine().lower() in ("x86_64", "amd64")
    return tuple(VARIANTS) if intel else ("baseline",)


def stem(variant: str) -> str:
    """How the library's name begins: its variant and a digest of sources, headers, options."""
    digest = hashlib.sha256(" ".join((*FLAGS, *QUICKER, *VARIANTS[variant])).encode())
    for name in (*SOURCES, *HEADERS):
        digest.update((HERE / name).read_bytes())
    return f"engine-{variant}-{digest.hexdigest()[:16]}"


def whole(directory: Path, variant: str) -> Iterator[Path]:
    """The libraries in a directory that are made from these sources and are what they were."""
    beginning = stem(variant)
    for file in sorted(directory.glob(f"{beginning}-*.so")):
        with suppress(OSError):
            if file.name == named(beginning, file.read_bytes()):
                yield file


def named(beginning: str, content: bytes) -> str:
    """The name of a library with this content."""
    return f"{beginning}-{hashlib.sha256(content).hexdigest()[:32]}.so"


def compiler() -> tuple[list[str], str]:
    """The C compiler as a command, $CC or the system's, or an empty one and the reason."""
    chosen = os.environ.get("CC")
    if chosen:
        try:
            words = shlex.split(chosen)
        except ValueError:
            words = []
        if words and (found := shutil.which(words[0])) is not None:
            return [found, *words[1:]], ""
        return [], "$CC does not name a C compiler that can be run"
    for name in ("cc", "gcc", "clang"):
        if (found := shutil.which(name)) is not None:
            return [found], ""
    return [], "there is no C compiler (cc, gcc, clang or $CC)"


def build(directory: Path, variant: str) -> tuple[Path | None, str]:
    """The library built into a directory, or None and the reason."""
    command, reason = compiler()
    if not command:
        return None, reason
    try:
        beginning = stem(variant)
        _sweep(directory)
        work = Path(tempfile.mkdtemp(prefix=WORK, dir=directory))
    except OSError as error:
        return None, f"the native library cannot be built ({_said(error)})"
    try:
        made = work / "library.so"
        sources = [str(HERE / name) for name in SOURCES]
        for quicker in (QUICKER, ()):
            options = (*FLAGS, *quicker, *VARIANTS[variant], *_linking())
            reason = _run([*command, *options, *sources, "-o", str(made), "-lm"], work)
            if not reason.startswith("failed"):  # then the options are not to blame
                break
        if reason or (reason := _tried(made, work)):
            return None, f"the C compiler {command[0]} {reason}"
        file = directory / named(beginning, made.read_bytes())
        made.chmod(0o755)
        os.replace(made, file)  # two processes at once: each file is whole, whoever is last
    except OSError as error:
        return None, f"the native library could not be written ({_said(error)})"
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return file, ""


def _run(command: Sequence[str], work: Path) -> str:
    """Nothing, after the compiler made its target in the work directory; else what it did."""
    environment = {**os.environ, "TMPDIR": str(work)}
    heard = work / "said"
    with heard.open("wb") as said:  # not a pipe, which a compiler's children may keep open
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=work,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return f"cannot be run ({_said(error)})"
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return f"took longer than {SECONDS} seconds"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if status or not (work / "library.so").is_file():
        lines = heard.read_text(encoding="utf-8", errors="replace").split("\n")
        said_of_it = [line for line in lines if "error" in line.lower()] or lines[-2:]
        return f"failed ({_plain(said_of_it[0]) or f'exit status {status}'})"
    return ""


def _tried(file: Path, work: Path) -> str:
    """Nothing if a fresh process can load the library, else what the compiler did."""
    if not sys.executable:  # Python inside another program
        return ""
    command = [sys.executable, "-I", "-S", "-c", TRIAL, str(file)]
    try:
        done = subprocess.run(
            command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "made a library that does not answer"
    if not done.returncode:
        return ""
    lines = done.stderr.decode(errors="replace").strip().split("\n")
    said = _plain(lines[-1].replace(str(file), "library"))
    return f"made a library that cannot be loaded ({said or f'status {done.returncode}'})"


def _linking() -> tuple[str, ...]:
    """Python's own functions are found in the process that loads the library."""
    return ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()


def _sweep(directory: Path) -> None:
    """Removes what processes left that were killed while they built."""
    for left in directory.glob(f"{WORK}*"):
        if time.time() - left.lstat().st_mtime > DAY and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)


def _plain(line: str) -> str:
    """A line without control characters, cut where it is long."""
    text = "".join(letter if letter.isprintable() else " " for letter in line).strip()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
