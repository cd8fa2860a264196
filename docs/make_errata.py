"""Writes docs/errata.md, what the books print and what is right, from the solved items."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples" / "textbook"))

from workbook import BOOKS, load, solve, written  # noqa: E402  (beside the chapters)

import graphc as gc  # noqa: E402

HEAD = """# Errata found in the books

Made by `python docs/make_errata.py` from the items of `examples/textbook`: solving an item computes
what is right. `python examples/textbook/solve.py ITEM` shows how.
"""


def page() -> str:
    """The page: a table per book."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        errata = {name: solve(item).errata for name, item in load().items()}
    lines = [HEAD.rstrip()]
    for book, title in BOOKS.items():
        lines += ["", f"## {title}", "", "| item | place | printed | right |", "|---|---|---|---|"]
        for name in errata:
            for found in errata[name] if name.startswith(book) else ():
                cells = (name, found.where, written(found.printed), written(found.right))
                lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE / "errata.md").write_text(page(), encoding="utf-8")
