"""Makes the page of the function table from the records."""

import inspect
import sys

from graphc.algebra.formulas import Formulas
from graphc.algebra.rules import rule
from graphc.graphs import Graph
from graphc.table.functions import FUNCTIONS, Function
from graphc.table.tensors import OPERATIONS
from graphc.write.formula import expression_text

HEAD = """# The function table

Made from the records in `graphc/table/functions.py`. `o` is the
function's own value; the slope at a kink is a convention, which `kink=` changes at a node (a slope,
`"left"`, `"right"`, `"share"` or `"error"`).

| function | derivative by each argument | at its kinks |
|---|---|---|
"""
OPERATIONS_HEAD = """
## Tensor operations

Those with a record of their own (`graphc/table/`), called by their name; the others are
compositions, listed in [the API](api.md).

| operation | value |
|---|---|
"""
HIDDEN = (
    "taken",
    "untaken",
    "ratio_or_0",
    "product_or_0",
    "identity",
    "pi",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
)


def derivative(record: Function) -> str:
    """The partials as formulas in the names of the arguments."""
    graph = Graph(record.name)
    names = list(record.parameters)
    rows = [graph.bind(name, graph.append("input")) for name in names]
    if record.name == "where":
        return "the branch taken"
    own = graph.bind("o", graph.append("input"))
    settings = {"exponent": 3} if record.name == "power" else {}
    partials = rule(record.name, len(rows), settings).partials
    texts = [expression_text(graph, p.run(Formulas(graph), [*rows, own])) for p in partials]
    return ", ".join(f"`{text}`" for text in texts)


def signature(record: Function) -> str:
    """The function as it is written in a formula."""
    if record.name == "power":
        return "x**3"
    if record.name == "neg":
        return "-x"
    if record.infix:
        return f" {record.infix} ".join(record.parameters)
    return record.signature()


def table() -> str:
    """The page."""
    lines = [
        f"| `{signature(record)}` | {derivative(record)} | {record.kinks} |"
        for record in FUNCTIONS.values()
        if record.name not in HIDDEN and record.origin == "graphc"
    ]
    return HEAD + "\n".join(lines) + "\n" + operations()


def operations() -> str:
    """The table of the tensor operations that are called by their own name."""
    lines = [
        f"| `{record.name}{inspect.signature(record.call)}` | {record.doc} |"
        for record in OPERATIONS.values()
        if record.call is not None
    ]
    return OPERATIONS_HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
