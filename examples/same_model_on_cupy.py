"""One model, two array libraries: the module for CuPy is NumPy's in another namespace."""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np

import graphc as gc


@gc.graph
def neuron(x1, x2, y, *, w1, w2, b):
    """A logistic neuron with a squared loss, over any number of points."""
    p = gc.sigmoid(w1 * x1 + w2 * x2 + b)
    L = (p - y) ** 2
    return L


def prepared() -> str:
    """Where the CuPy module will run; without CuPy and a device, `import cupy` gives NumPy."""
    try:
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        return f"CuPy {cupy.__version__} on {name}"
    except Exception as missing:  # no package, no driver, no device: each says so in its own way
        sys.modules["cupy"] = np
        return f"NumPy stands in for CuPy ({str(missing).splitlines()[0]})"


def loaded(path: Path):
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


print(prepared())
rng = np.random.default_rng(0)
x1, x2 = rng.normal(size=(2, 100_000))
points = {"x1": x1, "x2": x2, "y": (x1 + x2 > 0).astype(float)}
weights = {"w1": 0.5, "w2": -0.25, "b": 0.1}
results = {}
with tempfile.TemporaryDirectory() as folder:
    for backend in ("numpy", "cupy"):
        file = Path(folder, f"neuron_{backend}.py")
        file.write_text(neuron.emit("L", backend=backend, reduce="mean"), encoding="utf-8")
        value, slopes = loaded(file).value_and_grad(**points, **weights)
        results[backend] = {"L": float(value)} | {name: float(s) for name, s in slopes.items()}
for name, number in results["numpy"].items():
    other = results["cupy"][name]
    print(f"{name:>2}: {number:+.12f} with numpy, {other:+.12f} with cupy")
    assert abs(number - other) < 1e-12
print("the two modules agree")

print("\nThe fast style is one kernel over the points:\n")
fast = neuron.emit("L", backend="cupy", style="fast", reduce="mean")
start = fast.index("kernel = ")
print(fast[start : fast.index("\n)\n", start) + 2])
