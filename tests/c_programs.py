"""Emitted files of C as one program, which prints the results of all of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import graphc as gc
from graphc.program.compiling import emit_files

COMPILER = shutil.which("cc") or shutil.which("gcc")
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


@dataclass(frozen=True)
class Call:
    """A function to be called at a point, and what NumPy's code gives there."""

    graph: gc.Graph
    of: Any
    wrt: Any
    at: dict[str, Any]
    want: str = "value_and_grad"
    style: str = "readable"
    mode: str = "auto"
    sparse: bool = False

    @property
    def options(self) -> dict[str, Any]:
        asked = {"want": self.want, "style": self.style, "mode": self.mode}
        return asked | {"sparse": True} if self.sparse else asked

    def by_numpy(self) -> list[np.ndarray]:
        """The results in order, flat."""
        with np.errstate(all="ignore"):
            return flat(self._compiled(*self.arguments()))

    def arguments(self) -> list[Any]:
        return [self.at[name] for name in self._compiled.arguments]

    @cached_property
    def _compiled(self) -> Any:
        return self.graph.compile(self.of, self.wrt, **self.options)


def flat(results: Any) -> list[np.ndarray]:
    """The arrays of a tree of results, in order; of a sparse matrix, its entries."""
    if hasattr(results, "toarray"):
        return [results.data]
    if isinstance(results, dict):
        return [part for value in results.values() for part in flat(value)]
    if isinstance(results, tuple):
        return [part for value in results for part in flat(value)]
    return [np.asarray(results, dtype=float).ravel()]


def literal(number: float) -> str:
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return float(number).hex()


def results(
    calls: Sequence[Call],
    folder: Path,
    compiler: str = str(COMPILER),
    flags: Sequence[str] = ("-O1",),
    runner: Sequence[str] = (),
) -> list[list[np.ndarray]]:
    """What each call gives in C: every file has its header, one compiler makes the program."""
    sources, includes, body = [], [], []
    sizes = [[part.size for part in call.by_numpy()] for call in calls]
    for number, (call, outputs) in enumerate(zip(calls, sizes, strict=True)):
        path = folder / f"g{number}.c"
        found = emit_files(call.graph, str(path), call.of, call.wrt, backend="c", **call.options)
        work = re.search(r"^#define (\w+) (\d+)$", found[str(path.with_suffix(".h"))], re.MULTILINE)
        for name, text in found.items():
            names = [f"{call.want}{end}" for end in ("", "_batch", "_rows", "_columns")]
            renamed = "".join(f"#define {name} g{number}_{name}\n" for name in names)
            undone = "".join(f"#undef {name}\n" for name in [*names, *([work[1]] if work else [])])
            ending = undone if name.endswith(".h") else ""
            Path(name).write_text(renamed + text + ending, encoding="utf-8")
        sources.append(path.name)
        includes.append(f'#include "{path.with_suffix(".h").name}"')
        body += _called(number, call, outputs, int(work[2]) if work else 0)
    driver = [
        "#include <math.h>\n#include <stdio.h>",
        *includes,
        "static void show(const double *x, int n)\n{",
        '    for (int i = 0; i < n; i++)\n        printf("%a ", x[i]);\n}',
        "int main(void)\n{",
        *body,
        "    return 0;\n}\n",
    ]
    (folder / "driver.c").write_text("\n".join(driver), encoding="utf-8")
    command = [compiler, *STRICT, *flags, "-o", "program", "driver.c", *sources, "-lm"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[:3000]
    ran = subprocess.run([*runner, "./program"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[:3000]
    assert not ran.stderr or runner, ran.stderr[:3000]
    found = []
    for line, outputs in zip(ran.stdout.splitlines(), sizes, strict=True):
        numbers = np.array([float.fromhex(word) for word in line.split()])
        found.append(np.split(numbers, np.cumsum(outputs)[:-1]) if outputs else [])
    return found


def _called(number: int, call: Call, outputs: Sequence[int], work: int) -> list[str]:
    lines, passed = [], []
    for place, value in enumerate(call.arguments()):
        if np.ndim(value):
            items = ", ".join(map(literal, np.ravel(value))) or "0"
            lines.append(f"static double a{number}_{place}[] = {{{items}}};")
            passed.append(f"a{number}_{place}")
        else:
            passed.append(literal(float(value)))
    for place, size in enumerate(outputs):
        lines.append(f"static double r{number}_{place}[{max(size, 1)}];")
        passed.append(f"r{number}_{place}")
    if work:  # values that are too many for the stack
        lines.append(f"static double w{number}[{work}];")
        passed.append(f"w{number}")
    lines.append(f"g{number}_{call.want}({', '.join(passed)});")
    lines += [f"show(r{number}_{place}, {size});" for place, size in enumerate(outputs)]
    return ["    {", *(f"        {line}" for line in lines), '        printf("\\n");', "    }"]
