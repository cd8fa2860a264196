"""Graph: what users hold. Declaring appends to its rows; every verb is a function of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from .algebra import arithmetic
from .derive import differentiate, evaluation, linear, pathwise, request
from .derive import modes as derive
from .derive.pathwise import PathSum
from .errors import GraphcError, one_of, visible
from .files import file_at
from .layers import calling, numpy_functions
from .names import spelling
from .read.arrays import read_arrays
from .read.declaring import Declaring
from .read.interchange import read_edges, read_networkx, read_sympy, to_networkx
from .read.language import read
from .read.tracing import title, traced
from .shapes import shape_text
from .structure import granularity
from .structure.rows import GraphRow
from .structure.structure import Structure
from .table.late import LATE
from .write.formula import Expression, formula_text, graph_text

if TYPE_CHECKING:
    from .show.grade import Grade
    from .show.solution import Solution


def _map_blocks(*given: Any) -> Any:
    from .distributed.mapping import map_blocks

    return map_blocks(*given)


def _reduce(*given: Any, **settings: Any) -> Any:
    from .distributed.reducing import reduce

    return reduce(*given, **settings)


LATE.update(
    {
        "numpy ufunc": numpy_functions.called_ufunc,
        "numpy function": numpy_functions.called,
        "numpy method": numpy_functions.method,
        "function on numbers": arithmetic.on_numbers,
        "layer on numbers": evaluation.on_numbers,
        "operation": calling.operation,
        "map": _map_blocks,
        "reduce": _reduce,
    }
)
At = Mapping[str, Any] | None
LARGEST_FILE = 64 << 20
LONGEST_NAME = 60  # characters of a graph's name where it is shown


@dataclass(frozen=True)
class Node:
    """One node of a graph, for reading."""

    graph: Structure
    row: GraphRow

    @property
    def name(self) -> str:
        return self.graph.names[self.row]

    @property
    def kind(self) -> str:
        """input, param, const or compute."""
        return self.graph.kind(self.row)

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The shape; a size that is known only at a point is a name."""
        return self.graph.shape(self.row)

    @property
    def size(self) -> int:
        """The number of elements."""
        shape = self.shape
        unknown = [size for size in shape if isinstance(size, str)]
        if unknown:
            raise GraphcError(
                f"the number of elements of {self.name!r} is not known: its shape is "
                f"{shape_text(shape)}; declare {unknown[0]} as a number"
            )
        return prod(size for size in shape if isinstance(size, int))

    @property
    def parents(self) -> tuple[str, ...]:
        """The names that the formula mentions, in order."""
        return tuple(self.graph.names[source] for source in self.graph.formula(self.row).sources)

    @property
    def value(self) -> Any:
        """The value given at the declaration, or None."""
        from .algebra.exact import present

        return present(self.graph.given[self.row]) if self.row in self.graph.given else None

    @property
    def text(self) -> str:
        """The formula as it was declared."""
        return (
            formula_text(self.graph, self.row) if self.kind not in ("input", "param") else self.name
        )

    @property
    def expr(self) -> Any:
        """The formula as a SymPy expression in the names it mentions."""
        from .algebra.symbols import Symbols, plain, symbol

        graph = self.graph
        if graph.has_tensors:
            return Expression(graph, self.row, whole=False, named=False)
        if self.kind in ("input", "param"):
            return plain(symbol(self.name))
        sources = graph.formula(self.row).sources
        known = {source: symbol(graph.names[source]) for source in sources}
        advice = "collapse fewer nodes"
        return plain(evaluation.Evaluation(graph, Symbols(advice), known, {}).value(self.row))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}{'' if self.text == self.name else ' = ' + self.text}>"


class Graph(Declaring):
    """A computation graph: nodes with names, formulas and edges."""

    def __call__(self, *arguments: Any, **settings: Any) -> NoReturn:
        raise GraphcError(
            f"the graph {self.name!r} is not a function; g.values(at) evaluates it and g.compile() "
            "makes a function of numbers; to use its formulas in another graph, write them as a "
            "plain Python function that both traced functions call"
        )

    # Reading.

    def __getitem__(self, name: str) -> Node:
        return Node(self, self.row(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and spelling(name) in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter([self.names[row] for row in self.nodes()])

    def __len__(self) -> int:
        return len(self.names)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        kinds = [self.ops[row] for row in self.leaves()]
        counts = f"{kinds.count('input')} inputs, {kinds.count('param')} params"
        outputs = ", ".join(self.output_names[:5])
        plain = self.name.isprintable() and len(self.name) <= LONGEST_NAME
        name = self.name if plain else visible(self.name, LONGEST_NAME)
        return f"<Graph {name}: {counts}, {len(self)} nodes in all; outputs: {outputs}>"

    def edges(self) -> list[tuple[str, str]]:
        """(source, target) of every edge; parallel edges appear as often as they are."""
        return [
            (self.names[source], self.names[node])
            for node in self.nodes()
            for source in self.formula(node).sources
        ]

    @property
    def input_names(self) -> list[str]:
        return [self.names[row] for row in self.leaves() if self.ops[row] == "input"]

    @property
    def param_names(self) -> list[str]:
        return [self.names[row] for row in self.leaves() if self.ops[row] == "param"]

    @property
    def output_names(self) -> list[str]:
        return [self.names[row] for row in self.outputs()]

    def to_text(self) -> str:
        """The text form; reading it back gives the same graph."""
        return graph_text(self)

    def to_networkx(self) -> Any:
        """A networkx MultiDiGraph with formulas on nodes; from_networkx reads it back."""
        return to_networkx(self)

    def expand(self) -> Graph:
        """A graph in which every operation is a node; derivatives are the same."""
        return granularity.expand(self)

    def collapse(self, *names: str) -> Graph:
        """A graph in which the named nodes are part of the formulas that use them."""
        return granularity.collapse(self, *names)

    def untie(self, name: str) -> Graph:
        """A graph in which each occurrence of an input or param is a copy name_1, name_2, ..."""
        return granularity.untie(self, name)

    # Deriving.

    def values(self, at: At = None) -> dict[str, Any]:
        """The value of every node."""
        return derive.values(self, at)

    def local(self, source: str, target: str, at: At = None) -> Any:
        """The partial of the formula of `target` by `source`, everything else held."""
        return linear.local(self, source, target, at)

    def reverse(self, of: Any = None, at: At = None, form: str = "nodes") -> request.Derivatives:
        """{name: d of / d name} for every node with a path to `of`."""
        return derive.reverse(self, of, at, form)

    def forward(self, wrt: Any, at: At = None, form: str = "nodes") -> request.Derivatives:
        """{name: d name / d wrt} for every node reached from `wrt`."""
        return derive.forward(self, wrt, at, form)

    def derivative(
        self, of: Any, wrt: Any, at: At = None, mode: str = "auto", form: str = "nodes"
    ) -> Any:
        """The total derivative d of / d wrt; 0 where there is no path."""
        return derive.derivative(self, of, wrt, at, mode, form)

    def all_pairs(self, at: At = None, result: str = "dict", out: Any = None) -> Any:
        """{(i, j): d j / d i} for every connected pair, or the same as an array.

        - result: "dict"; "dense", an array in the order of the nodes; "sparse", scipy's CSR.
        - out: the array that a dense result is written to, or the path of a .npy file to which it
          is streamed, a block of sources at a time.
        """
        from .program.all_pairs import all_pairs

        return all_pairs(self, at, result, out)

    def paths(self, source: Any, target: Any) -> Iterable[tuple[str, ...]]:
        """An iterator over the paths, as tuples of names."""
        return pathwise.paths(self, source, target)

    def count_paths(self, source: Any, target: Any) -> int:
        """The exact number of paths, without enumerating them."""
        return pathwise.number_of_paths(self, source, target)

    def longest_path(self, source: Any, target: Any) -> tuple[str, ...]:
        """One of the longest paths; empty if there is none."""
        return pathwise.longest(self, source, target)

    def pathwise(self, of: Any, wrt: Any, at: At = None, limit: int = 10_000) -> PathSum:
        """The derivative as a sum over paths: `.value` and `.terms`."""
        return pathwise.pathwise(self, of, wrt, at, limit)

    def top_paths(self, of: Any, wrt: Any, at: At = None, k: int = 10) -> PathSum:
        """The k largest terms of the path sum, without enumerating the rest."""
        return pathwise.largest_paths(self, of, wrt, at, k)

    def jacobian(
        self, of: Any = None, wrt: Any = None, at: At = None, layout: str = "numerator"
    ) -> Any:
        """The matrix of derivatives of `of` (rows) by `wrt` (columns)."""
        return differentiate.jacobian(self, of, wrt, at, layout)

    def hessian(self, of: Any = None, wrt: Any = None, at: At = None) -> Any:
        """The matrix of second derivatives of one node."""
        return differentiate.hessian(self, of, wrt, at)

    def differentiate(self, of: Any = None, wrt: Any = None, mode: str = "reverse") -> Graph:
        """The graph extended by the nodes of its derivative; its outputs are the derivatives."""
        return differentiate.differentiate(self, of, wrt, mode)

    # Drawing. The settings are at, of, show, weights, highlight, theme, direction, legend, fold.

    def draw(
        self, path: str | PathLike[str], frames: bool | str = False, **settings: Any
    ) -> Path | list[Path]:
        """Writes a drawing; the suffix says the format: svg, pdf, png or dot."""
        from .draw.drawing import draw

        return draw(self, path, frames, **settings)

    def to_dot(self, **settings: Any) -> Any:
        """The drawing as a graphviz.Digraph."""
        from .draw.drawing import to_dot

        return to_dot(self, **settings)

    def explore(
        self, path: str | PathLike[str], of: Any = None, at: At = None, **settings: Any
    ) -> Path:
        """Writes an interactive page, one .html file; settings: wrt, mode."""
        from .explore.exploring import explore

        for key in settings:
            one_of(key, ("wrt", "mode"), "the setting of a page")

        return explore(self, path, of, at, **settings)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from .draw.drawing import mimebundle

        return mimebundle(self)

    # Showing.

    def explain(
        self, of: Any = None, wrt: Any = None, at: At = None, mode: str = "reverse", digits: int = 6
    ) -> Solution:
        """The worked solution of d of / d wrt: `.text .markdown .latex .html`."""
        from .show.explain import explain

        return explain(self, of, wrt, at, mode, digits)

    def explain_all_pairs(self, at: At = None, digits: int = 6) -> Solution:
        """The worked solution of every derivative between two nodes."""
        from .show.explain_pairs import explain_all_pairs

        return explain_all_pairs(self, at, digits)

    def grade(self, answer: Mapping[str, Any], of: Any = None, at: At = None) -> Grade:
        """The verdict on {"values": {...}, "derivatives": {...}}: `.ok .first_wrong .kind`."""
        from .show.grade import grade

        return grade(self, answer, of, at)

    # Compiling.

    def compile(
        self, of: Any = None, wrt: Any = None, want: str = "value_and_grad", **options: Any
    ) -> Any:
        """A fast function for `want`, with `.source`, `.plan` and `.save(path)`.

        Options: backend, mode, dtype, style, reduce, sparse, checkpoint, threads, maths.
        """
        from .program.compiling import compile_graph

        return compile_graph(self, of, wrt, want, **options)

    def emit(
        self, of: Any = None, wrt: Any = None, want: str = "value_and_grad", **options: Any
    ) -> str:
        """The text of a standalone module, or of a file of C, for `want`; options as in compile."""
        from .program.compiling import emit

        return emit(self, of, wrt, want, **options)


def parse(text: str, name: str = "graph") -> Graph:
    """The graph that a text declares."""
    graph = Graph(name)
    read(graph, text)
    return graph


def load(path: str | PathLike[str]) -> Graph:
    """The graph that a file declares."""
    file = file_at(path)
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)  # a device has no size to ask for
        if len(content) > LARGEST_FILE:
            raise GraphcError(f"{file.name} is over {LARGEST_FILE >> 20} MB; split the graph")
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise GraphcError(f"{visible(str(path))} is not a text file in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GraphcError(f"cannot read {visible(str(path))}: {reason.lower()}") from None
    try:
        return parse(text, file.stem)
    except GraphcError as error:
        raise GraphcError(f"{file.name}, {error}") from None


def from_sympy(
    expressions: Any, inputs: str | Iterable[Any] | None = None, name: str = "graph"
) -> Graph:
    """A graph with one node per operation of {name: expression}; other symbols are params."""
    return read_sympy(Graph(name), expressions, inputs)


def from_edges(edges: Any, name: str = "edges") -> Graph:
    """A graph of local derivatives alone: {(source, target): z}, or a list of the three."""
    return read_edges(Graph(name), edges)


def from_arrays(inputs: int, ops: Sequence[str], operands: Any, name: str = "arrays") -> Graph:
    """A graph of columns: operation k is `ops[k]` of the nodes `operands[k]`, -1 for none.

    The inputs are x0, x1, ...; operation k is the node n{inputs + k}.
    """
    return read_arrays(Graph(name), inputs, ops, operands)


def from_networkx(other: Any) -> Graph:
    """The graph of a networkx digraph: formulas on nodes, or local derivatives on edges."""
    return read_networkx(Graph(str(getattr(other, "name", "") or "graph")), other)


@overload
def graph(function: Callable[..., Any], *, shapes: Mapping[str, Any] | None = None) -> Graph: ...
@overload
def graph(
    function: None = None, *, shapes: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Graph]: ...
def graph(
    function: Callable[..., Any] | None = None, *, shapes: Mapping[str, Any] | None = None
) -> Graph | Callable[[Callable[..., Any]], Graph]:
    """The graph of a function: its positional arguments are inputs, keyword-only ones params.

    Usable as `@graph` and as `@graph(shapes={"x": (3,)})`; a default value is a given value.
    """
    if function is None:
        return lambda function: traced(Graph(title(function)), function, shapes or {})
    return traced(Graph(title(function)), function, shapes or {})
