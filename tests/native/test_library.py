"""The native library is found or built, whole and by its owner, or NumPy runs everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphc.native import building, library

ROOT = Path(__file__).parents[2]
found = library._found.__wrapped__  # as in a process that has not asked yet
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(autouse=True)
def on_a_machine(machine):
    """Every test has its own machine."""


def libraries(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.rglob("*.so"))


# What is there is used.


def test_built_once_and_found_again(machine, stand_in, calls, built):
    stand_in()
    first = found()
    assert first.is_there and first.reason == "the native library, built just now"
    assert first.file.parent == machine / "cache" and first.file.name == built.name
    again = found()
    assert again.is_there and again.reason == "the native library that was built before"
    assert calls() == 1


def test_an_installed_library_needs_no_compiler(machine, built, monkeypatch):
    monkeypatch.setenv("PATH", "")
    (machine / "installed" / built.name).write_bytes(built.read_bytes())
    assert found().reason == "the native library that was installed"
    assert not any((machine / "cache").iterdir())


def test_a_cache_that_cannot_be_written_to_is_read(machine, built, monkeypatch):
    monkeypatch.setenv("PATH", "")
    (machine / "cache" / built.name).write_bytes(built.read_bytes())
    (machine / "cache" / built.name).chmod(0o555)
    (machine / "cache").chmod(0o555)
    assert found().is_there


def test_turned_off(monkeypatch, stand_in, calls):
    stand_in()
    monkeypatch.setenv("GRAPHC_NATIVE", "0")
    assert library.native().reason == "GRAPHC_NATIVE=0 turns the native engines off"
    assert calls() == 0


def test_a_process_asks_once():
    assert library._found() is library._found()


def test_threads_without_a_lock_would_share_a_point(monkeypatch, stand_in):
    stand_in()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert found().reason == "the native engines need the interpreter's lock"


# Compilers.


def test_no_compiler(machine, monkeypatch):
    monkeypatch.setenv("PATH", str(machine))
    assert found().reason == "there is no C compiler (cc, gcc, clang or $CC)"
    assert not any((machine / "cache").iterdir())


@pytest.mark.parametrize("cc", ["nonsense", "/nowhere/cc -O2", "'unbalanced", "   ", "/"])
def test_not_a_compiler(monkeypatch, cc):
    monkeypatch.setenv("CC", cc)
    assert found().reason == "$CC does not name a C compiler that can be run"


FAILURES = {
    "exit 1": "failed (exit status 1)",
    "echo 'x.c:1: fatal error: no' >&2; echo 'compilation terminated.' >&2; exit 1": "failed "
    "(x.c:1: fatal error: no)",
    "exit 0": "failed (exit status 0)",
    "echo garbage > $target": "made a library that cannot be loaded (",
    ": > $target": "made a library that cannot be loaded (",
    "made; truncate -s 9000 $target": "made a library that cannot be loaded (",
    "mkdir -p $target": "failed (exit status 0)",
    "printf 'error \\033[31m\\377 red\\n%0500d' 1 >&2; exit 1": "failed (error  [31m",
}


@pytest.mark.parametrize("script", FAILURES)
def test_a_failing_compiler(machine, stand_in, script):
    file = stand_in(script)
    reason = found().reason
    assert reason.startswith(f"the C compiler {file} {FAILURES[script]}"), reason
    assert reason.isprintable() and len(reason) < 600
    assert not libraries(machine / "cache")
    assert not list((machine / "cache").glob(f"{building.WORK}*"))


def test_a_file_that_is_no_program(stand_in):
    stand_in().write_bytes(b"\x7fELF nonsense")
    assert "cannot be run" in found().reason or "failed" in found().reason


def test_bin_false(monkeypatch):
    monkeypatch.setenv("CC", "/bin/false")
    assert "failed (exit status 1)" in found().reason


def test_options_in_the_name_of_the_compiler(machine, stand_in, monkeypatch):
    file = stand_in()
    monkeypatch.setenv("CC", f"{file} -O0 '-DNAME=a b'")
    assert found().is_there
    words = (machine / "calls").read_text().split()
    assert words[:3] == ["-O0", "-DNAME=a", "b"] and words.index("-O3") > 0


def test_a_compiler_that_does_not_know_an_option(stand_in, calls):
    stand_in('case "$*" in *no-trapping*) echo "error: unrecognized" >&2; exit 1;; esac; made')
    assert found().is_there
    assert calls() == 2


def test_a_compiler_that_hangs(stand_in, monkeypatch):
    """Its children too, which hold what it was given."""
    monkeypatch.setattr(building, "SECONDS", 0.5)
    stand_in("sleep 60 & sleep 60")
    started = time.monotonic()
    assert "took longer than 0.5 seconds" in found().reason
    assert time.monotonic() - started < 20


def test_a_library_that_kills_its_process_is_not_kept(machine, monkeypatch, tmp_path):
    """It is tried in a process of its own."""
    command, reason = building.compiler()
    if not command:
        pytest.skip(reason)
    source = tmp_path / "bad.c"
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) void f(void) {abort();}\n")
    made = tmp_path / "bad.so"
    subprocess.run([*command, "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
    script = tmp_path / "cc"
    script.write_text(
        f'#!/bin/sh\nfor w; do [ "$last" = -o ] && target=$w; last=$w; done\ncp {made} "$target"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    assert "cannot be loaded (status -6)" in found().reason


# A failure is remembered.


def test_a_failure_is_not_repeated(machine, stand_in, calls):
    stand_in("echo 'error: broken' >&2; exit 1")
    first = found().reason
    tried = calls()
    assert tried and found().reason.startswith(first) and calls() == tried
    (note,) = (machine / "cache").glob("*.failed")
    assert str(note) in found().reason


def test_a_failure_is_forgotten_after_a_day(machine, stand_in, calls):
    file = stand_in("exit 1")
    found()
    tried = calls()
    (note,) = (machine / "cache").glob("*.failed")
    for age in (building.DAY + 5, -building.DAY):  # in the past, in the future
        os.utime(note, (time.time() - age,) * 2)
        found()
        tried, before = calls(), tried
        assert tried > before
    assert file.exists()


def test_another_compiler_is_tried(stand_in, calls):
    stand_in("exit 1")
    assert not found().is_there
    stand_in("made # mended")
    assert found().is_there


# Directories that others can write to.


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o720])
def test_a_cache_that_others_can_write_to_is_not_used(machine, stand_in, built, mode):
    stand_in()
    (machine / "cache" / built.name).write_bytes(built.read_bytes())
    (machine / "cache").chmod(mode)
    one = found()
    assert one.is_there and one.file.parent == machine / "temporary" / f"graphc-{os.geteuid()}"
    assert libraries(machine / "cache") == [built.name]  # as it was


@as_root
@pytest.mark.parametrize("place", ["cache", "", "temporary"])
def test_a_cache_of_somebody_else_is_not_used(machine, stand_in, built, place):
    """Nor one in a directory of somebody else, who may put another one there."""
    stand_in()
    for name in ("cache", "temporary"):
        (machine / name).mkdir(exist_ok=True)
    (machine / "cache" / built.name).write_bytes(built.read_bytes())
    os.chown(machine / place, 12345, 12345)
    one = found()
    assert one.is_there
    if place == "":  # everything is in it: a directory of this process alone
        assert one.file.parent.name.startswith("graphc-")
        assert one.file.parent != machine / "temporary" / f"graphc-{os.geteuid()}"
    else:
        assert one.file.parent != machine / place


@as_root
def test_a_link_of_somebody_else_is_not_followed(machine, stand_in, built, monkeypatch):
    stand_in()
    (machine / "cache" / built.name).write_bytes(built.read_bytes())
    link = machine / "link"
    link.symlink_to(machine / "cache")
    os.lchown(link, 12345, 12345)
    for path in (link, link / "inside"):
        monkeypatch.setenv("GRAPHC_CACHE", str(path))
        assert found().file.parent.parent == machine / "temporary"


def test_a_link_of_ones_own_is_followed(machine, stand_in, monkeypatch):
    stand_in()
    (machine / "link").symlink_to(machine / "cache")
    monkeypatch.setenv("GRAPHC_CACHE", str(machine / "link"))
    assert found().file.parent == machine / "link"


def test_a_link_to_what_others_can_write_to_is_not_followed(machine, stand_in, monkeypatch):
    stand_in()
    (machine / "cache").chmod(0o777)
    (machine / "link").symlink_to(machine / "cache")
    monkeypatch.setenv("GRAPHC_CACHE", str(machine / "link"))
    assert found().file.parent.parent == machine / "temporary"


def test_a_cache_that_others_can_replace_is_not_used(machine, stand_in, monkeypatch):
    stand_in()
    inside = machine / "open" / "cache"
    inside.mkdir(parents=True, mode=0o700)
    (machine / "open").chmod(0o777)
    monkeypatch.setenv("GRAPHC_CACHE", str(inside))
    assert found().file.parent.parent == machine / "temporary"
    (machine / "open").chmod(0o1777)  # as /tmp is
    assert found().file.parent.parent == machine / "temporary"  # found where it was built
    stand_in("made # another compiler")
    for file in (machine / "temporary").rglob("*.so"):
        file.unlink()
    assert found().file.parent == inside


@as_root
def test_a_file_of_somebody_else_is_not_loaded(machine, built, monkeypatch):
    """It may have been put there when the directory was open."""
    monkeypatch.setenv("PATH", "")
    file = machine / "cache" / built.name
    file.write_bytes(built.read_bytes())
    assert found().is_there
    os.chown(file, 12345, 12345)
    assert not found().is_there


def test_a_file_that_others_can_write_to_is_not_loaded(machine, built, monkeypatch):
    monkeypatch.setenv("PATH", "")
    file = machine / "cache" / built.name
    file.write_bytes(built.read_bytes())
    file.chmod(0o777)
    assert not found().is_there


# Homes.


@pytest.mark.parametrize("home", [None, "", "relative", "/proc/none", "/dev/null/home"])
def test_a_home_that_is_of_no_use(machine, stand_in, monkeypatch, home):
    stand_in()
    monkeypatch.chdir(machine / "installed")
    monkeypatch.delenv("GRAPHC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setattr(library.os.path, "expanduser", lambda path: home or path)
    one = found()
    assert one.is_there and one.file.parent.parent == machine / "temporary"
    assert not any((machine / "installed").iterdir())


def test_the_home_is_used(machine, stand_in, monkeypatch):
    stand_in()
    monkeypatch.delenv("GRAPHC_CACHE")
    assert found().file.parent == machine / "home" / ".cache" / "graphc"
    assert (machine / "home" / ".cache" / "graphc").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine / "cache"))
    assert found().file.parent == machine / "cache" / "graphc"


def test_nothing_can_be_written(machine, stand_in, monkeypatch, calls):
    stand_in()
    monkeypatch.setenv("GRAPHC_CACHE", "/dev/null/cache")
    monkeypatch.setattr(library.tempfile, "tempdir", "/dev/null/temporary")
    library._temporary.cache_clear()
    one = found()
    library._temporary.cache_clear()
    assert one.reason == "there is no directory in which the native library could be built"
    assert calls() == 0


def test_sources_that_are_not_there(machine, monkeypatch, stand_in):
    stand_in()
    monkeypatch.setattr(building, "HERE", machine)
    assert found().reason == "the sources of the native library are not there"
    assert building.build(machine, "baseline")[0] is None


# Files that are not what their names say.


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "directory", "link"])
def test_a_damaged_library_is_built_anew(machine, stand_in, built, calls, damage):
    stand_in()
    content, file = built.read_bytes(), machine / "cache" / built.name
    if damage == "directory":
        file.mkdir()
        (file / "inside").touch()
    elif damage == "link":
        file.symlink_to("/nowhere")
    else:
        changed = bytearray(content)
        changed[len(content) // 2] ^= 1
        file.write_bytes({"cut": content[:5000], "empty": b"", "changed": bytes(changed)}[damage])
    one = found()
    assert calls() == 1
    if damage == "directory":
        assert not one.is_there and "could not be written" in one.reason
    else:
        assert one.is_there and one.file.read_bytes() == content


def test_a_library_that_cannot_be_loaded_is_built_anew(machine, stand_in, calls):
    stand_in()
    name = building.named(building.stem(library.fastest()), b"of another kind of machine")
    (machine / "cache" / name).write_bytes(b"of another kind of machine")
    assert found().is_there and calls() == 1


def test_a_library_of_other_sources_is_not_taken(machine, stand_in, built, calls, monkeypatch):
    stand_in()
    kind, digest, content = built.stem.rsplit("-", 2)
    (machine / "cache" / f"{kind}-{digest[::-1]}-{content}.so").write_bytes(built.read_bytes())
    assert found().is_there and calls() == 1


def test_a_library_without_a_function_is_not_taken(machine, stand_in, calls, monkeypatch):
    stand_in()
    monkeypatch.setitem(library.SIGNATURES, "graphc_of_tomorrow", (None, ()))
    assert found().reason == "the native library was built but cannot be loaded"
    found()
    assert calls() == 1


def test_what_a_killed_process_left_is_swept(machine, stand_in):
    stand_in()
    old, new = (machine / "cache" / f"{building.WORK}{name}" for name in ("old", "new"))
    for left in (old, new):
        left.mkdir()
        (left / "part.o").touch()
    os.utime(old, (time.time() - 2 * building.DAY,) * 2)
    assert found().is_there
    assert new.exists() and not old.exists()


# Several at once.

ASK = """
import json, sys
from pathlib import Path
from graphc.native import library
library.HERE = Path(sys.argv[1])
one = library.native()
print(json.dumps([one.is_there, one.reason, str(one.file)]))
"""


def ask(machine: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that asks for the library."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-c", ASK, str(machine / "installed")]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once(machine, stand_in, built, calls):
    """One builds, the other waits; nobody sees half a library under its name."""
    stand_in(f'head -c 9000 {built} > "$target"; sleep 2; made')
    both = [ask(machine) for _ in range(2)]
    seen: set[bytes] = set()
    while any(process.poll() is None for process in both):
        seen |= {file.read_bytes() for file in (machine / "cache").glob("*.so")}
        time.sleep(0.02)
    answers = [json.loads(process.communicate()[0]) for process in both]
    assert [answer[0] for answer in answers] == [True, True], answers
    assert calls() == 1
    assert seen <= {built.read_bytes()}
    assert libraries(machine / "cache") == [built.name]


def test_two_processes_where_files_cannot_be_locked(machine, stand_in, built, calls):
    stand_in("sleep 1; made")
    (machine / "cache" / f"{building.stem(library.fastest())}.lock").mkdir()
    both = [ask(machine) for _ in range(2)]
    answers = [json.loads(process.communicate()[0]) for process in both]
    assert [answer[0] for answer in answers] == [True, True], answers
    assert calls() == 2
    assert libraries(machine / "cache") == [built.name]


def test_two_processes_and_a_failing_compiler(machine, stand_in, calls):
    stand_in("sleep 1; exit 1")
    both = [ask(machine) for _ in range(2)]
    answers = [json.loads(process.communicate()[0]) for process in both]
    assert [answer[0] for answer in answers] == [False, False]
    assert calls() == 2  # with and without the options that not every compiler knows


# What compile makes of it.

COMPILE = """
import json, os, sys
from pathlib import Path
import numpy as np
if "WITHOUT" in os.environ:
    sys.modules["_ctypes"] = sys.modules["ctypes"] = None
else:
    from graphc.native import library
    library.HERE = Path(sys.argv[1])
import graphc as gc
g = gc.parse("input x y\\nz = x*y + max(x, y)")
f = g.compile("z")
one, many = f(x=2.0, y=3.0), f(x=np.array([2.0, -1.0]), y=3.0)
again = g.compile("z", "x")
print(json.dumps([f.plan.engine, f.plan.reason, one[0], many[0].tolist(), many[1]["x"].tolist()]))
"""


@pytest.mark.parametrize(
    ("environment", "engine", "reason"),
    [
        ({}, "blocks", "native blocks of points"),
        ({"GRAPHC_NATIVE": "0"}, "numpy", "GRAPHC_NATIVE=0 turns the native engines off"),
        ({"WITHOUT": "ctypes"}, "numpy", "this Python was built without ctypes"),
        ({"CC": "nonsense"}, "numpy", "$CC does not name a C compiler that can be run"),
        ({"CC": "/bin/false"}, "numpy", "the C compiler /bin/false failed (exit status 1)"),
    ],
    ids=["native", "off", "ctypes", "none", "failing"],
)
def test_compiled_functions_are_right_and_say_what_ran(
    machine, stand_in, environment, engine, reason
):
    stand_in()
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, str(machine / "installed")],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    ran, why, one, many, slopes = json.loads(done.stdout)
    assert done.stderr == ""
    assert (ran, one, many, slopes) == (engine, 9.0, [9.0, 0.0], [3.0, 3.0])
    assert reason in why and why.count(reason) == 1
