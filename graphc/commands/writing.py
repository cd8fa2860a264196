"""What the commands have in common: their file, their formats, where they write."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from ..files import write_file

FORMATS = ("text", "latex", "json", "markdown")


def takes_file(command: argparse.ArgumentParser, formats: tuple[str, ...] = FORMATS) -> None:
    """Adds FILE and --format."""
    command.add_argument("file", metavar="FILE", help="a graph in the text form; - reads stdin")
    if formats:
        command.add_argument("--format", choices=formats, default="text", help="of the output")


def print_json(data: Mapping[str, Any]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def write_text(output: str, text: str) -> None:
    """Writes to the file of -o; - is standard output."""
    if output == "-":
        sys.stdout.write(text)
    else:
        write_file(output, text)
