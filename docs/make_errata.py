"""Makes the page of errata, what the books print and what is right, from the solved items."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
CHAPTERS = str(HERE.parent / "examples" / "textbook")
sys.path.insert(0, CHAPTERS)

from workbook import BOOKS, Solution, load, solve, written  # noqa: E402  (beside the chapters)

import graphc as gc  # noqa: E402

HEAD = """# Errata found in the books

Made from the items of `examples/textbook`: solving an item computes
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


def solved() -> dict[str, Solution]:
    """Every item, solved."""
    if CHAPTERS not in sys.path:  # a hook of mkdocs gets the path back as it was
        sys.path.insert(0, CHAPTERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)
        return {name: solve(item) for name, item in load().items()}


if __name__ == "__main__":
    sys.stdout.write(page(solved()))
