"""graphc explore: a graph as one interactive page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..derive.modes import MODES
from ..errors import GraphcError
from .reading import assignments, point, read_graph, takes_point
from .writing import takes_file

EXPLORE = """\
writes one self-contained page: move an input and watch values and derivatives follow, step through
both passes, list the paths; what has no value starts at a number at which everything is finite"""


def register(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser(
        "explore",
        help="write an interactive page",
        description=EXPLORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    command.add_argument(
        "-o", "--output", metavar="PATH", required=True, help="such as page.html; - is stdout"
    )
    command.add_argument(
        "--of", metavar="NODES", help="what is derived first: y10, or o=5 (a seed)"
    )
    command.add_argument("--wrt", metavar="NODE", help="by what first, such as y1")
    command.add_argument("--mode", choices=MODES[1:], default="reverse", help="default: reverse")
    takes_point(command)
    command.add_argument("--open", action="store_true", help="show the page when it is written")
    takes_file(command, formats=())


def run(options: argparse.Namespace) -> None:
    from ..explore.exploring import explore, page

    graph = read_graph(options.file)
    of: Any = None
    if options.of is not None:
        ends = assignments(options.of, "--of")
        plain = len(ends) == 1 and None in ends.values()
        of = next(iter(ends)) if plain else {n: 1 if s is None else s for n, s in ends.items()}
    at = point(options.at) if options.at is not None else None
    if options.output == "-":
        if options.open:
            raise GraphcError("--open needs a file; give one with -o")
        sys.stdout.write(page(graph, of, at, options.wrt, options.mode))
        return
    written = explore(graph, Path(options.output), of, at, options.wrt, options.mode)
    if options.open:
        import webbrowser

        webbrowser.open(written.absolute().as_uri())
