"""The API reference: signatures and docstrings of what is public, and the help of commands."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re

import graphc as gc
from graphc.cli import main
from graphc.graphs import Node
from graphc.table.functions import FUNCTIONS

HEAD = """# API

`import graphc as gc`. Made from signatures and docstrings when the site is built. `of` is what is
derived, `wrt` what by, `at` the point: `None` gives symbols, `{}` the values given at the
declaration. Element-wise functions stand in [the function table](functions.md).
"""
COMMANDS = ("show", "derive", "explain", "draw", "explore", "emit", "check", "demo", "doctor")
DECLARING = ("graph", "parse", "load", "from_sympy", "from_edges", "from_networkx", "name", "const")
USING = ("declare", "check", "check_function", "descend", "flat")
ERRORS = ("GraphcError", "KinkWarning", "NotFiniteWarning")


def entry(title: str, thing: object) -> str:
    """One name with its signature and docstring."""
    if isinstance(thing, property):
        return f"**`{title}`**\n\n{inspect.getdoc(thing) or 'The name.'}"
    if inspect.isclass(thing):
        return f"**`{title}`**\n\n{inspect.getdoc(thing)}"
    signature = re.sub(r"\bself, |\bself\b", "", plain(inspect.signature(thing)))
    # a star outside of code is a multiplication, not emphasis
    words = re.sub(r"(`[^`]*`)|\*", lambda m: m[1] or r"\*", inspect.getdoc(thing) or "")
    return f"**`{title}{signature}`**\n\n{words}"


def plain(signature: inspect.Signature) -> str:
    """The signature without annotations."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))


def public(kind: type) -> list[str]:
    """The entries of the public methods and properties of a class, in the order of its text."""
    return [
        entry(f"{kind.__name__.lower()[0]}.{name}", thing)
        for name, thing in vars(kind).items()
        if not name.startswith("_") and (callable(thing) or isinstance(thing, property))
    ]


def help_of(command: str) -> str:
    """What `graphc COMMAND --help` prints."""
    os.environ["COLUMNS"] = "100"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([command, "--help"])
    return f"```text\n{printed.getvalue().rstrip()}\n```"


def page() -> str:
    """The page."""
    named = {*DECLARING, *USING, *ERRORS, *FUNCTIONS, "Graph", "testing", "__version__"}
    layers = [n for n in gc.__all__ if n not in named and n not in ("abs", "maximum", "minimum")]
    parts = [HEAD, "## Declaring"]
    parts += [entry(f"gc.{name}", getattr(gc, name)) for name in DECLARING]
    parts += ["## Graph", inspect.getdoc(gc.Graph) or "", *public(gc.Graph)]
    parts += ["## Node", '`g["h"]`: one node of a graph, for reading.', *public(Node)]
    parts += ["## Checking, training, your own functions"]
    parts += [entry(f"gc.{name}", getattr(gc, name)) for name in USING]
    parts += [entry("gc.testing.assert_grad", gc.testing.assert_grad)]
    parts += ["## Layers, reductions, linear algebra, shapes"]
    parts += [entry(f"gc.{name}", getattr(gc, name)) for name in layers]
    parts += ["## Errors and warnings", *[entry(f"gc.{n}", getattr(gc, n)) for n in ERRORS]]
    parts += ["## Command line"]
    parts += [f"### graphc {command}\n\n{help_of(command)}" for command in COMMANDS]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page())
