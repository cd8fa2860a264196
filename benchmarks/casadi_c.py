"""CasADi's functions as C that gcc compiled for this machine, and calls through their buffers."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path


def compiled(f):
    """The function as a library that is loaded; it goes with the folder that comes with it."""
    import casadi

    folder = tempfile.TemporaryDirectory()
    source = Path(folder.name) / "f.c"
    generator = casadi.CodeGenerator("f.c")
    generator.add(f)
    source.write_text(generator.dump(), encoding="utf-8")
    library = source.with_suffix(".so")
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, source, "-o", library, "-lm"], check=True)
    return casadi.external(f.name(), str(library)), folder
