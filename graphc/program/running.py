"""Running emitted text: the one place where code is executed, and only code that we wrote.

What Python's compiler made of the text is checked before it runs: names and constants that came
from a user can only be identifiers, numbers and strings in it.
"""

from __future__ import annotations
import __future__

import builtins
import dis
import inspect
import linecache
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from types import CodeType
from typing import Any

from ..errors import GraphcError

_numbers = count(1)
LIBRARIES = frozenset(("copy", "scipy.sparse", "numpy", "numpy.typing"))  # of every module
BUILTINS = {"range", "min", "max", "len", "list", "tuple", "zip", "print", "abs", "sum", "type"} | {
    "ValueError",
    "SystemExit",
}
ANNOTATIONS = __future__.annotations.compiler_flag  # types in signatures are not evaluated
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_FORBIDDEN = {  # operations of statements that we do not write
    "LOAD_BUILD_CLASS": "class",
    "STORE_GLOBAL": "global",
    **{name: "del" for name in dis.opmap if name.startswith("DELETE_")},
}
_STRANGE = {dis.opmap[name]: word for name, word in _FORBIDDEN.items() if name in dis.opmap}
_IMPORT, _STORE_OUTSIDE = dis.opmap["IMPORT_NAME"], dis.opmap["STORE_DEREF"]


def checked_code(source: str, file: str = "<graphc>", packages: Collection[str] = ()) -> CodeType:
    """The code of emitted text; anything that we would not have written is refused.

    The text may import our libraries and these packages.
    """
    try:
        code: CodeType = compile(source, file, "exec", ANNOTATIONS, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GraphcError(f"the emitted code cannot be read back: {error}") from None
    allowed = LIBRARIES.union(packages)
    stack = [code]
    while stack:
        one = stack.pop()
        for strange in _strange(one, allowed):
            raise GraphcError(f"the emitted code uses {strange!r}, which it must not")
        stack += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    return code


def _strange(code: CodeType, allowed: Collection[str]) -> Iterator[str]:
    """What we would not have written, in one function's code or the module's."""
    operations = set(code.co_code[::2])
    yield from (word for number, word in _STRANGE.items() if number in operations)
    if code.co_name == "<lambda>":
        yield "lambda"
    if code.co_flags & _ASYNC:
        yield "async"
    local = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    yield from (name for name in local if name.startswith("__"))
    outside = bool(code.co_freevars) and _STORE_OUTSIDE in operations
    # an instruction tells attributes from names; few functions need so close a look
    if _IMPORT in operations or outside or any(name[:1] == "_" for name in code.co_names):
        yield from _strange_instructions(code, allowed)


def _strange_instructions(code: CodeType, allowed: Collection[str]) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        opname, name = instruction.opname, instruction.argval
        if opname == "IMPORT_NAME":
            strange = name not in allowed
        elif opname == "STORE_DEREF":
            strange = name in code.co_freevars
        elif instruction.opcode not in dis.hasname:
            continue
        elif "ATTR" in opname or "METHOD" in opname or opname == "IMPORT_FROM":
            strange = name.startswith("_")
        else:
            known = name == "__name__" or (name == "__doc__" and opname == "STORE_NAME")
            strange = name.startswith("__") and not known
        if strange:
            yield str(name)


def load(
    source: str,
    function: str,
    packages: Collection[str] = (),
    given: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The function of a module's text, which may import these packages too.

    Objects that are given are known by their names.
    """
    file = f"<graphc {next(_numbers)}>"
    code = checked_code(source, file, packages)
    allowed = {name: getattr(builtins, name) for name in BUILTINS}
    allowed["__import__"] = builtins.__import__
    allowed["__build_class__"] = None
    space: dict[str, Any] = {"__name__": "graphc_emitted", "__builtins__": allowed}
    space |= given or {}
    exec(code, space)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # for tracebacks
    found: Callable[..., Any] = space[function]
    return found
