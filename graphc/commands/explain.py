"""graphc explain: the worked solution of a derivative."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..derive.hops import the_output
from ..errors import GraphcError, listing, visible
from .reading import given_complete, names, point, read_graph, takes_point
from .writing import takes_file, write_text

FORMATS = ("text", "markdown", "latex", "html")
SUFFIXES = {".md": "markdown", ".tex": "latex", ".html": "html", ".htm": "html"}
MODES = ("reverse", "forward", "paths", "all-pairs")
EXPLAIN = """\
the worked solution: values, each local derivative with its rule, each update, the result;
values given in the file are used when they are complete, otherwise the solution is in symbols"""


def register(commands: Any) -> None:
    """Adds the command."""
    ask = commands.add_parser(
        "explain",
        help="write the worked solution of a derivative",
        description=EXPLAIN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    ask.set_defaults(run=run)
    ask.add_argument("--of", metavar="NODE", help="what to derive; default: the only output")
    ask.add_argument("--wrt", metavar="NODES", help="by what, such as y1,y2; default: all nodes")
    takes_point(ask, symbolic=True)
    ask.add_argument("--mode", choices=MODES, default="reverse", help="how to find it")
    ask.add_argument("--digits", type=int, default=6, help="of decimals; default: 6")
    ask.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to write; - is standard output"
    )
    takes_file(ask, ())
    ask.add_argument(
        "--format", choices=FORMATS, help="of the output; default: by the suffix of FILE, or text"
    )


def run(options: argparse.Namespace) -> None:
    solution = _solved(options)
    suffix = Path(options.output).suffix.lower() if options.output != "-" else ""
    if not options.format and suffix not in ("", ".txt", *SUFFIXES):
        known = listing([".txt", *SUFFIXES])
        raise GraphcError(f"-o: the suffix {visible(suffix)} is not one of {known}; give --format")
    text = getattr(solution, options.format or SUFFIXES.get(suffix, "text"))
    write_text(options.output, text)


def _solved(options: argparse.Namespace) -> Any:
    graph = read_graph(options.file)
    if options.at is not None and options.symbolic:
        raise GraphcError("--symbolic asks for symbols and --at for numbers; leave one out")
    everything = options.mode == "all-pairs"
    if everything and (options.of is not None or options.wrt is not None):
        raise GraphcError("--mode all-pairs is about every node; leave --of and --wrt out")
    target = None if everything else the_output(graph, options.of)
    at: dict[str, str] | None = None
    if options.at is not None:
        at = point(options.at)
    elif not options.symbolic and given_complete(
        graph, graph.nodes() if target is None else [target]
    ):
        at = {}
    if target is None:
        return graph.explain_all_pairs(at, options.digits)
    wrt = names(options.wrt) if options.wrt is not None else None
    return graph.explain(graph.names[target], wrt, at, options.mode, options.digits)
