"""Renders DOT with the libraries inside the pygraphviz wheel; run as a program by render.py.

Reads {"format": ..., "sources": [...]} as JSON and writes a list of pictures in base64.
"""

from __future__ import annotations

import base64
import json
import sys


def main() -> None:
    """Answers one question on standard input."""
    import pygraphviz

    question = json.load(sys.stdin)
    pictures = []
    for source in question["sources"]:
        graph = pygraphviz.AGraph(string=source)
        picture = graph.draw(format=question["format"], prog="dot")
        pictures.append(base64.b64encode(picture).decode())
    json.dump(pictures, sys.stdout)


if __name__ == "__main__":
    main()
