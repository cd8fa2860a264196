"""How accurate and how fast the vector maths of the native engine is, function by function.

python benchmarks/accuracy.py [--points 1000000] [--functions sin,exp] [--json file]

The loops are built twice, for AVX2 with fused sums and for the baseline; each is measured in
float64 and float32 against the long double functions of libm, on several ranges, and at edge points
against NumPy. Times are nanoseconds per element of arrays that stay in cache, beside libm called
element by element and libmvec where there is one.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import mpmath as mp
import numpy as np
from accuracy_points import EDGES, EDGES_OF_TWO, RANGES, RANGES_OF_TWO, ranges

FOLDER = Path(__file__).resolve().parent
HEADERS = FOLDER.parent / "graphc" / "native"
FLAGS = ["-std=c99", "-O3", "-ffp-contract=off", "-fno-math-errno"]
SHARED = ["-shared", "-fPIC", f"-I{HEADERS}"]
BUILDS = {"fma": ["-mavx2", "-mfma"], "baseline": []}
KINDS = {"float64": "vm", "float32": "vf"}
FUNCTIONS = (*RANGES, *RANGES_OF_TWO)
LOOSE = ("tan", "pow", "erf", "gelu")
TIMED = 2048  # elements: they stay in the first cache


def bound(function: str) -> float:
    """The units in the last place that a value may be wrong by."""
    return 4.0 if function in LOOSE else 3.0


ERF = np.vectorize(math.erf)
BY_NUMPY: dict[str, Callable[..., np.ndarray]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "expm1", "log", "log1p")},
    **{name: getattr(np, name) for name in ("tanh", "sinh", "cosh")},
    **{name: getattr(np, "arc" + name[1:]) for name in ("asin", "acos", "atan", "atan2")},
    "pow": np.power,
    "sigmoid": lambda x: np.maximum(np.exp(-abs(x)), np.sign(x)) / (1 + np.exp(-abs(x))),
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-abs(x))),
    "log_sigmoid": lambda x: np.minimum(x, 0) - np.log1p(np.exp(-abs(x))),
    "erf": lambda x: ERF(x).astype(x.dtype),
    "gelu": lambda x: x * (1 + ERF(x / np.sqrt(2.0)).astype(x.dtype)) / 2,
}
EXACT: dict[str, Callable[..., mp.mpf]] = {
    **{name: getattr(mp, name) for name in FUNCTIONS if hasattr(mp, name)},
    "pow": mp.power,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x)),
    "log_sigmoid": lambda x: -EXACT["softplus"](-x),
    "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
}


def exact_ulps(function: str, values: np.ndarray, *arguments: np.ndarray) -> np.ndarray:
    """The distance of each value from the exact one, by mpmath; NaN unless both are finite."""
    has = np.finfo(values.dtype)
    distances = np.full(len(values), np.nan)
    with mp.workprec(200):
        for k, (value, *at) in enumerate(
            zip(values.tolist(), *(a.tolist() for a in arguments), strict=True)
        ):
            if not math.isfinite(value) or not all(map(math.isfinite, at)):
                continue
            try:
                exact = EXACT[function](*map(mp.mpf, at))
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if isinstance(exact, mp.mpf) and mp.isfinite(exact):
                exponent = max(mp.frexp(exact)[1], has.minexp + 1) if exact else has.minexp + 1
                distances[k] = abs(
                    float((mp.mpf(value) - exact) / mp.ldexp(1, exponent - has.nmant - 1))
                )
    return distances


@dataclass(frozen=True)
class Library:
    """One build of the loops, with the references that it is measured against."""

    loops: ctypes.CDLL
    references: ctypes.CDLL

    def run(self, function: str, *arguments: np.ndarray) -> np.ndarray:
        """The values that the loop of a function gives."""
        kind = KINDS[arguments[0].dtype.name]
        result = np.empty_like(arguments[0])
        loop = getattr(self.loops, f"{kind}_{function}_loop")
        loop(pointer(result), *map(pointer, arguments), ctypes.c_long(len(result)))
        return result

    def pair(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sine and the cosine, made together."""
        sine, cosine = np.empty_like(x), np.empty_like(x)
        loop = getattr(self.loops, f"{KINDS[x.dtype.name]}_sincos_loop")
        loop(pointer(sine), pointer(cosine), pointer(x), ctypes.c_long(len(x)))
        return sine, cosine

    def once(self, function: str, *arguments: np.ndarray) -> np.ndarray:
        """The values of one call per element."""
        real = ctypes.c_double if arguments[0].dtype == np.float64 else ctypes.c_float
        call = getattr(self.loops, f"{KINDS[arguments[0].dtype.name]}_{function}_once")
        call.restype, call.argtypes = real, [real] * len(arguments)
        columns = zip(*(column.tolist() for column in arguments), strict=True)
        return np.array([call(*at) for at in columns], arguments[0].dtype)

    def outside(self, function: str, *arguments: np.ndarray) -> int:
        """How many elements are left to the careful function."""
        count = getattr(self.loops, f"{KINDS[arguments[0].dtype.name]}_{function}_outside")
        count.restype = ctypes.c_long
        return int(count(*map(pointer, arguments), ctypes.c_long(len(arguments[0]))))

    def worst(self, function: str, values: np.ndarray, *arguments: np.ndarray) -> tuple[float, int]:
        """The largest distance from the long double value, and where it is."""
        measure = getattr(self.references, f"{function}_{KINDS[values.dtype.name]}")
        measure.restype = ctypes.c_double
        where = ctypes.c_long()
        count = ctypes.c_long(len(values))
        far = measure(pointer(values), *map(pointer, arguments), count, ctypes.byref(where))
        return float(far), where.value


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def compiler() -> str | None:
    """A C compiler of this machine."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def compiled(source: str, into: Path, *flags: str, command: str | None = None) -> Path:
    """The shared library of one of the files here."""
    line = [
        command or compiler() or "cc",
        *flags,
        *SHARED,
        str(FOLDER / source),
        "-o",
        str(into),
        "-lm",
    ]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(line)}\n{done.stderr}")
    return into


def runs(build: str) -> bool:
    """Whether this machine has the instructions of a build."""
    if build == "baseline":
        return True
    try:
        return {"avx2", "fma"} <= set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False


def libraries(folder: Path) -> dict[str, Library]:
    """The builds that run here, by name."""
    references = ctypes.CDLL(
        str(compiled("accuracy_references.c", folder / "references.so", "-O2"))
    )
    return {
        build: Library(
            ctypes.CDLL(str(compiled("accuracy_loops.c", folder / f"{build}.so", *FLAGS, *flags))),
            references,
        )
        for build, flags in BUILDS.items()
        if runs(build)
    }


@dataclass(frozen=True)
class Row:
    """The largest error of a function on a range."""

    function: str
    kind: str
    build: str
    range: str
    points: int
    ulps: float
    at: tuple[float, ...]


def measured(
    library: Library, build: str, kind: type, points: int, functions: tuple[str, ...]
) -> Iterator[Row]:
    """The errors of functions, range by range."""
    for function in functions:
        for place, (label, draw) in enumerate(ranges(function).items()):
            rng = np.random.default_rng([place, *function.encode()])
            arguments = draw(rng, points, kind)
            values = library.run(function, *arguments)
            far, where = library.worst(function, values, *arguments)
            at = tuple(float(column[where]) for column in arguments)
            yield Row(function, np.dtype(kind).name, build, label, points, far, at)


def edge_faults(library: Library, kind: type, functions: tuple[str, ...]) -> list[str]:
    """The edge points at which a function is neither NumPy's nor the exact value, as sentences."""
    faults = []
    for function in functions:
        with np.errstate(all="ignore"):
            if function in RANGES_OF_TWO:
                grid = np.array([(x, y) for x in EDGES_OF_TWO for y in EDGES_OF_TWO]).astype(kind)
                arguments = tuple(np.ascontiguousarray(column) for column in grid.T)
            else:
                arguments = (np.array(EDGES).astype(kind),)
            got, numpy = library.run(function, *arguments), BY_NUMPY[function](*arguments)
            same = (got == numpy) & (np.signbit(got) == np.signbit(numpy)) | np.isnan(
                got
            ) & np.isnan(numpy)
            finite = np.isfinite(got) & np.isfinite(numpy) & (np.signbit(got) == np.signbit(numpy))
            close = finite & (abs(got - numpy) <= bound(function) * np.spacing(abs(numpy)))
        doubtful = np.flatnonzero(~same & ~close)
        exact = exact_ulps(function, got[doubtful], *(column[doubtful] for column in arguments))
        for k, far in zip(doubtful.tolist(), exact.tolist(), strict=True):
            if not (far <= bound(function) and np.signbit(got[k]) == np.signbit(numpy[k])):
                at = ", ".join(repr(float(column[k])) for column in arguments)
                faults.append(f"{function}({at}) is {got[k]}, by NumPy {numpy[k]}")
    return faults


def timed(loop: Callable[..., object], *arrays: np.ndarray) -> float:
    """Nanoseconds per element of a loop over arrays, the best of many calls."""
    arguments = (*map(pointer, arrays), ctypes.c_long(TIMED))
    best = math.inf
    for _ in range(40):
        start = time.perf_counter()
        for _ in range(4):
            loop(*arguments)
        best = min(best, time.perf_counter() - start)
    return best / 4 / TIMED * 1e9


def timing_arguments(function: str, kind: type) -> tuple[np.ndarray, ...]:
    """Ordinary arguments, all within the range."""
    rng = np.random.default_rng(1)
    if function == "pow":
        return rng.uniform(0.1, 10, TIMED).astype(kind), rng.uniform(-4, 4, TIMED).astype(kind)
    if function == "atan2":
        return rng.uniform(-3, 3, TIMED).astype(kind), rng.uniform(-3, 3, TIMED).astype(kind)
    low = {"log": 0.1, "log1p": -0.9, "asin": -1.0, "acos": -1.0}.get(function, -4.0)
    return (rng.uniform(low, 1.0 if function in ("asin", "acos") else 4.0, TIMED).astype(kind),)


@dataclass(frozen=True)
class Speed:
    """Nanoseconds per element: our builds, libm one by one, and libmvec."""

    function: str
    kind: str
    ours: dict[str, float]
    libm: float
    libmvec: float | None


def speeds(folder: Path, builds: dict[str, Library], functions: tuple[str, ...]) -> Iterator[Speed]:
    """The times of functions beside their peers."""
    slow = ctypes.CDLL(str(compiled("accuracy_peers.c", folder / "libm.so", "-O2")))
    quick = vectorised_peers(folder) if "fma" in builds else None
    pairs = ("sincos",) if {"sin", "cos"} <= set(functions) else ()
    for name, prefix in KINDS.items():
        kind = np.dtype(name).type
        for function in (*functions, *pairs):
            inputs = timing_arguments("sin" if function == "sincos" else function, kind)
            outputs = [np.empty(TIMED, kind) for _ in range(2 if function == "sincos" else 1)]
            arrays = (*outputs, *inputs)
            ours = {
                build: timed(getattr(library.loops, f"{prefix}_{function}_loop"), *arrays)
                for build, library in builds.items()
            }
            libm = timed(getattr(slow, f"{function}_{prefix}"), *arrays)
            libmvec = timed(getattr(quick, f"{function}_{prefix}"), *arrays) if quick else None
            yield Speed(function, name, ours, libm, libmvec)


def vectorised_peers(folder: Path) -> ctypes.CDLL | None:
    """The loops by libmvec, which only gcc with glibc calls."""
    # Linking with -ffast-math would switch off subnormal numbers for the whole process; the headers
    # of glibc only ask for the word.
    words = ("-fno-math-errno", "-fno-trapping-math", "-D__FAST_MATH__")
    flags = ("-O3", *words, *BUILDS["fma"], "-Wl,--no-as-needed", "-lmvec")
    try:
        return ctypes.CDLL(str(compiled("accuracy_peers.c", folder / "libmvec.so", *flags)))
    except (RuntimeError, OSError):
        return None


def report(rows: list[Row], faults: dict[str, list[str]], times: list[Speed]) -> str:
    """The tables as text."""
    lines = ["Largest error in units of the last place", ""]
    for kind in KINDS:
        for build in BUILDS:
            chosen = [row for row in rows if (row.kind, row.build) == (kind, build)]
            if not chosen:
                continue
            lines.append(f"{kind}, {build}, {chosen[0].points:,} points per range")
            for function in dict.fromkeys(row.function for row in chosen):
                own = [row for row in chosen if row.function == function]
                worst = max(own, key=lambda row: row.ulps)
                mark = "" if worst.ulps <= bound(function) else f"  OVER {bound(function)}"
                ranges = "; ".join(f"{row.range} {row.ulps:.2f}" for row in own)
                lines.append(f"  {function:12} {worst.ulps:5.2f}{mark}  ({ranges})")
            lines.append("")
    for place, sentences in faults.items():
        lines += [f"edge points, {place}: {'as NumPy' if not sentences else ''}", *sentences]
    if times:
        lines += ["", f"Nanoseconds per element ({platform.machine()})", ""]
        lines.append(
            f"  {'':20}" + "".join(f"{name:>10}" for name in (*times[0].ours, "libm", "libmvec"))
        )
        for speed in times:
            cells = [*speed.ours.values(), speed.libm, speed.libmvec]
            texts = ["-" if cell is None else f"{cell:.2f}" for cell in cells]
            lines.append(
                f"  {speed.function:12}{speed.kind:8}" + "".join(f"{text:>10}" for text in texts)
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000, help="per range")
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    told = parser.parse_args()
    functions = tuple(told.functions.split(","))
    unknown = [name for name in functions if name not in FUNCTIONS]
    if unknown:
        parser.error(f"no function is called {unknown[0]!r}; there are: {', '.join(FUNCTIONS)}")
    if compiler() is None:
        parser.error("there is no C compiler here: cc, gcc or clang")
    if np.finfo(np.longdouble).nmant <= np.finfo(float).nmant:
        parser.error("long double is no wider than double here: nothing can be measured against it")
    rows, faults, times = [], {}, []
    with tempfile.TemporaryDirectory() as name:
        builds = libraries(Path(name))
        if not told.no_times:
            times = list(speeds(Path(name), builds, functions))
        for build, library in builds.items():
            for kind in (np.float64, np.float32):
                rows += measured(library, build, kind, told.points, functions)
                faults[f"{np.dtype(kind).name}, {build}"] = edge_faults(library, kind, functions)
    print(report(rows, faults, times))
    if told.json:
        found = {
            "errors": [asdict(row) for row in rows],
            "edges": faults,
            "times": [asdict(t) for t in times],
        }
        told.json.write_text(json.dumps(found, indent=1))
    return int(any(row.ulps > bound(row.function) for row in rows) or any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
