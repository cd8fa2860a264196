"""graphc derive: derivatives of a graph."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from ..derive.request import FORMS
from ..errors import GraphcError
from ..show import derivatives
from ..show.notation import MARKDOWN
from ..write.tables import page_markdown, print_page
from .reading import assignments, given_complete, names, point, read_graph, takes_point
from .writing import print_json, takes_file

DERIVE = """\
values given in the file are used when they are complete, otherwise results are in symbols;
numbers are exact: 0.3 is 3/10, and 1/3 or pi/3 may be written as they are"""
DERIVE_JSON = """\
--format json prints one object:
  graph, mode, form    what was asked (form is null at a point)
  seeds                {name: text} if --of gave seeds, otherwise null
  at                   the point as {name: exact text}, null for symbols
  derivatives          a list of {of, wrt, value, float, path}: value is the exact text
                       ("729/31250", "sin(3/10)"), float the nearest float (null for symbols),
                       path is false where no path leads from wrt to of; --mode paths adds terms,
                       a list of {path, value, float}"""


def register(commands: Any) -> None:
    """Adds the command."""
    ask = commands.add_parser(
        "derive",
        help="print derivatives of a graph",
        description=DERIVE,
        epilog=DERIVE_JSON,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    ask.set_defaults(run=run)
    ask.add_argument(
        "--of", metavar="NODES", help="what to derive: y10, or a,b (each), or o=5 (a seed)"
    )
    ask.add_argument("--wrt", metavar="NODES", help="by what, such as y1,y2; default: all nodes")
    ask.add_argument("--mode", choices=derivatives.MODES, default="auto", help="how to find it")
    takes_point(ask, symbolic=True)
    ask.add_argument("--form", choices=FORMS, help="of symbolic results; default: nodes")
    ask.add_argument("--limit", type=int, default=10_000, help="most paths for --mode paths")
    takes_file(ask)


def run(options: argparse.Namespace) -> None:
    question = asked(options)
    found = derivatives.answers(question)
    if options.format == "json":
        print_json(derivatives.derivatives_data(question, found))
    elif options.format == "latex":
        sys.stdout.write(derivatives.derivatives_latex(question, found))
    elif options.format == "markdown":
        sys.stdout.write(page_markdown(derivatives.derivatives_page(question, found, MARKDOWN)))
    else:
        print_page(derivatives.derivatives_page(question, found))


def asked(options: argparse.Namespace) -> derivatives.Question:
    """What the options ask for."""
    graph = read_graph(options.file)
    of = assignments(options.of, "--of") if options.of is not None else {}
    seeded = {name: seed for name, seed in of.items() if seed is not None}
    if seeded and len(seeded) != len(of):
        raise GraphcError("--of mixes names with and without a seed; give all of them one")
    if options.limit < 1:
        raise GraphcError(f"--limit {options.limit} allows no path; give at least 1")
    question = derivatives.Question(
        graph,
        of=() if seeded else tuple(of),
        seeds=seeded or None,
        wrt=tuple(names(options.wrt)) if options.wrt is not None else (),
        mode=options.mode,
        form=options.form or "nodes",
        limit=options.limit,
    )
    return _located(question, options)


def _located(question: derivatives.Question, options: argparse.Namespace) -> derivatives.Question:
    """The question with the point at which it is asked."""
    if options.at is not None:
        for option in ("symbolic", "form"):
            if getattr(options, option):
                raise GraphcError(
                    f"--{option} asks for symbols and --at for numbers; leave one out"
                )
        return replace(question, at=point(options.at))
    graph = question.graph
    everything = question.mode == "all-pairs"
    rows = graph.nodes() if everything else [graph.row(name) for name in question.targets()]
    complete = given_complete(graph, rows)
    symbolic = options.symbolic or options.form or not complete
    return question if symbolic else replace(question, at={})
