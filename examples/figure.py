"""A figure for a paper: a vector drawing in grey tones, the largest paths picked out, and LaTeX.

python figure.py          draws into a temporary folder
python figure.py FOLDER   draws there
"""

import sys
import tempfile
from pathlib import Path

import sympy

import graphc as gc

graph = gc.load(Path(__file__).parent / "fig27.gc")
point = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
largest = graph.top_paths("y10", "y2", point, k=1)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
for suffix in ("pdf", "svg"):
    file = folder / f"figure.{suffix}"
    graph.draw(file, at=point, of="y10", theme="print", legend=False, highlight=largest)
    print(f"{file.name}: {file.stat().st_size // 1000} kB")

path, product = largest.terms[0].path, largest.terms[0].product
print("highlighted:", " -> ".join(path), f"contributes {float(product):.4f}")
print("for the caption:", sympy.latex(graph.derivative("y10", "y2")))
