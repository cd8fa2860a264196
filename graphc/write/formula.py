"""Formulas as text: what a node was declared as, printed so that it can be read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from ..errors import GraphcError
from ..shapes import Shape, shape_text
from ..structure.paths import reached
from ..structure.reach import expression
from ..structure.rows import LEAVES
from ..structure.structure import Structure
from ..syntax.parsing import read_formula
from ..syntax.words import weight
from ..table.functions import FUNCTIONS
from ..table.matrix_form import (
    ATOM,
    Piece,
    as_decimal,
    axis_text,
    bracket,
    contract_text,
    form_of,
    gather_text,
    scatter_text,
    winner_text,
)
from ..table.tensors import OPERATIONS
from ..table.writing import keywords_text
from . import text_form

LONGEST = 100_000  # a collapsed graph can be too long to write down
SURELY_SHORT = 150  # characters, in which a formula cannot exceed the limits of the reader
Style = Callable[[Structure, int, list[Piece]], Piece]
CallStyle = Callable[[Structure, Any, Callable[[int], Piece]], Piece]
Known = Mapping[int, Piece]  # how named rows are written, if not by their names
CALLS: dict[Style, CallStyle] = {}  # how a style writes composed functions, if not as text


def formula_text(
    graph: Structure, node: int, style: Style | None = None, known: Known | None = None
) -> str:
    """The right-hand side of a node's declaration; `known` names are written as given there."""
    op = graph.ops[node]
    if style is None and not graph.operands[node] and op not in LEAVES:
        settings = graph.settings(node)  # a constant, whose name is not its formula
        return value_text(settings["value"]) if op == "const" else settings.get("size", op)
    return _pieces(graph, node, graph.formula(node).rows, style or as_text, known or {})[0]


def source_text(graph: Structure, node: int) -> str:
    """The right-hand side of a node's declaration as the text form has it."""
    settings = graph.settings(node)
    if graph.ops[node] == "const":
        text = text_form.values(settings["value"])
    elif not graph.operands[node]:
        text = str(settings.get("size", graph.ops[node]))
    else:
        text = _pieces(graph, node, graph.formula(node).rows, as_source, {})[0]
    return _readable(text, graph.label(node))


def _readable(text: str, label: str) -> str:
    """The text, if the reader would not refuse it for its length."""
    if len(text) > SURELY_SHORT:
        try:
            read_formula(text, 0)
        except GraphcError as error:
            raise GraphcError(f"{label} cannot be written as text: {error}") from None
    return text


def expression_text(
    graph: Structure, row: int, style: Style | None = None, known: Known | None = None
) -> str:
    """An unnamed expression, such as the user's own partial."""
    return expression_piece(graph, row, style or as_text, known or {})[0]


def expression_piece(graph: Structure, row: int, style: Style, known: Known) -> Piece:
    """An unnamed expression, and how tightly it binds."""
    if row in graph.names:
        return known[row] if row in known else style(graph, row, [])
    rows = sorted(here for here in expression(graph, row) if here not in graph.names)
    return _pieces(graph, row, tuple(rows), style, known)


def _pieces(
    graph: Structure, root: int, rows: tuple[int, ...], style: Style, known: Known
) -> Piece:
    pieces: dict[int, Piece] = dict(known)
    for row in rows:

        def piece(part: int) -> Piece:
            return pieces[part] if part in pieces else style(graph, part, [])

        call = graph.calls.get(row)
        if call is not None and _is_whole(graph, row, call):
            write: CallStyle = CALLS.get(style, call_text)
            pieces[row] = write(graph, call, piece)
        else:
            pieces[row] = style(graph, row, [piece(o) for o in graph.operands[row]])
        if len(pieces[row][0]) > LONGEST and weight(pieces[row][0]) > LONGEST:
            raise GraphcError(
                f"the formula of {graph.label(root)} would take over {LONGEST} characters; "
                "collapse fewer nodes"
            )
    return pieces[root]


def _is_whole(graph: Structure, row: int, call: Any) -> bool:
    """Whether nothing between a composed function and its arguments has become a node."""
    arguments = set(_argument_rows(call))

    def before(here: int) -> tuple[int, ...]:
        return () if here in arguments or here in graph.names else graph.operands[here]

    inside = reached(graph.operands[row], before) - arguments
    return not any(here in graph.names for here in inside)


def _argument_rows(argument: Any) -> Iterator[int]:
    """The rows among the arguments of a call."""
    if isinstance(argument, tuple) and argument[:1] == ("row",):
        yield argument[1]
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _argument_rows(part)


class Expression:
    """A symbolic result of a graph with tensors: prints as valid NumPy."""

    def __init__(self, graph: Structure, row: int, whole: bool, named: bool = True) -> None:
        self.graph = graph
        self.row = row
        self._whole = whole  # written out down to the inputs, or in the names of nodes
        self._named = named  # a node is written by its name, or by its formula

    @property
    def shape(self) -> Shape:
        return self.graph.shape(self.row)

    def __str__(self) -> str:
        return self.render(as_numpy)

    def __repr__(self) -> str:
        return str(self)

    def latex(self) -> str:
        """The formula in LaTeX, in matrix form."""
        from .latex import style

        return self.render(style)

    def render(self, style: Style) -> str:
        """The formula in a style."""
        graph = self.graph
        if self._whole:
            graph = graph.duplicate()
            graph.names = {row: n for row, n in graph.names.items() if graph.ops[row] in LEAVES}
        if not self._named and graph.ops[self.row] not in LEAVES:
            return formula_text(graph, self.row, style)
        return expression_text(graph, self.row, style)


def as_text(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """One row for people; a name stands for itself unless its operands are given."""
    return _written(graph, row, operands, source=False)


def as_source(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """One row in the text form, which is read back as the same operation on the same numbers."""
    return _written(graph, row, operands, source=True)


def _written(graph: Structure, row: int, operands: list[Piece], source: bool) -> Piece:
    number = text_form.number if source else number_text
    op = graph.ops[row]
    settings = graph.settings(row)
    if not operands:
        if row in graph.names:
            return graph.names[row], ATOM
        if op == "const":
            value = settings["value"]
            if not getattr(value, "shape", ()):
                return number(value)
            return (text_form.values if source else value_text)(value), ATOM
        return str(settings.get("symbol", settings.get("size", op))), ATOM
    if op in OPERATIONS:
        return (operation_source if source else operation_text)(graph, row, operands)
    record = FUNCTIONS[op]
    if op == "power":
        exponent = number(settings["exponent"])
        return f"{bracket(operands[0], 5)}**{bracket(exponent, 3)}", 4
    if op == "pow":
        least = 4 if source else 5  # x**y**z nests less deep, x**(y**z) is plain
        return f"{bracket(operands[0], 5)}**{bracket(operands[1], least)}", 4
    if op == "neg":
        return f"-{bracket(operands[0], 3)}", 3
    if record.infix and not (record.word and source):
        tight = record.binding
        left = bracket(operands[0], tight)
        signed = operands[1][0].startswith("-")
        right = bracket((operands[1][0], 0) if signed else operands[1], tight + 1)
        space = "" if tight == 2 else " "
        return f"{left}{space}{record.infix}{space}{right}", tight
    if op == "identity":
        return operands[0]
    texts = [piece[0] for piece in operands]
    defaults = list(record.defaults.values())
    while defaults and len(texts) > len(record.parameters) - len(record.defaults):
        if texts[-1] != number(defaults.pop())[0]:
            break
        texts.pop()
    texts += [
        f"{key}={value!r}" if isinstance(value, str) else f"{key}={value}"
        for key, value in settings.items()
    ]
    return f"{op}({', '.join(texts)})", ATOM


def as_numpy(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """One row as a person writes it in NumPy: a mask is a comparison, which counts as 0 or 1."""
    op, inner = graph.ops[row], graph.operands[row]
    if not operands:
        value = graph.settings(row).get("value")
        if getattr(value, "shape", ()) and row not in graph.names:
            return array_text(value), ATOM
        return as_text(graph, row, operands)
    if op == "where":
        return _where(graph, row, operands)
    if op not in ("mul", "contract") or all(is_mask(graph, operand) for operand in inner):
        operands = [
            as_number(graph, *both) for both in zip(inner, operands, strict=True)
        ]  # NumPy counts with truth values only beside numbers
    if op == "neg" and operands[0][1] == 2 and not _opens_with_mask(graph, inner[0]):
        return _negated(operands[0])
    operands = _without_brackets(graph, row, operands)
    if op == "mul" and (places := _columns(graph, row)):
        matrix, vector = (operands[place] for place in places)
        return f"{bracket(matrix, 2)} @ diag({vector[0]})", 2
    return as_text(graph, row, operands)


def as_number(graph: Structure, row: int, piece: Piece) -> Piece:
    """A row where NumPy needs a number: a mask and a branch are floats, not bool or int."""
    if is_mask(graph, row):
        return f"where({piece[0]}, 1.0, 0.0)", ATOM
    return piece


def _where(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """A choice; where it is 0 or what is surely finite, a product with a comparison."""
    _, taken, other = graph.operands[row]
    if _is_number(graph, taken, 1) and _is_number(graph, other, 0):
        return operands[0]
    if _is_number(graph, other, 0) and not is_mask(graph, taken) and _is_finite(graph, taken):
        if gates_columns(graph, row):
            return f"{bracket(operands[1], 2)} @ diag({operands[0][0]})", 2
        least = 3 if "@" in operators(operands[1][0]) else 2
        return f"{bracket(operands[1], least)}*{bracket(operands[0], 1)}", 2
    branches = [as_number(graph, *both) for both in ((taken, operands[1]), (other, operands[2]))]
    texts = [as_decimal(text) for text, _ in branches]
    return f"where({', '.join([operands[0][0], *texts])})", ATOM


def _negated(piece: Piece) -> Piece:
    """Minus a product: the sign goes to its first factor."""
    text = piece[0]
    return (f"-({text})", 3) if text.startswith("-") else (f"-{text}", 2)


def _opens_with_mask(graph: Structure, row: int) -> bool:
    """Whether the first factor of a product is written as a comparison, which has no minus."""
    while row not in graph.names and row not in graph.calls and not is_mask(graph, row):
        op, inner = graph.ops[row], graph.operands[row]
        if op == "contract" and len(inner) == 2:
            form = form_of(graph.settings(row)["spec"], {})
            row = inner[form.order[0] if form is not None else 0]
        elif op in ("mul", "div", "ratio_or_0", "where"):
            row = inner[int(op == "where")]
        else:
            return False
    return is_mask(graph, row)


def operators(text: str) -> set[str]:
    """The operators * / @ that stand outside all brackets of a text."""
    depth, found = 0, set()
    for character in text.replace("**", "^"):
        depth += (character in "([") - (character in ")]")
        if not depth and character in "*/@":
            found.add(character)
    return found


def _columns(graph: Structure, row: int) -> tuple[int, ...]:
    """The places of A and v where A*v scales the columns of a matrix by a computed vector."""
    shapes = [graph.shape(operand) for operand in graph.operands[row]]
    places = {(2, 1): (0, 1), (1, 2): (1, 0)}.get((len(shapes[0]), len(shapes[1])))
    if places is None or shapes[0][-1] != shapes[1][-1]:
        return ()  # a vector of one element is broadcast, which a diagonal matrix is not
    return places if graph.operands[row][places[1]] not in graph.names else ()


def gates_columns(graph: Structure, row: int) -> bool:
    """Whether a vector of conditions decides which columns of a matrix are kept, else 0."""
    shapes = [graph.shape(operand) for operand in graph.operands[row]]
    return [len(shape) for shape in shapes[:2]] == [1, 2] and shapes[0][-1] == shapes[1][-1]


def _without_brackets(graph: Structure, row: int, operands: list[Piece]) -> list[Piece]:
    """The operands, bound tightly where a product may be read from the left: 2*(A @ x), a*(b*c).

    What is written decides, not what it was made of: A @ (2*B) and a*(B @ c) keep their brackets.
    """
    op, inner = graph.ops[row], graph.operands[row]
    if op not in ("mul", "contract") or len(inner) != 2:
        return operands
    form = form_of(graph.settings(row)["spec"], {}) if op == "contract" else None
    if op == "contract" and (form is None or form.word not in ("matmul", "rows", "columns")):
        return operands
    left, right = form.order if form is not None else (0, 1)
    loose, written = list(operands), operators(operands[right][0])
    if op == "contract":
        opened = _word(graph, inner[left]) == "product" and operands[left][1] == 2
        joined = written == {"@"} and _is_of_matrices(graph, inner[right])
    else:
        opened = "@" in operators(operands[left][0]) and not _columns(graph, row)
        joined = not graph.shape(inner[0]) or (written == {"*"} and graph.ops[inner[1]] == "mul")
    if opened:  # (a @ x)*y is easier to read than a @ x*y
        loose[left] = operands[left][0], 0
    text, binding = operands[right]
    if joined and binding == 2 and _word(graph, inner[right]) and not text.startswith("-"):
        loose[right] = text, 4
    return loose


def _is_of_matrices(graph: Structure, row: int) -> bool:
    """Whether a product is a matrix made of matrices: A @ (B @ C) is A @ B @ C, not of stacks."""
    stack, largest = [row], 0
    while stack:
        here = stack.pop()
        largest = max(largest, len(graph.shape(here)))
        if here == row or _word(graph, here) == "matmul":
            stack.extend(graph.operands[here])
    return largest == len(graph.shape(row)) == 2


def _word(graph: Structure, row: int) -> str:
    """matmul or product for an unnamed row that is written as one."""
    if row in graph.names or row in graph.calls:
        return ""
    op = graph.ops[row]
    if op == "contract":
        form = form_of(graph.settings(row)["spec"], {})
        word = form.word if form is not None else ""
        return "matmul" if word in ("rows", "columns") else word
    if op == "mul" and _columns(graph, row):
        return "matmul"
    tensors = all(graph.shape(operand) for operand in graph.operands[row])
    if op in ("mul", "div"):
        return "product" if tensors else _word(graph, graph.operands[row][-1]) or "scaled"
    if op == "scatter" and len(graph.shape(row)) == 1 and not graph.settings(row)["index"].shape:
        return "scaled"  # s*eye(3)[0]
    if op == "where":
        return "matmul" if gates_columns(graph, row) else "product"
    return ""


def _is_number(graph: Structure, row: int, number: int) -> bool:
    value = graph.settings(row).get("value")
    return isinstance(value, int) and value == number and row not in graph.names


def is_mask(graph: Structure, row: int) -> bool:
    """Whether a row is 1 where a condition holds, else 0, and has no name."""
    if graph.ops[row] != "where" or row in graph.names:
        return False
    _, taken, other = graph.operands[row]
    return _is_number(graph, taken, 1) and _is_number(graph, other, 0)


FINITE = {"add", "sub", "mul", "neg", "contract", "gather", "scatter", "reshape", "where", "const"}


def _is_finite(graph: Structure, row: int) -> bool:
    """Whether a formula is finite wherever the names that it mentions are."""

    def before(here: int) -> tuple[int, ...]:
        if here in graph.names:
            return ()
        return graph.operands[here][graph.ops[here] == "where" :]  # not the condition

    def is_finite(here: int) -> bool:
        exponent = graph.settings(here).get("exponent", -1)
        return graph.ops[here] in FINITE or (isinstance(exponent, int) and exponent > 0)

    return all(here in graph.names or is_finite(here) for here in reached([row], before))


def operation_source(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """A tensor operation as the text form has it."""
    op, settings = graph.ops[row], graph.settings(row)
    inner = graph.shape(graph.operands[row][0])
    if op == "contract":
        return text_form.contraction(settings["spec"], graph.shape(row), operands)
    if op == "gather":
        return text_form.gathered(operands[0], inner, settings)
    if op == "scatter":
        return text_form.scattered(operands[0], graph.shape(row), settings)
    if op == "reshape":
        return text_form.reshaped(operands[0][0], settings)
    if "axes" in settings:
        return text_form.reduction(op, operands[0][0], inner, settings)
    texts = [*(piece[0] for piece in operands), *keywords_text(settings)]
    return f"{op}({', '.join(texts)})", ATOM


def operation_text(graph: Structure, row: int, operands: list[Piece]) -> Piece:
    """A tensor operation as NumPy would take it."""
    op, settings = graph.ops[row], graph.settings(row)
    if op == "contract":
        return contract_text(settings["spec"], graph.shape(row), operands)
    inner = graph.shape(graph.operands[row][0])
    if op == "gather":
        return gather_text(operands[0], inner, settings)
    if op == "scatter":
        return scatter_text(operands[0], graph.shape(row), settings)
    if op == "winner":
        return winner_text(operands[0][0], inner, settings)
    texts = [piece[0] for piece in operands]
    if op == "reshape":
        texts.append(shape_text(settings["shape"]))
    texts += axis_text(op, settings, len(inner))
    told = ("axes", "shape", "kink")
    texts += keywords_text({key: value for key, value in settings.items() if key not in told})
    return f"{OPERATIONS[op].word or op}({', '.join(texts)})", ATOM


def call_text(graph: Structure, call: Any, piece: Callable[[int], Piece]) -> Piece:
    """A composed function as it was called."""
    name, arguments, settings = call

    def text(argument: Any) -> str:
        if isinstance(argument, list):
            return f"[{', '.join(text(part) for part in argument)}]"
        if isinstance(argument, tuple) and argument and argument[0] == "row":
            return piece(argument[1])[0]
        return repr(argument)

    if name == "[]":
        return f"{bracket(piece(arguments[0][1]), 8)}[{index_text(arguments[1])}]", 8
    parts = [text(argument) for argument in arguments]
    parts += [f"{key}={text(value)}" for key, value in settings.items() if value is not None]
    return f"{name}({', '.join(parts)})", ATOM


def call_numpy(graph: Structure, call: Any, piece: Callable[[int], Piece]) -> Piece:
    """A composed function on numbers, none of which is a truth value."""
    return call_text(graph, call, lambda row: as_number(graph, row, piece(row)))


CALLS[as_numpy] = call_numpy


def index_text(index: Any) -> str:
    """An index as it is written between brackets."""
    parts = index if isinstance(index, tuple) else (index,)

    def one(part: Any) -> str:
        if isinstance(part, slice):
            ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
            return ":".join(ends + ([str(part.step)] if part.step is not None else []))
        return "..." if part is Ellipsis else str(part)

    return ", ".join(one(part) for part in parts)


def number_text(value: Any) -> Piece:
    """A number as people write it."""
    if isinstance(value, float):
        return repr(float(value)), ATOM if value >= 0 else 3
    if isinstance(value, (int, Fraction)):
        return text_form.rational(value)
    return str(getattr(value, "expression", value)), 0


def graph_text(graph: Structure) -> str:
    """The whole graph in the text form."""
    if any(op == "edges" for op in graph.ops):
        raise GraphcError(
            "a graph of which only local derivatives are known has no text form; keep its edges"
        )
    lines = []
    run: list[str] = []  # consecutive inputs or parameters without values share a line
    run_kind = ""

    def close() -> None:
        if run:
            lines.append(f"{run_kind} {' '.join(run)}")
            run.clear()

    for row in graph.nodes():
        op, name = graph.ops[row], graph.names[row]
        if op in ("input", "param"):
            shape = graph.shape(row)
            name += f"[{', '.join(map(str, shape))}]" if shape else ""
            if row in graph.given:
                close()
                value = _readable(text_form.values(graph.given[row]), graph.label(row))
                lines.append(f"{op} {name} = {value}")
            else:
                if op != run_kind or len(run) == 10:
                    close()
                run_kind = op
                run.append(name)
            continue
        close()
        lines.append(f"{name} = {source_text(graph, row)}")
    close()
    for (target, edge), row in graph.partials.items():
        source = graph.formula(target).sources[edge]
        what = f"d {graph.names[target]} / d {graph.names[source]}"
        lines.append(f"{what} = {_readable(expression_text(graph, row, as_source), what)}")
    if graph.declared_outputs:
        lines.append("output " + " ".join(graph.names[row] for row in graph.declared_outputs))
    return "\n".join(lines) + "\n"


def array_text(value: Any) -> str:
    """A constant array as NumPy takes it, of floats."""

    def listed(part: Any) -> str:
        if getattr(part, "shape", ()):
            return f"[{', '.join(map(listed, part))}]"
        return as_decimal(number_text(part)[0])

    return f"array({listed(value)})"


def value_text(value: Any) -> str:
    """A given value or constant array."""
    if not hasattr(value, "tolist") or not getattr(value, "shape", ()):
        return number_text(value)[0]
    return f"[{', '.join(value_text(part) for part in value)}]"
