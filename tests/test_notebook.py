"""The notebook is made from its text, runs from top to bottom, and shows what it promises."""

import importlib.util
import os
from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "tour.ipynb"


def test_it_is_current():
    spec = importlib.util.spec_from_file_location("make_tour", ROOT / "docs" / "make_tour.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert NOTEBOOK.read_text(encoding="utf-8") == module.notebook()


@pytest.fixture(scope="module")
def outputs():
    """Everything that running the notebook put out."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    client = nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3")
    client.execute()  # an error in a cell is raised
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_nothing_is_warned_about(outputs):
    assert not [output.text for output in outputs if output.get("name") == "stderr"]


def test_graphs_and_solutions_show_themselves(outputs):
    kinds = [set(output.data) for output in outputs if "data" in output]
    assert sum("image/svg+xml" in kind for kind in kinds) == 2
    assert any("text/html" in kind or "text/latex" in kind for kind in kinds)


def test_what_is_printed_is_true(outputs):
    printed = "".join(output.get("text", "") for output in outputs)
    assert "d L / d w = o*x*(1 - o)*(2*o - 2)" in printed
    assert "ok: 3 derivatives (3 correct)" in printed
    assert "NOT OK: 2 derivatives" in printed
    assert "200 steps of adam: L went from" in printed
