"""The command line: the commands, and how they end."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from . import __version__
from .errors import GraphcError

COMMANDS = ("show", "derive", "explain", "draw", "explore", "emit", "check", "demo", "doctor")
BAD, INTERRUPTED, CLOSED, BROKEN = 2, 130, 141, 70  # exit codes

DESCRIPTION = "Derivatives of computation graphs, exactly."


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence, raised as a GraphcError."""

    def error(self, message: str) -> NoReturn:
        raise GraphcError(f"{message}; see '{self.prog} --help'")


def _parser(argv: Sequence[str]) -> Parser:
    """Knows the command that is asked for, so that no other room is opened, or all of them."""
    parser = Parser("graphc", description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"graphc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    asked = [name for name in argv[:1] if name in COMMANDS]
    for name in asked or COMMANDS:
        import_module(f".commands.{name}", __package__).register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 where a check is not passed, or 2 for bad usage or a bad file."""
    argv = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = _parser(argv).parse_args(argv)
            if sys.stdout is None:
                raise GraphcError("standard output is closed; there is nowhere to print")
            code = options.run(options)
            sys.stdout.flush()
        for note in dict.fromkeys(str(warning.message) for warning in caught):
            print(f"note: {note}", file=sys.stderr)
        return code or 0
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
    (re.compile(r"\bmode='(\w+)'"), r"--mode \1"),
)


def _in_options(message: str) -> str:
    for pattern, option in _SPELLINGS:
        message = pattern.sub(option, message)
    return message.rstrip()


if __name__ == "__main__":
    sys.exit(main())
