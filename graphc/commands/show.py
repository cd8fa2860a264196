"""graphc show: the nodes and edges of a graph."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..show import nodes
from ..show.notation import MARKDOWN
from ..write.tables import page_markdown, print_page
from .reading import read_graph
from .writing import print_json, takes_file


def register(commands: Any) -> None:
    """Adds the command."""
    show = commands.add_parser(
        "show", help="print the nodes and edges of a graph", allow_abbrev=False
    )
    show.set_defaults(run=run)
    takes_file(show)


def run(options: argparse.Namespace) -> None:
    shown = read_graph(options.file)
    if options.format == "json":
        print_json(nodes.graph_data(shown))
    elif options.format == "latex":
        sys.stdout.write(nodes.graph_latex(shown))
    elif options.format == "markdown":
        sys.stdout.write(page_markdown(nodes.graph_page(shown, MARKDOWN)))
    else:
        print_page(nodes.graph_page(shown))
