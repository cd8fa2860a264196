"""graphc check: verdicts on the derivatives of a graph; the exit code is 1 if it is not ok."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..checking.checks import DTYPES, WANTS, check
from ..checking.judging import METHODS
from ..errors import GraphcError
from ..show.solution_markdown import escaped
from ..write.tables import page_markdown, print_page
from .reading import names, point, read_graph, takes_point
from .writing import takes_file

CHECK = """\
values given in the file are used when they are complete, otherwise points are drawn from the
domains of the functions; derivatives of your own (d s / d x = ...) are compared with the formula"""
CODES = "the exit code is 0 if the check is ok, 1 if it is not, 2 for bad usage or a bad file"


def register(commands: Any) -> None:
    """Adds the command."""
    ask = commands.add_parser(
        "check",
        help="compare derivatives with differences, and name the culprit",
        description=CHECK,
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    ask.set_defaults(run=run)
    ask.add_argument("--of", metavar="NODES", help="what is derived; default: all outputs")
    ask.add_argument("--wrt", metavar="NODES", help="by what; default: all inputs and params")
    takes_point(ask)
    ask.add_argument("--points", type=int, metavar="N", help="draw N points from the domains")
    ask.add_argument("--rng", type=int, default=0, metavar="SEED", help="of the points drawn")
    ask.add_argument("--want", choices=WANTS, default="grad", help="which derivatives")
    ask.add_argument("--method", choices=METHODS, default="auto", help="how to measure")
    ask.add_argument("--dtype", choices=DTYPES, default="float64", help="of the code under test")
    ask.add_argument("--strict", action="store_true", help="fail on all that is not correct")
    ask.add_argument("--shrink", action="store_true", help="print the smallest failing case")
    ask.add_argument("--plot", metavar="FILE", help="draw error over step as SVG")
    ask.add_argument("--json", action="store_true", help="the report as JSON")
    takes_file(ask, ("text", "json", "markdown"))


def run(options: argparse.Namespace) -> int:
    graph = read_graph(options.file)
    if options.at is not None and options.points is not None:
        raise GraphcError("--at gives a point and --points draws some; leave one out")
    report = check(
        graph,
        names(options.of) if options.of is not None else None,
        point(options.at) if options.at is not None else None,
        names(options.wrt) if options.wrt is not None else None,
        points=options.points,
        rng=options.rng,
        want=options.want,
        method=options.method,
        dtype=options.dtype,
        strict=options.strict,
        shrink=options.shrink,
    )
    if options.plot is not None:
        report.plot(options.plot)
    if options.json or options.format == "json":
        print(report.to_json())
    elif options.format == "markdown":
        sys.stdout.write(page_markdown(report.page(), escaped))
    else:
        print_page(report.page())
    return 0 if report.ok else 1
