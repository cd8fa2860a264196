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
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

from ..errors import GraphcError

FORMATS = ("svg", "pdf", "png")
SECONDS = 60.0
LIBRARIES = Path(__file__).with_name("libraries.py")  # run as a program: it needs nothing of ours

FONTS = Path(__file__).with_name("fonts")
CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><include ignore_missing="yes">{system}</include><dir>{fonts}</dir></fontconfig>
"""


class TooSlow(GraphcError):
    """The layout took longer than it was given."""


def rendered(sources: Sequence[str], form: str, seconds: float = SECONDS) -> list[bytes]:
    """The pictures of several DOT texts in one of the formats."""
    program = shutil.which("dot")
    with TemporaryDirectory(prefix="graphc-") as folder:
        environment = {**os.environ, **_fonts(Path(folder))}
        if program is not None:
            command = [program, f"-T{form}"]
            try:
                return [_run(command, text.encode(), seconds, environment) for text in sources]
            except (OSError, subprocess.CalledProcessError):
                pass  # an installation without this format, or a broken one: the wheel can do it
        return _by_libraries(sources, form, seconds, environment)


def _fonts(folder: Path) -> dict[str, str]:
    """The setting that adds our font to those of the system; a machine may have none at all."""
    if not sys.platform.startswith("linux"):
        return {}
    for font in FONTS.glob("*.ttf"):
        (folder / font.name).symlink_to(font)  # fontconfig may write next to what it reads
    system = os.environ.get("FONTCONFIG_FILE", "/etc/fonts/fonts.conf")
    file = folder / "fonts.conf"
    file.write_text(CONFIGURATION.format(system=escape(system), fonts=escape(str(folder))), "utf-8")
    return {"FONTCONFIG_FILE": str(file)}


def _by_libraries(
    sources: Sequence[str], form: str, seconds: float, environment: dict[str, str]
) -> list[bytes]:
    question = json.dumps({"format": form, "sources": list(sources)}).encode()
    environment = {**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        answer = _run([sys.executable, str(LIBRARIES)], question, seconds, environment)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise GraphcError(
            f"Graphviz could not make the {form} file: {lines[-1]}; install graphviz, or "
            "pip install pygraphviz"
        ) from None
    return [base64.b64decode(picture) for picture in json.loads(answer)]


def _run(command: list[str], text: bytes, seconds: float, environment: dict[str, str]) -> bytes:
    try:
        return subprocess.run(
            command, input=text, capture_output=True, timeout=seconds, check=True, env=environment
        ).stdout
    except subprocess.TimeoutExpired:
        raise TooSlow(
            f"the layout took more than {seconds:g} seconds; draw fewer nodes, or fold=True"
        ) from None
