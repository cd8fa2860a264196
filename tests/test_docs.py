"""The documentation tells the truth: its Python runs, its tables are current."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

from graphc.table.functions import FUNCTIONS

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# by docs/build_site.py, when the site is built
MADE = {"api.md", "errata.md", "functions.md", "gallery.md", "matrix-identities.md"} | {
    "pages/fig27.html",
    "pages/softmax_regression.html",
}
PAGES = sorted(page.name for page in DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_print_what_the_next_block_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    if any("import dask" in text for kind, text in blocks if kind == "python"):
        pytest.importorskip("dask", reason="Dask is not installed: its page is not run")
    names: dict[str, object] = {}
    for number, (kind, text) in enumerate(blocks):
        if kind == "python":
            file = tmp_path / f"block{number}.py"  # tracing a function reads its source
            file.write_text(text, encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, file, "exec"), names)
            assert ("text", printed.getvalue()) == blocks[number + 1]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / page).read_text(encoding="utf-8")):
        known = target.startswith("http") or target in MADE or (DOCS / target).exists()
        assert known, target


def test_every_function_has_its_line_in_the_table():
    spec = importlib.util.spec_from_file_location("make_functions", DOCS / "make_functions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for record in FUNCTIONS.values():
        if record.name not in module.HIDDEN and record.origin == "graphc":
            assert f"| `{module.signature(record)}` | " in module.table(), record.name
