"""Writes docs/errata.md, what the books print and what is right, from the solved items."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples" / "textbook"))

from workbook import BOOKS, Solution, load, solve, written  # noqa: E402  (beside the chapters)

import graphc as gc  # noqa: E402

HEAD = """# Errata found in the books

Made by `python docs/make_errata.py` from the items of `examples/textbook`: solving an item computes
what is right. `python examples/textbook/solve.py ITEM` shows how.
"""


def page(solutions: dict[str, Solution]) -> str:
    """The page: a table per book."""
    lines = [HEAD.rstrip()]
    for book, title in BOOKS.items():
        lines += ["", f"## {title}", "", "| item | place | printed | right |", "|---|---|---|---|"]
        for name, solution in solutions.items():
            for found in solution.errata if name.startswith(book) else ():
                cells = (name, found.where, written(found.printed), written(found.right))
                lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore", gc.KinkWarning)
    solved = {name: solve(item) for name, item in load().items()}
    (HERE / "errata.md").write_text(page(solved), encoding="utf-8")
