"""Rows as a line of text: for people (TEXT), to be read back (SOURCE), and as NumPy (NUMPY).

The same phrases give the labels of drawings, in Unicode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algebra.gates import is_finite
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.contraction_words import as_float, product
from ..table.functions import FUNCTIONS, Function
from ..table.matrix_form import Form
from ..table.phrases import (
    ATOM,
    ITEM,
    POWER,
    TIMES,
    Phrase,
    bound,
    bracket,
    call,
    infix,
    item,
    leaf,
    listed,
    name_line,
    negative,
    operators,
    phrase,
)
from ..table.tensors import OPERATIONS
from .numbers import number_line, number_source, value_line, value_numpy, value_source
from .rows import Part, Style, gates_columns, index_text, is_mask, is_number, site_of
from .signs import function_sign, root


def _leaf(graph: Structure, row: GraphRow, source: bool) -> Phrase:
    """A name, or what has none."""
    if row in graph.names:
        return name_line(graph.names[row])
    return constant(graph, row, source)


def constant(graph: Structure, row: GraphRow, source: bool) -> Phrase:
    """A number, an array, or a sign such as pi."""
    op, settings = graph.ops[row], graph.settings(row)
    if op == "const":
        value = settings["value"]
        if not getattr(value, "shape", ()):
            return (number_source if source else number_line)(value)
        return leaf(value_source(value)) if source else value_line(value)
    word = settings.get("symbol", settings.get("size"))
    if word is not None:
        return name_line(word)
    return leaf(op, drawn=FUNCTIONS[op].mark if op in FUNCTIONS else op)


def _written(graph: Structure, row: GraphRow, parts: list[Phrase], source: bool) -> Phrase:
    """One row; a name stands for itself unless its operands are given."""
    if not parts:
        return _leaf(graph, row, source)
    op = graph.ops[row]
    if op in OPERATIONS:
        record = OPERATIONS[op]
        return (record.read_back if source else record.written)(site_of(graph, row), parts)
    return _function(FUNCTIONS[op], parts, graph.settings(row), source)


def _function(
    record: Function, parts: list[Phrase], settings: dict[str, Any], source: bool
) -> Phrase:
    """An element-wise function: an operator between its operands, or a call."""
    number = number_source if source else number_line
    if record.silent:
        return parts[0]
    if record.infix and not (record.word and source):
        held = [number(settings[key]) for key in record.attributes]
        return _operator(record, [*parts, *held], source)
    defaults = list(record.defaults.values())
    while defaults and len(parts) > len(record.parameters) - len(record.defaults):
        if parts[-1].text != number(defaults.pop()).text:
            break
        parts = parts[:-1]
    if record.mark == "√" and not settings:
        return root(*parts)
    more = [f"{k}={v!r}" if isinstance(v, str) else f"{k}={v}" for k, v in settings.items()]
    return call(record.name, *parts, more=more, drawn=function_sign(record.name))


def _operator(record: Function, parts: list[Phrase], source: bool) -> Phrase:
    tight = record.binding
    if len(parts) == 1:
        return negative(bracket(parts[0], tight), tight)
    if record.grips:
        left, right = record.grips
        # x**y**z nests less deep in the text form, x**(y**z) is plain
        least = left, min(right, tight) if source else right
    else:  # a minus sign is not put behind an operator
        least = tight, ATOM + 1 if parts[1].signed else tight + 1
    left_part, right_part = (bracket(part, g) for part, g in zip(parts, least, strict=True))
    return infix(record.infix, left_part, right_part, tight)


def _numpy(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase:
    """One row as a person writes it in NumPy: a mask is a comparison, which counts as 0 or 1."""
    op, inner = graph.ops[row], graph.operands[row]
    if not parts:
        value = graph.settings(row).get("value")
        if getattr(value, "shape", ()) and row not in graph.names:
            return value_numpy(value)
        return _leaf(graph, row, source=False)
    if op == "where":
        return _where(graph, row, parts)
    if not _multiplies(op) or all(is_mask(graph, operand) for operand in inner):
        parts = [
            _as_number(graph, *both) for both in zip(inner, parts, strict=True)
        ]  # NumPy counts with truth values only beside numbers
    if op == "neg" and parts[0].binding == TIMES and not _opens_with_mask(graph, inner[0]):
        return _negated(parts[0])
    parts = _without_brackets(graph, row, parts)
    if op == "mul" and (places := _columns(graph, row)):
        matrix, vector = (parts[place] for place in places)
        return product(bracket(matrix, TIMES), call("diag", vector))
    return _written(graph, row, parts, source=False)


def _multiplies(op: str) -> bool:
    """Whether an operation is a product, element by element or summed."""
    return op == "mul" or (op in OPERATIONS and OPERATIONS[op].multilinear)


def _form(graph: Structure, row: GraphRow) -> Form | None:
    """The matrix form of a tensor operation, where it has one."""
    op = graph.ops[row]
    return OPERATIONS[op].form(site_of(graph, row)) if op in OPERATIONS else None


def _as_number(graph: Structure, row: GraphRow, part: Phrase) -> Phrase:
    """A row where NumPy needs a number: a mask and a branch are floats, not bool or int."""
    return call("where", part, leaf("1.0"), leaf("0.0")) if is_mask(graph, row) else part


def _where(graph: Structure, row: GraphRow, parts: list[Phrase]) -> Phrase:
    """A choice; where it is 0 or what is surely finite, a product with a comparison."""
    _, taken, other = graph.operands[row]
    condition, chosen, else_ = parts
    if is_number(graph, taken, 1) and is_number(graph, other, 0):
        return condition
    if (
        is_number(graph, other, 0)
        and not is_mask(graph, taken)
        and is_finite(graph, taken, plain=True)
    ):
        if gates_columns(graph, row):
            return product(bracket(chosen, TIMES), call("diag", condition))
        least = TIMES + ("@" in operators(chosen))
        return infix("*", bracket(chosen, least), bracket(condition, 1), TIMES)
    branches = [_as_number(graph, *both) for both in ((taken, chosen), (other, else_))]
    return call("where", condition, *map(as_float, branches))


def _negated(part: Phrase) -> Phrase:
    """Minus a product: the sign goes to its first factor."""
    return negative(bracket(part, ATOM)) if part.signed else negative(part, TIMES)


def _opens_with_mask(graph: Structure, row: GraphRow) -> bool:
    """Whether the first factor of a product is written as a comparison, which has no minus."""
    while row not in graph.names and row not in graph.calls and not is_mask(graph, row):
        op, inner = graph.ops[row], graph.operands[row]
        if op in OPERATIONS and _multiplies(op) and len(inner) == 2:
            form = _form(graph, row)
            row = inner[form.order[0] if form is not None else 0]
        elif op in ("mul", "div", "ratio_or_0", "where"):
            row = inner[int(op == "where")]
        else:
            return False
    return is_mask(graph, row)


def _columns(graph: Structure, row: GraphRow) -> tuple[int, ...]:
    """The places of A and v where A*v scales the columns of a matrix by a computed vector."""
    shapes = [graph.shape(operand) for operand in graph.operands[row]]
    places = {(2, 1): (0, 1), (1, 2): (1, 0)}.get((len(shapes[0]), len(shapes[1])))
    if places is None or shapes[0][-1] != shapes[1][-1]:
        return ()  # a vector of one element is broadcast, which a diagonal matrix is not
    return places if graph.operands[row][places[1]] not in graph.names else ()


def _without_brackets(graph: Structure, row: GraphRow, parts: list[Phrase]) -> list[Phrase]:
    """The operands, bound tightly where a product may be read from the left: 2*(A @ x), a*(b*c).

    What is written decides, not what it was made of: A @ (2*B) and a*(B @ c) keep their brackets.
    """
    op, inner = graph.ops[row], graph.operands[row]
    form = _form(graph, row)
    matrices = form is not None and form.word in ("matmul", "rows", "columns")
    if len(inner) != 2 or not (op == "mul" or matrices):
        return parts
    left, right = form.order if form is not None else (0, 1)
    loose, written = list(parts), operators(parts[right])
    if form is not None:
        opened = _word(graph, inner[left]) == "product" and parts[left].binding == TIMES
        joined = written == {"@"} and _is_of_matrices(graph, inner[right])
    else:
        opened = "@" in operators(parts[left]) and not _columns(graph, row)
        joined = not graph.shape(inner[0]) or (written == {"*"} and graph.ops[inner[1]] == "mul")
    if opened:  # (a @ x)*y is easier to read than a @ x*y
        loose[left] = bound(parts[left], 0)
    here = parts[right]
    if joined and here.binding == TIMES and _word(graph, inner[right]) and not here.signed:
        loose[right] = bound(here, POWER)
    return loose


def _is_of_matrices(graph: Structure, row: GraphRow) -> bool:
    """Whether a product is a matrix made of matrices: A @ (B @ C) is A @ B @ C, not of stacks."""
    stack, largest = [row], 0
    while stack:
        here = stack.pop()
        largest = max(largest, len(graph.shape(here)))
        if here == row or _word(graph, here) == "matmul":
            stack.extend(graph.operands[here])
    return largest == len(graph.shape(row)) == 2


def _word(graph: Structure, row: GraphRow) -> str:
    """matmul or product for an unnamed row that is written as one."""
    if row in graph.names or row in graph.calls:
        return ""
    op = graph.ops[row]
    if op in OPERATIONS:
        form = _form(graph, row)
        word = form.word if form is not None else ""
        return "matmul" if word in ("rows", "columns") else word
    if op == "mul" and _columns(graph, row):
        return "matmul"
    tensors = all(graph.shape(operand) for operand in graph.operands[row])
    if op in ("mul", "div"):
        return "product" if tensors else _word(graph, graph.operands[row][-1]) or "scaled"
    if op == "where":
        return "matmul" if gates_columns(graph, row) else "product"
    return ""


# Composed functions, as they were called.


def _call(graph: Structure, made: Any, part: Part) -> Phrase:
    name, arguments, settings = made

    def written(argument: Any) -> Phrase:
        if isinstance(argument, list):
            return listed(*map(written, argument))
        if isinstance(argument, tuple) and argument and argument[0] == "row":
            return part(argument[1])
        text = repr(argument)
        return leaf(text, drawn=text.replace("-", "−"))

    if name == "[]":
        return item(bracket(part(arguments[0][1]), ITEM), index_text(arguments[1]))
    words = {key: written(value) for key, value in settings.items() if value is not None}
    given = [
        *map(written, arguments),
        *(phrase(f"{key}={{0}}", value) for key, value in words.items()),
    ]
    return call(name, *given, drawn=function_sign(name))


def _call_numpy(graph: Structure, made: Any, part: Part) -> Phrase:
    """A composed function on numbers, none of which is a truth value."""
    return _call(graph, made, lambda row: _as_number(graph, row, part(row)))


def _row(source: bool) -> Callable[[Structure, GraphRow, list[Phrase]], Phrase]:
    return lambda graph, row, parts: _written(graph, row, parts, source)


TEXT = Style(_row(source=False), _call)
SOURCE = Style(_row(source=True), _call)
NUMPY = Style(_numpy, _call_numpy)
