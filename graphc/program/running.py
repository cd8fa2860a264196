"""Running emitted text: the one place where code is executed, and only code that we wrote.

The text is parsed again and checked before it runs: names and constants that came from a user can
only be identifiers, numbers and strings in it.
"""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable, Collection
from itertools import count
from typing import Any

from ..errors import GraphcError

_numbers = count(1)
LIBRARIES = frozenset(("copy", "scipy.sparse", "numpy", "numpy.typing"))  # of every module
BUILTINS = {"range", "min", "max", "len", "list", "tuple", "zip", "print", "abs", "sum", "type"} | {
    "ValueError",
    "SystemExit",
}
_FORBIDDEN = (ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef, ast.Global, ast.Nonlocal, ast.Delete)


def checked_tree(source: str, packages: Collection[str] = ()) -> ast.Module:
    """The syntax tree of emitted text; anything that we would not have written is refused."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GraphcError(f"the emitted code cannot be read back: {error}") from None
    allowed = LIBRARIES.union(packages)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            strange = [alias.name for alias in node.names if alias.name not in allowed]
        elif isinstance(node, ast.ImportFrom):
            strange = [] if node.module in allowed else [str(node.module)]
        elif isinstance(node, ast.Attribute):
            strange = [node.attr] if node.attr.startswith("_") else []
        elif isinstance(node, ast.Name):
            strange = [node.id] if node.id.startswith("__") and node.id != "__name__" else []
        else:
            strange = [type(node).__name__] if isinstance(node, _FORBIDDEN) else []
        if strange:
            raise GraphcError(f"the emitted code uses {strange[0]!r}, which it must not")
    return tree


def load(source: str, function: str, packages: Collection[str] = ()) -> Callable[..., Any]:
    """The function of a module's text, which may import these packages too."""
    tree = checked_tree(source, packages)
    file = f"<graphc {next(_numbers)}>"
    allowed = {name: getattr(builtins, name) for name in BUILTINS}
    allowed["__import__"] = builtins.__import__
    allowed["__build_class__"] = None
    space: dict[str, Any] = {"__name__": "graphc_emitted", "__builtins__": allowed}
    exec(compile(tree, file, "exec"), space)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # for tracebacks
    found: Callable[..., Any] = space[function]
    return found
