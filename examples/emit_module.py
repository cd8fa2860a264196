"""A gradient for a project: a module to commit, which needs NumPy and nothing of graphc.

python emit_module.py                  shows the module and lets it check itself
python emit_module.py spring_grad.py   writes it there
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import graphc as gc


@gc.graph
def spring(t, y, *, amplitude, rate, omega):
    fit = amplitude * gc.exp(-rate * t) * gc.cos(omega * t)
    L = (fit - y) ** 2
    return L


text = spring.emit(of="L", wrt=["amplitude", "rate", "omega"], reduce="mean")
with tempfile.TemporaryDirectory() as folder:
    file = Path(sys.argv[1] if len(sys.argv) > 1 else Path(folder, "spring_grad.py"))
    file.write_text(text, encoding="utf-8")
    print(text[text.index("    # Values.") : text.index("    return")])
    done = subprocess.run([sys.executable, "-I", str(file)], capture_output=True, text=True)
    print(f"{file.name} checks itself: {done.stdout or done.stderr}", end="")
    assert done.returncode == 0
assert "import graphc" not in text
