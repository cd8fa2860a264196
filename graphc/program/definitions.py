"""Functions that an emitted module defines for itself, because the array library has none.

A composed function is its record's stable formula, printed like everything else. The others are
texts of the records, with {np} for the namespace and {dtype} for the dtype.
"""

from __future__ import annotations

from ..algebra.rewrites import UNITS
from ..algebra.rules import formula
from ..table.functions import FUNCTIONS, Function
from ..table.tensors import OPERATIONS, Operation
from .array_text import ArrayText
from .library import Library
from .naming import Naming
from .passes import FOLD
from .program import Program
from .statements import statements

CHECKED = '''\
def {name}(label, value, shape):
    """The value as an array of this shape, in which None stands for any size."""
    if type(value) is {np}.ndarray and value.shape == shape and value.dtype == {np}.{dtype}:
        return value
    array = {np}.asarray(value, dtype={np}.{dtype})
    wanted = [want for want, size in zip(shape, array.shape) if want not in (None, size)]
    if array.ndim != len(shape) or wanted:
        raise ValueError(f"{label} has shape {array.shape}, but {shape} is needed")
    return array
'''


def written(library: Library) -> dict[str, str]:
    """The functions that are defined by text: of modules, of the library, of records."""
    found = {"checked": CHECKED, **library.lacks}
    records: list[Function | Operation] = [*OPERATIONS.values(), *FUNCTIONS.values()]
    for record in records:
        found.update(record.definitions.get("numpy", {}))
    return found


def definitions(text: ArrayText) -> list[str]:
    """The functions that a module's text calls, each after those that it calls itself."""
    found: dict[str, str] = {}
    texts = written(text.library)
    while missing := [name for name in text.functions if name not in found]:
        for name in missing:
            if name in texts:
                body = texts[name].replace("{np}", text.namespace)
                body = body.replace("{dtype}", text.dtype)
                found[name] = body.replace("{name}", text.function_name(name))
            else:
                found[name] = _composed(name, text.functions[name], text)
    return list(found.values())[::-1]


def _composed(name: str, count: int, text: ArrayText) -> str:
    """A composed function, from the stable formula of its record."""
    record = FUNCTIONS[name]
    program = Program((FOLD, UNITS))
    parameters = record.parameters[:count]
    leaves = [program.shared("input", (), {"name": p, "shape": ()}) for p in parameters]
    for leaf, parameter in zip(leaves, parameters, strict=True):
        program.names[leaf] = [parameter]
    template = formula(name, count, {}, exact=False)
    assert template is not None, name  # every record has a formula or a native function
    root = template.run(program, leaves)
    naming = Naming(parameters)
    lines, pieces = statements(program, [root], text, naming, {})
    doc = record.doc or record.signature() + ", without overflow" * (record.stable is not None)
    body = [f"    {line}" for line in lines]
    head = f"def {text.function_name(name)}({', '.join(map(naming.of, parameters))}):"
    return "\n".join([head, f'    """{_sentence(doc)}"""', *body, f"    return {pieces[root]}", ""])


def _sentence(text: str) -> str:
    """A docstring's first line: a full stop, nothing that could end it early."""
    clean = text.replace("\\", "").replace('"', "'").strip().split("\n")[0]
    return clean.rstrip(".") + "."
