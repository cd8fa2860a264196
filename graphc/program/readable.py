"""The readable style: the module you would have written on your best day."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..derive.evaluation import Evaluation
from ..errors import GraphcError
from ..structure.rows import GraphRow
from ..structure.structure import Structure
from ..table.places import chosen
from ..write.formula import formula_text
from .array_text import ArrayText
from .module import Task
from .naming import Naming
from .program import Program, ProgramRow
from .question import Matrix, Results
from .sparse import Sparse
from .statements import statements

MOST_NOTED = 500  # nodes of a graph whose rules are written as comments
LONGEST_NOTE = 160
LONGEST_RETURN = 80
NO_NAMES: Mapping[tuple[str, ProgramRow], str] = {}


def body(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """The statements of a function, with the rule of each adjoint as its comment."""
    spoken = own_names(one.results, one.program)
    lines, names = statements(
        one.program, one.rows(), text, naming, notes(one.graph), headings(one), spoken.values()
    )
    results = Returned(one, text, names, naming, spoken=spoken)
    returned = results.tree(one.results)
    if results.needs_points:
        lines.insert(0, points_line(one, text, naming))
    return [*lines, *results.lines, *returning(returned)]


def own_names(results: Results[ProgramRow], program: Program) -> dict[tuple[str, ProgramRow], str]:
    """{(key, row) of results by name: the row's name for that key, such as w_bar for w}."""
    found: dict[tuple[str, ProgramRow], str] = {}
    stack = [results]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(part)
        elif isinstance(part, dict):
            for key, row in part.items():
                if not isinstance(row, int):
                    stack.append(row)
                    continue
                names = program.names.get(row, [])
                wanted = (f"{key}{suffix}" for suffix in ("_bar", "_dot", "_bar_dot", ""))
                named = next((name for name in wanted if name in names), None)
                if named is not None:
                    found[key, row] = named
    return found


def returning(text: str) -> list[str]:
    """The return statement; a dict that is too long for one line has a line per entry."""
    if len(text) <= LONGEST_RETURN or not text.endswith("}") or text.count("{") != 1:
        return [f"return {text}"]
    before, _, inside = text[:-1].partition("{")
    entries = inside.replace(', "', ',\n"').splitlines()
    return [f"return {before}{{", *(f"    {entry.rstrip(',')}," for entry in entries), "}"]


def points_line(one: Task, text: ArrayText, naming: Naming) -> str:
    """The shape of the points, over which every result of a graph of scalars stretches."""
    shapes = [f"{naming.of(one.graph.names[row])}.shape" for row in one.read]
    return f"points = {text.namespace}.broadcast_shapes({', '.join(shapes)})"


class Returned:
    """The return value as text: fresh arrays, each over all points.

    The rows in `complete` are fresh arrays over all points already.
    """

    def __init__(
        self,
        one: Task,
        text: ArrayText,
        names: dict[ProgramRow, str],
        naming: Naming,
        complete: frozenset[ProgramRow] = frozenset(),
        spoken: Mapping[tuple[str, ProgramRow], str] = NO_NAMES,
    ) -> None:
        self.spoken = spoken
        self.one = one
        self.text = text
        self.names = names
        self.naming = naming
        self.lines: list[str] = []
        self.needs_points = False
        self._complete = complete
        narrow = [row for row in one.rows() if row not in complete] if one.has_points else []
        self._reaching = arguments_reaching(one.program, frozenset(narrow)) if narrow else {}
        self._handed_over: set[ProgramRow] = set()

    def tree(self, results: Results[ProgramRow]) -> str:
        if isinstance(results, int):
            return self.fresh(results)
        if isinstance(results, Matrix):
            return self.matrix(results)
        if isinstance(results, Sparse):
            return self.sparse(results)
        if isinstance(results, dict):
            parts = [
                f'"{name}": {self.fresh(part, name) if isinstance(part, int) else self.tree(part)}'
                for name, part in results.items()
            ]
            return f"{{{', '.join(parts)}}}"
        return ", ".join(self.tree(part) for part in results)

    def fresh(self, row: ProgramRow, key: str = "") -> str:
        """A result that shares no memory with an argument or another result."""
        one, name = self.one, self.names[row]
        if (key, row) in self.spoken:
            name = self.naming.of(self.spoken[key, row])
        program = one.program
        if self.one.reduce:
            return self.reduced(row)
        if one.has_points and self._is_narrow(row):
            self.needs_points = True
            np = self.text.namespace
            return f"{np}.full(points, {name}, dtype={np}.{self.text.dtype})[()]"
        shared = program.is_leaf(row) or row in self._handed_over or program.looks_at(row)
        if row not in self._complete and self.text.is_constant(program, row):
            np = self.text.namespace
            return f"{np}.array({name}, dtype={np}.{self.text.dtype})[()]"
        self._handed_over.add(row)
        return f"+{name}" if shared else name

    def _is_narrow(self, row: ProgramRow) -> bool:
        """Whether a row may lack some of the points."""
        return row not in self._complete and self._reaching[row] < len(self.one.read)

    def reduced(self, row: ProgramRow) -> str:
        """A result summed (or averaged) over the points."""
        np, name = self.text.namespace, self.names[row]
        how = "sum" if self.one.reduce == "sum" else "mean"
        self.needs_points = self.needs_points or self._is_narrow(row)
        if row not in self._complete and self.text.is_constant(self.one.program, row):
            self.needs_points = True
            name = f"{np}.full(points, {name}, dtype={np}.{self.text.dtype})"
        elif self._is_narrow(row):
            name = f"{np}.broadcast_to({name}, points)"
        return f"{np}.{how}({name})"

    def matrix(self, matrix: Matrix[ProgramRow]) -> str:
        """One matrix: entries set one by one, or flattened blocks."""
        np, name = self.text.namespace, self.naming.fresh("matrix")
        if not self.one.has_points:
            lines = [
                ", ".join(
                    self._flattened(row, f"({self._size(high)}, {self._size(wide)})")
                    for row, wide in zip(line, matrix.widths, strict=True)
                )
                for line, high in zip(matrix.entries, matrix.heights, strict=True)
            ]
            inner = ",\n        ".join(f"[{line}]" for line in lines)
            block = self.text.call("block", "")[0][:-2]
            self.lines += [f"{name} = {block}([", f"    {inner},", "])"]
            return name
        height, width = len(matrix.entries), len(matrix.entries[0])
        lead = "" if self.one.reduce else "*points, "
        self.needs_points = self.needs_points or not self.one.reduce
        self.lines.append(
            f"{name} = {np}.zeros(({lead}{height}, {width}), dtype={np}.{self.text.dtype})"
        )
        for i, line in enumerate(matrix.entries):
            for j, row in enumerate(line):
                if self.one.program.number(row) != 0 or row in self.one.program.names:
                    entry = self.reduced(row) if self.one.reduce else self.names[row]
                    self.lines.append(f"{name}[..., {i}, {j}] = {entry}")
        return name

    def _flattened(self, row: ProgramRow, shape: str) -> str:
        """A block of a matrix; a number has no axes to be flattened."""
        np = self.text.namespace
        if self.one.program.number(row) is not None:
            return f"{np}.full({shape}, {self.names[row]}, dtype={np}.{self.text.dtype})"
        return f"{np}.reshape({self.names[row]}, {shape})"

    def sparse(self, matrix: Sparse[ProgramRow]) -> str:
        """A matrix in compressed rows: the module keeps its structure, entries are put in place."""
        np, text = self.text.namespace, self.text
        text.imports |= {"import copy", "import scipy.sparse"}
        structure, data = self.naming.fresh("structure"), self.naming.fresh("data")
        name = self.naming.fresh("matrix")
        arrays = [
            text.held(text.array(matrix.constant)),
            text.held(f"{np}.array({matrix.indices.tolist()}, dtype={np}.int32)"),
            text.held(f"{np}.array({matrix.pointers.tolist()}, dtype={np}.int32)"),
        ]
        text.preamble.append(
            f"{structure} = scipy.sparse.csr_matrix(({', '.join(arrays)}), shape={matrix.shape})"
        )
        self.lines.append(f"{data} = {arrays[0]}.copy()")
        for row, places, once, adds in matrix.fillings():
            index = chosen(places)
            where = index.subscript or text.held(f"{np}.array({index.listed()})")
            if not once:
                self.lines.append(f"{np}.add.at({data}, {where}, {self.names[row]})")
            else:
                sign = "+=" if adds else "="
                self.lines.append(f"{data}[{where}] {sign} {self.names[row]}")
        self.lines += [
            f"{name} = copy.copy({structure})",
            f"{name}.data, {name}.indices = {data}, {structure}.indices.copy()",
            f"{name}.indptr = {structure}.indptr.copy()",
        ]
        return name

    def _size(self, shape: tuple[int | str, ...]) -> str:
        return " * ".join(self.text.size(size) for size in shape) or "1"


def arguments_reaching(program: Program, wanted: Collection[ProgramRow]) -> dict[ProgramRow, int]:
    """How many arguments each of these rows depends on."""
    bits: dict[ProgramRow, int] = {}  # argument -> its number
    masks: dict[ProgramRow, int] = {}  # row -> the arguments it depends on, a bit for each
    last = list(program.in_order())
    for row, operands in zip(program.in_order(), program.operands, strict=True):
        for operand in operands:
            last[operand] = row
    found = {}
    for row, operands in zip(program.in_order(), program.operands, strict=True):
        mask = 0
        if program.is_leaf(row):
            bits[row] = len(bits)
            mask = 1 << bits[row]
        for operand in operands:
            mask |= 1 << bits[operand] if operand in bits else masks[operand]
        if row in wanted:
            found[row] = mask.bit_count()
        if row not in bits:  # the masks of all rows, or of all arguments, would grow as a square
            masks[row] = mask
        for operand in operands:
            if last[operand] == row:
                masks.pop(operand, None)
    return found


# Comments.


def headings(one: Task) -> dict[GraphRow, str]:
    """Lines that say where values end and derivatives begin."""
    of = one.asked.of[0] if len(one.asked.of) == 1 else "of"
    if not one.asked.want.order:
        return {}
    bars = any(name.endswith("_bar") for names in one.program.names.values() for name in names)
    usual = f"# Backward: v_bar is d {of} / d v." if bars else "# Forward: v_dot is d v / d wrt."
    return {
        GraphRow(0): "# Values.",
        one.derived.declared: one.asked.want.heading.format(of=of) or usual,
    }


def notes(graph: Structure) -> dict[str, str]:
    """{name: the rule by which it was derived} for adjoints and tangents."""
    if len(graph.names) > MOST_NOTED:
        return {}
    found: dict[str, list[str]] = {}
    rule = _rules(graph)
    for node in graph.nodes():
        name = graph.names[node]
        for edge, source in graph.edges_of(node):
            origin = graph.names[source]
            for target, other in (
                (f"{origin}_bar", f"{name}_bar"),
                (f"{name}_dot", f"{origin}_dot"),
            ):
                if target in graph.rows and other in graph.rows:
                    found.setdefault(target, []).append(rule(node, edge))
    joined = {name: ", ".join(dict.fromkeys(filter(None, r))) for name, r in found.items()}
    return {name: note for name, note in joined.items() if len(note) <= LONGEST_NOTE}


def _rules(graph: Structure) -> Callable[[GraphRow, int], str]:
    """How to write the rule of an edge: d h / d x = ..., or the formula of a tensor node."""
    if graph.has_tensors:
        return lambda node, edge: f"{graph.names[node]} = {formula_text(graph, node)}"
    from ..algebra.symbols import Symbols, symbol

    known = {row: symbol(graph.names[row]) for row in graph.nodes()}
    evaluation = Evaluation(graph, Symbols("shorten the formula"), known, {})

    def rule(node: GraphRow, edge: int) -> str:
        source = graph.names[graph.formula(node).sources[edge]]
        try:
            local = evaluation.local(node)[edge]
        except GraphcError:
            return ""
        return "" if local is None else f"d {graph.names[node]} / d {source} = {local}"

    return rule
