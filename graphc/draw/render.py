"""DOT into SVG, PDF or PNG: by a system `dot` if there is one, else by the pygraphviz wheel.

Both run in a process of their own: a layout that takes too long can be ended, and what the
libraries print does not reach the user.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import GraphcError

FORMATS = ("svg", "pdf", "png")
SECONDS = 60.0
LIBRARIES = Path(__file__).with_name("libraries.py")  # run as a program: it needs nothing of ours


class TooSlow(GraphcError):
    """The layout took longer than it was given."""


def rendered(sources: Sequence[str], form: str, seconds: float = SECONDS) -> list[bytes]:
    """The pictures of several DOT texts in one of the formats."""
    program = shutil.which("dot")
    if program is not None:
        try:
            return [_by_program(program, source, form, seconds) for source in sources]
        except (OSError, subprocess.CalledProcessError):
            pass  # an installation without this format, or a broken one: the wheel can do it
    return _by_libraries(sources, form, seconds)


def _by_program(program: str, source: str, form: str, seconds: float) -> bytes:
    return _run([program, f"-T{form}"], source.encode(), seconds, None)


def _by_libraries(sources: Sequence[str], form: str, seconds: float) -> list[bytes]:
    question = json.dumps({"format": form, "sources": list(sources)}).encode()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        answer = _run([sys.executable, str(LIBRARIES)], question, seconds, environment)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise GraphcError(
            f"Graphviz could not make the {form} file: {lines[-1]}; install graphviz, or "
            "pip install pygraphviz"
        ) from None
    return [base64.b64decode(picture) for picture in json.loads(answer)]


def _run(
    command: list[str], text: bytes, seconds: float, environment: dict[str, str] | None
) -> bytes:
    try:
        return subprocess.run(
            command, input=text, capture_output=True, timeout=seconds, check=True, env=environment
        ).stdout
    except subprocess.TimeoutExpired:
        raise TooSlow(
            f"the layout took more than {seconds:g} seconds; draw fewer nodes, or fold=True"
        ) from None
