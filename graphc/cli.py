"""The command line: graphc show, derive and demo."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from . import __version__
from .derive import upstream
from .errors import GraphcError, visible
from .graphs import LARGEST_FILE, Graph, load, parse
from .request import FORMS
from .show import derivatives, nodes
from .show.notation import MARKDOWN
from .show.tables import page_markdown, print_page

FORMATS = ("text", "latex", "json", "markdown")
BAD, INTERRUPTED, CLOSED, BROKEN = 2, 130, 141, 70  # exit codes
LARGEST_POINT = 16 << 20

DESCRIPTION = "Derivatives of computation graphs, exactly."
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


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence, raised as a GraphcError."""

    def error(self, message: str) -> NoReturn:
        raise GraphcError(f"{message}; see '{self.prog} --help'")


def _parser() -> Parser:
    parser = Parser("graphc", description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"graphc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    raw = argparse.RawDescriptionHelpFormatter

    show = commands.add_parser(
        "show", help="print the nodes and edges of a graph", allow_abbrev=False
    )
    show.set_defaults(run=_show)

    ask = commands.add_parser(
        "derive",
        help="print derivatives of a graph",
        description=DERIVE,
        epilog=DERIVE_JSON,
        formatter_class=raw,
        allow_abbrev=False,
    )
    ask.set_defaults(run=_derive)
    ask.add_argument(
        "--of", metavar="NODES", help="what to derive: y10, or a,b (each), or o=5 (a seed)"
    )
    ask.add_argument("--wrt", metavar="NODES", help="by what, such as y1,y2; default: all nodes")
    ask.add_argument("--mode", choices=derivatives.MODES, default="auto", help="how to find it")
    ask.add_argument(
        "--at",
        metavar="POINT",
        action="append",
        help="y1=1/2,y2=3/5 or a JSON file {name: number}; may be repeated",
    )
    ask.add_argument("--symbolic", action="store_true", help="symbols, even if values are given")
    ask.add_argument("--form", choices=FORMS, help="of symbolic results; default: nodes")
    ask.add_argument("--limit", type=int, default=10_000, help="most paths for --mode paths")
    for command in (show, ask):
        command.add_argument("file", metavar="FILE", help="a graph in the text form; - reads stdin")
        command.add_argument("--format", choices=FORMATS, default="text", help="of the output")

    demo = commands.add_parser("demo", help="a tour on a graph of ten nodes", allow_abbrev=False)
    demo.set_defaults(run=_demo)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 2 for bad usage or a bad file."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = _parser().parse_args(argv)
            if sys.stdout is None:
                raise GraphcError("standard output is closed; there is nowhere to print")
            options.run(options)
            sys.stdout.flush()
        for note in dict.fromkeys(str(warning.message) for warning in caught):
            print(f"note: {note}", file=sys.stderr)
        return 0
    except SystemExit as leaving:  # --help and --version
        return int(leaving.code or 0)
    except GraphcError as error:
        return _complain(_in_options(str(error)), BAD)
    except OSError as error:
        # Python must not fail again when it closes the output that nobody reads or that is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return CLOSED
        return _complain(f"cannot write the output: {(error.strerror or str(error)).lower()}", BAD)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except (RecursionError, MemoryError):
        return _complain("the graph is too large for this request; ask for less at once", BAD)
    except Exception as error:
        kind = type(error).__name__
        return _complain(f"unexpected {kind}: {error}; please report it with the file", BROKEN)


def _complain(sentence: str, code: int) -> int:
    print(f"graphc: {sentence}", file=sys.stderr)
    return code


# Python's arguments in a message of the library, as options of the command line
_SPELLINGS = (
    (re.compile(r"\bat=\{\.\.\.\}"), "--at name=value"),
    (re.compile(r"\bat=None\b"), "--symbolic"),
    (re.compile(r"\bform='(\w+)'"), r"--form \1"),
    (re.compile(r"\b(of|wrt|limit)=(?=\d|\s|$)"), r"--\1 "),
    (re.compile(r"\breverse\(\)"), "--mode reverse"),
)


def _in_options(message: str) -> str:
    for pattern, option in _SPELLINGS:
        message = pattern.sub(option, message)
    return message.rstrip()


# The commands.


def _show(options: argparse.Namespace) -> None:
    graph = _graph(options.file)
    if options.format == "json":
        _print_json(nodes.graph_data(graph))
    elif options.format == "latex":
        sys.stdout.write(nodes.graph_latex(graph))
    elif options.format == "markdown":
        sys.stdout.write(page_markdown(nodes.graph_page(graph, MARKDOWN)))
    else:
        print_page(nodes.graph_page(graph))


def _derive(options: argparse.Namespace) -> None:
    question = _question(options)
    found = derivatives.answers(question)
    if options.format == "json":
        _print_json(derivatives.derivatives_data(question, found))
    elif options.format == "latex":
        sys.stdout.write(derivatives.derivatives_latex(question, found))
    elif options.format == "markdown":
        sys.stdout.write(page_markdown(derivatives.derivatives_page(question, found, MARKDOWN)))
    else:
        print_page(derivatives.derivatives_page(question, found))


def _demo(options: argparse.Namespace) -> None:
    from .show.demo import tour

    print_page(tour())


def _print_json(data: Mapping[str, Any]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


# Reading what the user gave.


def _graph(file: str) -> Graph:
    if file != "-":
        return load(file)
    if sys.stdin is None:
        raise GraphcError("standard input is closed; give a file")
    data = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise GraphcError(f"standard input is over {LARGEST_FILE >> 20} MB; split the graph")
    try:
        return parse(data.decode(), "stdin")
    except UnicodeDecodeError:
        raise GraphcError("standard input is not text in UTF-8") from None
    except GraphcError as error:
        raise GraphcError(f"standard input, {error}") from None


def _question(options: argparse.Namespace) -> derivatives.Question:
    graph = _graph(options.file)
    of = _assignments(options.of, "--of") if options.of is not None else {}
    seeded = {name: seed for name, seed in of.items() if seed is not None}
    if seeded and len(seeded) != len(of):
        raise GraphcError("--of mixes names with and without a seed; give all of them one")
    if options.limit < 1:
        raise GraphcError(f"--limit {options.limit} allows no path; give at least 1")
    question = derivatives.Question(
        graph,
        of=() if seeded else tuple(of),
        seeds=seeded or None,
        wrt=tuple(_names(options.wrt)) if options.wrt is not None else (),
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
        at: dict[str, str] = {}
        for text in options.at:
            at.update(_point(text))
        return replace(question, at=at)
    graph = question.graph
    everything = question.mode == "all-pairs"
    rows = graph.nodes() if everything else [graph.row(name) for name in question.targets()]
    leaves = set(graph.leaves()) & upstream(graph, rows)
    complete = bool(graph.given) and leaves <= set(graph.given)
    symbolic = options.symbolic or options.form or not complete
    return question if symbolic else replace(question, at={})


def _point(text: str) -> dict[str, str]:
    """{name: exact text} from y1=1/2,y2=3/5 or from a JSON file."""
    if "=" in text and not Path(text).is_file():
        pairs = _assignments(text, "--at")
        for name, value in pairs.items():
            if value is None:
                raise GraphcError(f"--at: {visible(name)} has no value; write {name}=1/2")
        return {name: str(value) for name, value in pairs.items()}
    return _point_file(text)


def _point_file(file: str) -> dict[str, str]:
    shown = visible(file)
    try:
        if Path(file).stat().st_size > LARGEST_POINT:
            raise GraphcError(f"--at: {shown} is over {LARGEST_POINT >> 20} MB")
        text = Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise GraphcError(f"--at: {shown} is not a text file in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise GraphcError(
            f"--at: cannot read {shown}: {reason}; give name=value,... or a JSON file"
        ) from None
    try:
        # numbers stay text, so that 0.3 is 3/10
        data = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_once
        )
    except GraphcError as error:
        raise GraphcError(f"--at: {shown}: {error}") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "it nests too deep"
        raise GraphcError(f"--at: {shown} is not JSON: {reason}") from None
    if not isinstance(data, dict):
        raise GraphcError(f'--at: {shown} must hold an object such as {{"x": 0.5, "w": "1/3"}}')
    for name, value in data.items():
        if not isinstance(value, str) or value in ("NaN", "Infinity", "-Infinity"):
            raise GraphcError(
                f"--at: the value of {visible(name)} in {shown} is {visible(json.dumps(value))}; "
                'give a finite number, or exact text such as "1/3"'
            )
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise GraphcError(f"{visible(twice)} is given twice; keep one")
    return dict(pairs)


def _names(text: str) -> list[str]:
    """Names separated by commas."""
    found = [part.strip() for part in _split(text)]
    if not all(found):
        raise GraphcError(f"{visible(text)} has an empty name; write names such as y1,y2")
    return found


def _assignments(text: str, option: str) -> dict[str, str | None]:
    """{name: text after =, or None} of parts separated by commas."""
    found: dict[str, str | None] = {}
    for part in _names(text):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name in found:
            raise GraphcError(f"{option}: {visible(name)} is given twice; keep one")
        if equals and not value:
            raise GraphcError(f"{option}: {visible(name)} has no value; write {name}=1/2")
        found[name] = value if equals else None
    return found


def _split(text: str) -> list[str]:
    """The parts between commas, except commas within brackets, as in h[2,1]."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


if __name__ == "__main__":
    sys.exit(main())
