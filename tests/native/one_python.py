"""One library for every Python: python one_python.py LIBRARY prints what ran.

The first part needs the standard library alone; the second runs where graphc can be imported.
"""

from __future__ import annotations

import ctypes
import gc
import math
import sys
from array import array
from collections.abc import Callable

WORD, LONG = ctypes.c_int32, ctypes.c_int64
ALL_NUMBERS, ONE_NUMBER, NAMED_NUMBERS, ONE_AND_NAMED = range(4)
SINE = round(math.sin(2.0), 12)


def plan(library: ctypes.PyDLL) -> int:
    """x*y, sin(x): two arguments, two results."""
    library.graphc_names.restype = ctypes.c_char_p
    names = library.graphc_names().decode().split()
    library.graphc_plan.restype = ctypes.c_void_p
    library.graphc_plan.argtypes = (ctypes.c_int, *(ctypes.c_void_p,) * 5)
    steps = (WORD * 10)(names.index("mul"), 2, 0, 1, 0, names.index("sin"), 3, 0, 0, 0)
    sizes = (LONG * 7)(2, 2, 2, 0, 0, 0, 4)
    numbers, fillers, bad = (ctypes.c_double * 1)(), (WORD * 1)(), LONG(-1)
    address = library.graphc_plan(1, sizes, steps, numbers, fillers, ctypes.byref(bad))
    assert address, bad.value
    return address


def rounded(number: float) -> float:
    return round(number, 12)


def formed(library: ctypes.PyDLL, address: int) -> None:
    """What a call returns is what it was said to be, if the plan has it."""
    for form, names, expected in (
        (ALL_NUMBERS, (), (6.0, SINE)),
        (ONE_NUMBER, (), 6.0),
        (NAMED_NUMBERS, ("p", "s"), {"p": 6.0, "s": SINE}),
        (NAMED_NUMBERS, ("p",), {"p": 6.0}),
        (ONE_AND_NAMED, ("s",), (6.0, {"s": SINE})),
    ):
        found = library.graphc_callable(address, ("owner", rounded, form, names))(2.0, 3.0)
        assert found == expected, found
    for about in (
        *([], (), ("owner", float, ALL_NUMBERS), None),
        *(("owner", float, form, ()) for form in (-1, 4, "1", None, 2**80)),
        ("owner", float, NAMED_NUMBERS, ("a", "b", "c")),
        ("owner", float, NAMED_NUMBERS, None),
        ("owner", float, ONE_AND_NAMED, ("a", "b")),
    ):
        refused = False
        try:
            library.graphc_callable(address, about)
        except (TypeError, SystemError, OverflowError):
            refused = True
        assert refused, about
    unhappy = library.graphc_callable(address, ("owner", {}.__getitem__, NAMED_NUMBERS, ("p",)))
    try:
        unhappy(2.0, 3.0)
    except KeyError:
        return
    raise AssertionError("an error of the type of results was lost")


class Again:
    """A number that asks the same function while it is being converted."""

    def __init__(self, function: Callable[..., tuple[float, ...]]) -> None:
        self.function = function

    def __float__(self) -> float:
        return float(self.function(1.0, 4.0)[0])


def linked(library: ctypes.PyDLL, address: int) -> None:
    """Chains over arrays that are told when a chain is made, or brought by a call."""
    library.graphc_link.restype = library.graphc_links.restype = ctypes.py_object
    library.graphc_link.argtypes = (ctypes.c_void_p, ctypes.py_object)
    library.graphc_links.argtypes = (ctypes.py_object,)
    x, p, s = array("d", [1.0, 2.0, 3.0]), array("d", [0.0] * 3), array("d", [0.0] * 3)
    about = ("owner", (3,), (x, ..., None, s), None, ..., 0)
    before = sys.getrefcount(about)
    chain = library.graphc_link(address, about)
    for _ in range(2000):
        assert chain(0.5, p) is None
    assert p.tolist() == [0.5, 1.0, 1.5] and math.isclose(s[1], math.sin(2.0), rel_tol=1e-15)
    for wrong in ((), (0.5,), ("0.5", p), (0.5, array("f", [0.0] * 3)), (0.5, b"12345678" * 3)):
        try:
            chain(*wrong)
        except (TypeError, BufferError):
            continue
        raise AssertionError(f"{wrong} was taken")
    del chain
    assert sys.getrefcount(about) == before
    product = array("d", [0.0] * 3)
    silent = library.graphc_link(address, ("owner", (3,), (x, p, product, s), None, ..., 0))
    run = library.graphc_links((silent, silent))
    del silent
    assert run() is None and product.tolist() == [0.5, 2.0, 4.5]
    for refused in (None, (3,), (chain_of_nothing,)):
        try:
            library.graphc_links(refused)
        except (TypeError, SystemError, ValueError):
            continue
        raise AssertionError(f"{refused} was taken")


def chain_of_nothing() -> None:
    """No function of the library."""


def bare(file: str) -> None:
    """Functions that the library makes of plans: their results, errors and references."""
    library = ctypes.PyDLL(file)
    address = plan(library)
    library.graphc_callable.restype = library.graphc_buffers.restype = ctypes.py_object
    library.graphc_callable.argtypes = (ctypes.c_void_p, ctypes.py_object)
    library.graphc_buffers.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.py_object)
    owner = ("keeps the plan", float, ALL_NUMBERS, ("p", "s"))
    before = sys.getrefcount(owner)
    call = library.graphc_callable(address, owner)
    assert sys.getrefcount(owner) == before + 1
    formed(library, address)
    linked(library, address)
    found = call(2.0, 3)
    assert found[0] == 6.0 and math.isclose(found[1], math.sin(2.0), rel_tol=1e-15)
    for wrong in ((1.0,), (1.0, 2.0, 3.0), (1.0, "2"), (None, 1.0)):
        try:
            call(*wrong)
        except TypeError:
            continue
        raise AssertionError(f"{wrong} was taken")

    assert call(Again(call), 5.0)[0] == 20.0
    values = (ctypes.c_double * 4)(7.0, 8.0)
    again = library.graphc_buffers(address, values, values)
    held = sys.getrefcount(None)
    for _ in range(2000):
        assert again() is None
        call(1.5, 2.5)
    assert values[2] == 56.0 and abs(sys.getrefcount(None) - held) < 50
    del call, again
    gc.collect()
    assert sys.getrefcount(owner) == before
    library.graphc_plan_free.argtypes = (ctypes.c_void_p,)
    library.graphc_plan_free(address)


def compiled() -> str:
    """The engine that runs a compiled function."""
    import numpy as np

    import graphc

    graph = graphc.parse("input x y\nz = sin(x)*y + exp(x)")
    f = graph.compile("z")
    value, slopes = f(x=0.5, y=2.0)
    assert math.isclose(value, math.sin(0.5) * 2 + math.exp(0.5), rel_tol=1e-14)
    many, _ = f(x=np.full(1000, 0.5), y=2.0)
    assert (many == value).all() and slopes["y"] == math.sin(0.5)
    return f.plan.engine


if __name__ == "__main__":
    bare(sys.argv[1])
    try:
        ran = compiled()
    except ImportError as error:
        ran = f"no graphc: {error}"
    print(ran)
