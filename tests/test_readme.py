"""README.md tells the truth: its Python runs, its commands print what it says."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import graphc as gc
from graphc.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_two_commands_set_up_everything():
    commands = [text.strip() for kind, text in BLOCKS if kind == "sh"]
    assert commands == ["pip install . && graphc demo", "pip install -e '.[test]' && pytest"]


def test_python_blocks_print_what_the_next_block_says(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    checked = 0
    for number, (kind, text) in enumerate(BLOCKS):
        if kind == "python":
            file = tmp_path / f"block{number}.py"  # tracing a function reads its source
            file.write_text(text, encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, file, "exec"), names)
            assert BLOCKS[number + 1] == ("text", printed.getvalue())
            checked += 1
    assert checked == 3


def test_the_text_form_is_a_graph():
    text = next(text for kind, text in BLOCKS if kind == "text" and text.startswith("input"))
    graph = gc.parse(text)
    assert list(graph) == ["x", "w", "h0", "h1", "h2", "h3", "L"]
    assert gc.parse(graph.to_text()).to_text() == graph.to_text()


@pytest.mark.parametrize("block", [text for kind, text in BLOCKS if kind == "console"])
def test_commands_print_what_the_block_says(block, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    command, _, output = block.partition("\n")
    assert command.startswith("$ graphc ")
    assert main(shlex.split(command)[2:]) == 0
    assert capsys.readouterr().out == output


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target
