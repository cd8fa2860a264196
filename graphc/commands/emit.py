"""graphc emit: a standalone module of derivative code."""

from __future__ import annotations

import argparse
from typing import Any

from ..program.backend import STYLES
from ..program.backends import offered
from ..program.compiling import emit_files
from ..program.options import DTYPES, MATHS
from ..program.wants import MODES, WANTS
from .reading import names, read_graph
from .writing import takes_file, write_text

EMIT = """\
writes a module that imports only NumPy (or CuPy) and checks its derivatives when it is run, or a
file of C with its header, which does so when it is compiled with -DGRAPHC_CHECK"""


def register(commands: Any) -> None:
    """Adds the command."""
    emit = commands.add_parser(
        "emit", help="write a module of derivative code", description=EMIT, allow_abbrev=False
    )
    emit.set_defaults(run=run)
    emit.add_argument("--of", metavar="NODES", help="what to compute: L, or a,b (each)")
    emit.add_argument("--wrt", metavar="NODES", help="by what, such as w1,w2; default: the params")
    emit.add_argument("--want", choices=tuple(WANTS), default="value_and_grad")
    emit.add_argument("--backend", choices=offered(), default="numpy")
    emit.add_argument("--mode", choices=MODES, default="auto", help="how derivatives are found")
    emit.add_argument("--dtype", choices=DTYPES, default="float64")
    emit.add_argument("--style", choices=STYLES, default="readable")
    emit.add_argument("--maths", choices=MATHS, default="libm", help="whose functions C calls")
    emit.add_argument("--sparse", action="store_true", help="only the entries that exist")
    emit.add_argument("-o", "--output", metavar="FILE", default="-", help="default: - prints it")
    takes_file(emit, formats=())


def run(options: argparse.Namespace) -> None:
    graph = read_graph(options.file)
    of = names(options.of) if options.of is not None else None
    found = emit_files(
        graph,
        options.output,
        of[0] if of is not None and len(of) == 1 else of,
        names(options.wrt) if options.wrt is not None else None,
        options.want,
        backend=options.backend,
        mode=options.mode,
        dtype=options.dtype,
        style=options.style,
        maths=options.maths,
        sparse=options.sparse,
    )
    for path, text in found.items():
        if options.output != "-" or path == "-":  # a header goes to a file only
            write_text(path, text)
