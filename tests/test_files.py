"""Files that users name: whatever is written, the same sentence says that it cannot be."""

from __future__ import annotations

import pytest

import graphc as gc
from graphc.cli import main

TEXT = "input x = 0.5\ny = sin(x)*x"
GRAPH = gc.parse(TEXT)
WRITERS = {
    "save": ("f.py", lambda path: GRAPH.compile("y", ["x"]).save(path)),
    "draw": ("f.dot", lambda path: GRAPH.draw(path)),
    "explore": ("f.html", lambda path: GRAPH.explore(path)),
    "curve": ("f.svg", lambda path: gc.check(GRAPH).plot(str(path))),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_cannot_be_written_is_told_in_one_sentence(writer, tmp_path):
    name, write = WRITERS[writer]
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 100
    (tmp_path / f"folder_{name}").mkdir()
    for path in (tmp_path / "missing" / name, tmp_path / f"folder_{name}"):
        with pytest.raises(gc.GraphcError, match=r"cannot write '.*(no such|is a dir).*; name"):
            write(path)


@pytest.mark.parametrize("command", ["emit", "explain"])
def test_a_command_says_the_same(command, tmp_path, capsys):
    (tmp_path / "g.gc").write_text(TEXT)
    missing = str(tmp_path / "missing" / "f.md")
    wanted = [] if command == "emit" else ["--of", "y"]
    assert main([command, str(tmp_path / "g.gc"), *wanted, "-o", missing]) == 2
    assert "no such file or directory; name a file" in capsys.readouterr().err
