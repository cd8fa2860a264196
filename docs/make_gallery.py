"""The gallery, made from examples: each graph with its picture, text and interactive page."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import graphc as gc

EXAMPLES = Path(__file__).parent.parent / "examples"
POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
STEPS = {"x1": "1/10", "x2": "2/10", "x3": "3/10", "x4": "4/10"}
# file: settings of the drawing and of the page
GRAPHS = {
    "fig27.gc": {"at": POINT},
    "neuron.gc": {"at": {}},
    "hidden_loss.gc": {"at": {}},
    "ladder5.gc": {"at": {}},
    "recurrence.gc": {"at": STEPS},
    "huber.gc": {"at": {}},
    "stop.gc": {"at": {}},
    "tensor/dense_layer.gc": {"at": {}},
}
HEAD = """# Gallery

Every picture and every interactive page was made when the site was built, from the text beside it:
`graphc draw FILE -o picture.svg` and `graphc explore FILE -o page.html` do the same. In a picture
the value stands at a node in black, the local derivative at an edge in blue, and the derivative of
the output by a node in red.
"""


def anchor(name: str) -> str:
    """The anchor of an example on its page."""
    return name.replace(".", "-").replace("_", "-").lower()


def subject(text: str) -> str:
    """The first line of an example: what it shows."""
    return text.splitlines()[0].strip('#" ')


def gallery() -> dict[str, str | bytes]:
    """{path on the site: content}: the page, a picture and an interactive page per graph."""
    made: dict[str, str | bytes] = {}
    lines = [HEAD]
    with TemporaryDirectory() as folder:
        for file, settings in GRAPHS.items():
            graph = gc.load(EXAMPLES / file)
            text = (EXAMPLES / file).read_text(encoding="utf-8")
            picture, page = (Path(folder, f"{graph.name}.{suffix}") for suffix in ("svg", "html"))
            graph.draw(picture, **settings)
            graph.explore(page, **settings)
            made[f"gallery/{picture.name}"] = picture.read_bytes()
            made[f"gallery/{page.name}"] = page.read_bytes()
            declared = "\n".join(text.splitlines()[1:])
            lines += [
                f"## {graph.name} {{ #{graph.name} }}",
                subject(text),
                # a link to itself: wide graphs are read at their full size
                f"[![The graph {graph.name}](gallery/{picture.name})](gallery/{picture.name})",
                f"```text\n{declared}\n```",
                f"[Explore it](gallery/{page.name}), the page of `examples/{file}`",
            ]
    made["gallery.md"] = "\n\n".join(lines) + "\n"
    return made


def notebook() -> list[str]:
    """The cells of the notebook, as Markdown."""
    cells = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    kinds = [cell["cell_type"] for cell in cells]
    return [
        f"```python\n{text}\n```" if kind == "code" else text.removeprefix("# ")
        for kind, text in zip(kinds, texts, strict=True)
    ]


def programs() -> str:
    """The page of all examples: what each shows, and its text."""
    lines = ["# Programs and graphs", "The files of `examples/`; the tests run every one of them."]
    for title, pattern, kind in (
        ("Programs", "*.py", "python"),
        ("Graphs", "*.gc", "text"),
        ("Graphs with tensors", "tensor/*.gc", "text"),
    ):
        lines.append(f"## {title}")
        for file in sorted(EXAMPLES.glob(pattern)):
            text = file.read_text(encoding="utf-8").rstrip()
            lines += [f"### {file.name} {{ #{anchor(file.name)} }}", f"```{kind}\n{text}\n```"]
    name = "tour.ipynb"
    lines += ["## Notebook", f"### {name} {{ #{anchor(name)} }}", *notebook()]
    return "\n\n".join(lines) + "\n"
