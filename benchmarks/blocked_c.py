"""What a patient person would write in C: the loops of a plan, one after the other over blocks of
points that stay in cache, compiled for this machine with glibc's vector functions (libmvec).

It is the limit that a compiler per graph reaches; compiling takes from a second to minutes.
"""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from graphc.program.backends.native import kernels
from graphc.program.backends.native.steps import steps

BLOCK = 512
VECTOR = ("sin", "cos", "exp", "log", "tanh", "pow")  # libmvec has them
FLAGS = (
    *("-std=gnu11", "-O3", "-march=native", "-shared", "-fPIC", "-fopenmp-simd"),
    *("-fno-math-errno", "-ffp-contract=off", *(f"-fno-builtin-{name}" for name in VECTOR)),
)
HEAD = "#include <stddef.h>\n" + "".join(
    f'__attribute__((simd("notinbranch"), const)) double {name}(double'
    f"{', double' * (name == 'pow')});\n"
    for name in VECTOR
)


def is_possible() -> bool:
    """Whether there is a compiler, and glibc on x86."""
    there = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
    return there and shutil.which("gcc") is not None


def source(compiled) -> tuple[str, int, int]:
    """The C text of a compiled function of points, and how many arguments and results it has."""
    one = compiled._task
    made = steps(one.program, one.schedule.order, tuple(dict.fromkeys(one.rows())))
    names, counts = list(kernels.kernels()), (len(made.arguments), len(made.results))
    numbers, filled = len(made.numbers), len(made.fillers)
    starts = np.cumsum((0, *counts, numbers, filled))

    def text(slot: int) -> str:
        kind = int(np.searchsorted(starts, slot, "right")) - 1
        place = slot - int(starts[kind])
        if kind in (2, 3):  # a number, or a block that is filled with one
            return repr(float(made.numbers[place if kind == 2 else made.fillers[place]]))
        return {0: f"a{place}[s + i]", 1: f"r{place}[s + i]", 4: f"b{place}[i]"}[kind]

    lines = []
    for code, out, a, b, c in made.steps.tolist():
        kernel = kernels.kernels()[names[code]]
        operands = dict(zip("abc", map(text, (a, b, c)), strict=True))
        if kernel.pair:
            lines += [f"{text(out)} = sin({operands['a']});", f"{text(b)} = cos({operands['a']});"]
            continue
        name = kernel.of or kernel.name
        if name == "sigmoid":
            body = "1.0 / (1.0 + exp(-a))"
        elif kernel.own:
            body = f"{name}({', '.join('abc'[: kernel.operands])})"
        else:
            body = kernels.body(kernel)
        for letter in "abc"[: kernel.operands]:
            body = _replaced(body, letter, operands[letter])
        lines.append(f"{text(out)} = {body.replace('(REAL)', '')};")
    arguments = [f"const double *restrict a{k}" for k in range(counts[0])]
    results = [f"double *restrict r{k}" for k in range(counts[1])]
    loop = "#pragma omp simd\n        for (long i = 0; i < m; i++) "
    body = "\n        ".join(loop + line for line in lines)
    blocks = "\n".join(f"    static double b{k}[{BLOCK}];" for k in range(made.blocks))
    text_of = f"""{HEAD}
void run({", ".join((*arguments, *results))}, long n) {{
{blocks}
    for (long s = 0; s < n; s += {BLOCK}) {{
        const long m = n - s < {BLOCK} ? n - s : {BLOCK};
        {body}
    }}
}}
"""
    return text_of, *counts


def _replaced(body: str, letter: str, by: str) -> str:
    return re.sub(rf"\b{letter}\b", f"@{letter}@", body).replace(f"@{letter}@", f"({by})")


def blocked_run(compiled, arrays):
    """A call of the compiled C on these arrays, in the order of the function's arguments."""
    text, takes, gives = source(compiled)
    folder = Path(tempfile.mkdtemp(prefix="blocked-"))
    (folder / "run.c").write_text(text)
    command = ["gcc", *FLAGS, str(folder / "run.c"), "-o", str(folder / "run.so"), "-lmvec", "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    library = ctypes.CDLL(str(folder / "run.so"))
    assert takes == len(arrays)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    size = arrays[0].size

    def run():
        results = [np.empty(size) for _ in range(gives)]
        library.run(
            *pointers, *(ctypes.c_void_p(r.ctypes.data) for r in results), ctypes.c_long(size)
        )
        return tuple(results)

    return run
