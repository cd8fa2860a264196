"""graphc draw: a graph as SVG, PDF, PNG or DOT."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..draw.drawing import SUFFIXES, WEIGHTS, complete_point, draw, drawn
from ..draw.frames import KINDS
from ..draw.quantities import SHOWN
from ..draw.themes import THEMES
from ..errors import GraphcError
from .reading import assignments, names, point, read_graph, takes_point

DRAW = """\
draws a graph with values, local derivatives (blue, on edges) and adjoints (red, at nodes);
the suffix of the output says the format: svg, pdf, png or dot"""


def register(commands: Any) -> None:
    """Adds the command."""
    draw = commands.add_parser(
        "draw",
        help="draw a graph as SVG, PDF, PNG or DOT",
        description=DRAW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    draw.set_defaults(run=run)
    draw.add_argument("file", metavar="FILE", help="a graph in the text form; - reads stdin")
    draw.add_argument(
        "-o", "--output", metavar="PATH", required=True, help="such as fig.svg; - is stdout"
    )
    draw.add_argument("--of", metavar="NODES", help="what is derived: y10, or o=5 (a seed)")
    takes_point(draw, symbolic=True)
    draw.add_argument("--show", metavar="WHAT", help=f"any of {','.join(SHOWN)}; default: all")
    draw.add_argument("--weights", choices=WEIGHTS, default="nodes", help="where weights are drawn")
    draw.add_argument(
        "--highlight", metavar="PATH", help="the names along a path, such as y2,y4,y7"
    )
    draw.add_argument("--theme", choices=tuple(THEMES), default="light", help="default: light")
    draw.add_argument("--direction", choices=("right", "down"), default="right")
    draw.add_argument("--no-legend", action="store_true", help="leave the legend out")
    draw.add_argument("--fold", action="store_true", help="join equal nodes and repeated blocks")
    draw.add_argument("--frames", choices=KINDS, help="the two passes step by step")
    draw.add_argument("--format", choices=SUFFIXES, help="for -o -; default: svg")
    draw.add_argument("--open", action="store_true", help="show the file when it is written")


def run(options: argparse.Namespace) -> None:
    graph = read_graph(options.file)
    settings = asked(graph, options)
    if options.output == "-":
        if options.frames or options.open:
            raise GraphcError("--frames and --open need a file; give one with -o")
        content = drawn(graph, options.format or "svg", **settings)
        sys.stdout.buffer.write(content)
        return
    file = Path(options.output)
    if options.format and file.suffix.lower() != f".{options.format}":
        raise GraphcError(
            f"--format {options.format} does not fit {file.name}; the suffix says the format, and "
            "--format is for -o -"
        )
    written = draw(graph, file, options.frames or False, **settings)
    if options.open:
        import webbrowser

        first = written[0] if isinstance(written, list) else written
        webbrowser.open(first.absolute().as_uri())


def asked(graph: Any, options: argparse.Namespace) -> dict[str, Any]:
    """The settings of the drawing."""
    of: Any = None
    if options.of is not None:
        ends = assignments(options.of, "--of")
        of = next(iter(ends)) if len(ends) == 1 and None in ends.values() else _seeds(ends)
    if options.at is not None and options.symbolic:
        raise GraphcError("--symbolic asks for symbols and --at for numbers; leave one out")
    at: Any = None
    if options.at is not None:
        at = point(options.at)
    elif not options.symbolic:
        at = complete_point(graph, of)
    return {
        "at": at,
        "of": of,
        "show": names(options.show) if options.show is not None else None,
        "weights": options.weights,
        "highlight": names(options.highlight.replace("->", ","))
        if options.highlight is not None
        else None,
        "theme": options.theme,
        "direction": options.direction,
        "legend": not options.no_legend,
        "fold": options.fold or None,
    }


def _seeds(ends: dict[str, str | None]) -> dict[str, Any]:
    """{node: seed}; a name without one counts once."""
    return {name: 1 if seed is None else seed for name, seed in ends.items()}
