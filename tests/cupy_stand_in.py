"""NumPy in CuPy's place: has only what CuPy has, refuses numbers where CuPy needs arrays.

Its ElementwiseKernel compiles the kernel's body as C++ and runs it on the CPU. Kernels that were
made before the first one is called are compiled together, as a compiler takes a while to start.
"""

from __future__ import annotations

import ctypes
import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from cupy_signatures import ARRAYS_ONLY, SIGNATURES

COMPILER = shutil.which("g++") or shutil.which("c++")
TYPES = {"float64": "double", "float32": "float"}
LOOP = """
extern "C" void {symbol}(long _size, const {type} *const *_in, {type} *const *_out) {{
  for (long i = 0; i < _size; i++) {{
{bindings}
{body}
  }}
}}
"""


def signature(name: str) -> inspect.Signature:
    """The recorded signature of a function."""
    space: dict[str, Any] = {}
    exec(f"def recorded{SIGNATURES[name]}: pass", space)
    return inspect.signature(space["recorded"])


class ElementwiseKernel:
    """A kernel over points, run on the CPU."""

    waiting: list[ElementwiseKernel] = []  # noqa: RUF012
    count = 0

    def __init__(self, in_params: str, out_params: str, operation: str, name="kernel", **others):
        assert others == {"options": ("--fmad=false",)}
        self.inputs = [tuple(part.split()) for part in in_params.split(",")]
        self.outputs = [tuple(part.split()) for part in out_params.split(",")]
        (self.dtype,) = {kind for kind, _ in [*self.inputs, *self.outputs]}
        self.operation, self.name = operation, name
        ElementwiseKernel.count += 1
        self.symbol = f"kernel_{ElementwiseKernel.count}"
        self.function: Any = None
        ElementwiseKernel.waiting.append(self)

    def bindings(self) -> list[str]:
        """The names that the body knows, as CuPy binds them."""
        kind = TYPES[self.dtype]
        return [
            *(f"const {kind} &{n} = _in[{k}][i];" for k, (_, n) in enumerate(self.inputs)),
            *(f"{kind} &{n} = _out[{k}][i];" for k, (_, n) in enumerate(self.outputs)),
        ]

    def text(self, template: str = LOOP) -> str:
        lines = "\n".join(self.bindings())
        return template.format(
            symbol=self.symbol, type=TYPES[self.dtype], bindings=lines, body=self.operation
        )

    def __call__(self, *args: Any) -> Any:
        if self.function is None:
            build()
        for argument in args:
            assert argument.dtype == self.dtype, (argument.dtype, self.dtype)
        spread = [np.ascontiguousarray(array) for array in np.broadcast_arrays(*args)]
        shape = np.broadcast_shapes(*(np.shape(argument) for argument in args))
        results = [np.empty(shape, dtype=self.dtype) for _ in self.outputs]
        self.function(int(np.prod(shape)), _pointers(spread), _pointers(results))
        return tuple(results) if len(results) > 1 else results[0]


def _pointers(arrays: list[np.ndarray]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def build() -> None:
    """Compiles every kernel that waits; nothing is contracted or reordered."""
    waiting, ElementwiseKernel.waiting = ElementwiseKernel.waiting, []
    folder = Path(tempfile.mkdtemp(prefix="kernels"))
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("#include <math.h>\n" + "".join(kernel.text() for kernel in waiting))
    flags = ["-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wno-unused-variable"]
    done = subprocess.run(
        [str(COMPILER), *flags, str(source), "-o", str(library)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr  # no warning either
    loaded = ctypes.CDLL(str(library))
    for kernel in waiting:
        kernel.function = loaded[kernel.symbol]
    shutil.rmtree(folder)


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function with CuPy's signature and manners."""
    known = signature(name)

    def call(*args: Any, **named: Any) -> Any:
        known.bind(*args, **named)
        if name in ARRAYS_ONLY and type(args[0]) in (bool, int, float, list, tuple):
            raise TypeError(f"cupy.{name} takes no {type(args[0]).__name__}")
        return function(*args, **named)

    return call


def cupy() -> ModuleType:
    """A module with the recorded names."""
    module = ModuleType("cupy")
    module.linalg = SimpleNamespace()
    module.add = SimpleNamespace(at=np.add.at)
    module.cuda = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 1))
    module.cuda.runtime.CUDARuntimeError = RuntimeError
    module.ElementwiseKernel = ElementwiseKernel
    for name, kind in SIGNATURES.items():
        if name.startswith("cupyx.") or name in ("ElementwiseKernel", "add.at"):
            continue
        place, _, last = name.rpartition(".")
        found = getattr(getattr(np, place) if place else np, last)
        if kind.startswith("(") and not isinstance(found, np.ufunc):
            found = _guarded(name, found)
        setattr(getattr(module, place) if place else module, last, found)
    return module


@contextmanager
def standing_in() -> Iterator[None]:
    """`import cupy` gives NumPy in its place."""
    import scipy.special

    names = ("cupy", "cupyx", "cupyx.scipy", "cupyx.scipy.special")
    before = {name: sys.modules.get(name) for name in names}
    modules = [cupy(), *(ModuleType(name) for name in names[1:])]
    modules[1].scipy, modules[2].special = modules[2], modules[3]
    modules[3].erf = scipy.special.erf
    sys.modules.update(zip(names, modules, strict=True))
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
