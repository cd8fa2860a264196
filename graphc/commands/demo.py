"""graphc demo: a tour on a graph of ten nodes."""

from __future__ import annotations

import argparse
from typing import Any

from ..write.tables import print_page
from .tour import tour


def register(commands: Any) -> None:
    """Adds the command."""
    demo = commands.add_parser("demo", help="a tour on a graph of ten nodes", allow_abbrev=False)
    demo.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    print_page(tour())
