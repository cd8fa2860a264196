"""The numbers of the vector maths: polynomials by Remez exchange, and constants in parts.

python -m graphc.native.coefficients [name ...]

prints them as the headers hold them.

A function is first reduced, by symmetries and exact arithmetic, to a short interval; there a
polynomial stands for a quotient of it. An error of the polynomial reaches the result through a
factor, and what is levelled is the relative error of the result.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp

Real = Any  # mpmath's numbers have no types
Interval = tuple[Real, Real]

DIGITS = 60
EXCHANGES = 12
LEVEL = 1.001  # the largest error over the levelled one: it can hardly get better
BEYOND = 1.0005  # reductions are rounded: what they leave may lie this much outside of the interval
TINY = mp.mpf(10) ** -10  # instead of 0, where the quotients are 0/0


@dataclass(frozen=True)
class Reduced:
    """A function of one reduced variable, as its polynomial sees it."""

    quotient: Callable[[Real], Real]
    factor: Callable[[Real], Real]  # relative error of the result / error of the polynomial
    interval: Callable[[], Interval]  # when it is asked for: pi has the digits of the moment
    variable: str = "z"


@dataclass(frozen=True)
class Polynomial:
    """A polynomial of the headers."""

    name: str
    of: Reduced
    degree: int
    kind: str = "double"
    chains: int = (
        1  # 2: even and odd powers apart, so that a long sum waits half as long for itself
    )


def remez(of: Reduced, degree: int) -> tuple[list[Real], Real]:
    """The coefficients, constant first, and the largest error of the result."""
    count = degree + 2  # of extrema with alternating signs
    grid = chebyshev(of.interval(), 30 * count)
    exact = [of.quotient(x) for x in grid]
    factors = [of.factor(x) for x in grid]
    chosen = [round(k * (len(grid) - 1) / (count - 1)) for k in range(count)]
    for _ in range(EXCHANGES):
        system = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, place in enumerate(chosen):
            for power in range(count - 1):
                system[row, power] = grid[place] ** power
            system[row, count - 1] = (-1) ** row / factors[place]
            right[row] = exact[place]
        *coefficients, level = mp.lu_solve(system, right)
        errors = [
            (mp.polyval(coefficients[::-1], x) - value) * factor
            for x, value, factor in zip(grid, exact, factors, strict=True)
        ]
        chosen = alternating(errors, count)
        if max(map(abs, errors)) < abs(level) * LEVEL:
            break
    return coefficients, max(map(abs, errors))


def chebyshev(interval: Interval, count: int) -> list[Real]:
    """Points of an interval, densest at its ends, where the extrema of the error are."""
    low, high = map(mp.mpf, interval)
    return [low + (high - low) * (1 - mp.cos(mp.pi * k / count)) / 2 for k in range(count + 1)]


def alternating(errors: list[Real], count: int) -> list[int]:
    """The places of `count` extrema whose signs alternate, the largest among them."""
    last = len(errors) - 1
    inner = [
        k for k in range(1, last) if (errors[k] - errors[k - 1]) * (errors[k + 1] - errors[k]) <= 0
    ]
    places: list[int] = []
    for k in [0, *inner, last]:
        if not places or mp.sign(errors[k]) != mp.sign(errors[places[-1]]):
            places.append(k)
        elif abs(errors[k]) > abs(errors[places[-1]]):
            places[-1] = k
    while len(places) > count:
        places.pop(0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1)
    if len(places) < count:
        raise ArithmeticError(f"{len(places)} extrema of the error were found, {count} are needed")
    return places


# The reduced functions. `z` is the square of the reduced argument.


def to_square_of(end: Callable[[], Real]) -> Callable[[], Interval]:
    return lambda: (TINY, (end() * BEYOND) ** 2)


def odd(function: Callable[[Real], Real], end: Callable[[], Real]) -> Reduced:
    """f(r) = r + r z P(z)"""
    return Reduced(
        lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)),
        to_square_of(end),
    )


def half_logarithm() -> Interval:
    end = mp.log(2) / 2 * BEYOND
    return -end, end


def exponential_quotient(r: Real) -> Real:
    return (mp.expm1(r) - r) / r**2 if abs(r) > TINY else mp.mpf(1) / 2 + r / 6 + r * r / 24


def logarithm_quotient(z: Real) -> Real:
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def logarithm_end() -> Real:
    return (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)


def normal(a: Real) -> Real:
    """The probability of less than -a."""
    return mp.erfc(a / mp.sqrt(2)) / 2


def error_quotient(z: Real) -> Real:
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1


def normal_quotient(z: Real) -> Real:
    x = mp.sqrt(z)
    return ((mp.mpf(1) / 2 - normal(x)) / x - 1 / mp.sqrt(2 * mp.pi)) / z


def tail(
    scale: int, end: int, weighted: Callable[[Real], Real], share: Callable[[Real], Real]
) -> Reduced:
    """A function of a >= 1 by t = (a - scale) / (a + scale), and its share of the result."""

    def argument(t: Real) -> Real:
        return scale * (1 + t) / (1 - t)

    def reached(a: Real) -> Real:
        return (a - scale) / (a + scale)

    return Reduced(
        lambda t: weighted(argument(t)),
        lambda t: share(argument(t)) / weighted(argument(t)),
        lambda: (reached(1 / mp.mpf(BEYOND)), reached(mp.mpf(end))),
        "t",
    )


def error_tail(end: int) -> Reduced:
    """erfc(a) = exp(-a a) P(t) / (a + 2)"""
    return tail(
        2,
        end,
        lambda a: mp.erfc(a) * mp.exp(a * a) * (a + 2),
        lambda a: mp.erfc(a) / mp.erf(a),
    )


def normal_tail(end: int) -> Reduced:
    """a Phi(-a) = exp(-a a / 2) P(t)"""
    return tail(4, end, lambda a: a * normal(a) * mp.exp(a * a / 2), lambda a: mp.mpf(1))


SINE = odd(mp.sin, lambda: mp.pi / 4)
COSINE = Reduced(
    lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
    lambda z: z**2 / mp.cos(mp.sqrt(z)),
    to_square_of(lambda: mp.pi / 4),
)
EXPONENTIAL = Reduced(exponential_quotient, lambda r: r * r + TINY, half_logarithm, "r")
LOGARITHM = Reduced(logarithm_quotient, lambda z: z / 2, to_square_of(logarithm_end))
UNIT_LOGARITHM = Reduced(logarithm_quotient, lambda z: z / 2, to_square_of(lambda: mp.mpf(1) / 3))
POWER_LOGARITHM = Reduced(
    lambda z: (logarithm_quotient(z) - mp.mpf(2) / 3) / z,
    lambda z: z * z / 2,
    to_square_of(logarithm_end),
)
ERROR = Reduced(
    error_quotient, lambda z: 1 / (1 + error_quotient(z)), to_square_of(lambda: mp.mpf(1))
)
NORMAL = Reduced(
    normal_quotient,
    lambda z: z * mp.sqrt(z) / normal(mp.sqrt(z)),  # below 0, where Phi is small
    to_square_of(lambda: mp.mpf(1)),
)
ARC_SINE = odd(mp.asin, lambda: mp.mpf(1) / 2)
ARC_TANGENT = odd(mp.atan, lambda: mp.tan(mp.pi / 8))

POLYNOMIALS = (
    Polynomial("vm_sine", SINE, 5),
    Polynomial("vm_cosine", COSINE, 5),
    Polynomial("vm_exponential", EXPONENTIAL, 9, chains=2),
    Polynomial("vm_logarithm", LOGARITHM, 6),
    Polynomial("vm_unit_logarithm", UNIT_LOGARITHM, 9, chains=2),
    Polynomial("vm_error", ERROR, 11, chains=2),
    Polynomial("vm_error_tail", error_tail(6), 11, chains=2),
    Polynomial("vm_normal", NORMAL, 9, chains=2),
    Polynomial("vm_normal_tail", normal_tail(39), 20, chains=2),
    Polynomial("vm_arc_sine", ARC_SINE, 12, chains=2),
    Polynomial("vm_arc_tangent", ARC_TANGENT, 10, chains=2),
    Polynomial("vm_power_logarithm", POWER_LOGARITHM, 6),
    Polynomial("vf_sine", SINE, 2, "float"),
    Polynomial("vf_cosine", COSINE, 2, "float"),
    Polynomial("vf_exponential", EXPONENTIAL, 4, "float"),
    Polynomial("vf_logarithm", LOGARITHM, 2, "float"),
    Polynomial("vf_unit_logarithm", UNIT_LOGARITHM, 4, "float"),
    Polynomial("vf_error", ERROR, 6, "float"),
    Polynomial("vf_error_tail", error_tail(4), 5, "float"),
    Polynomial("vf_normal", NORMAL, 4, "float"),
    Polynomial("vf_normal_tail", normal_tail(15), 8, "float"),
    Polynomial("vf_arc_sine", ARC_SINE, 5, "float"),
    Polynomial("vf_arc_tangent", ARC_TANGENT, 4, "float"),
    Polynomial("vf_power_logarithm", LOGARITHM, 4),
    Polynomial("vf_power_exponential", EXPONENTIAL, 6),
)


@dataclass(frozen=True)
class Constant:
    """A number in one or several parts: all but the last are cut to so many bits."""

    names: tuple[str, ...]
    value: Callable[[], Real]
    bits: tuple[int, ...] = ()
    kind: str = "double"


# A short part leaves room in its type: its product with a whole number is exact.
CONSTANTS = (
    Constant(("VM_INVERSE_HALF_PI",), lambda: 2 / mp.pi),
    Constant(("VM_HALF_PI_1", "VM_HALF_PI_2", "VM_HALF_PI_3"), lambda: mp.pi / 2, (53, 53)),
    Constant(
        ("VM_HALF_PI_SHORT_1", "VM_HALF_PI_SHORT_2", "VM_HALF_PI_SHORT_3", "VM_HALF_PI_SHORT_4"),
        lambda: mp.pi / 2,
        (33, 33, 33),
    ),
    Constant(("VM_QUARTER_PI_1", "VM_QUARTER_PI_2"), lambda: mp.pi / 4, (53,)),
    Constant(("VM_LOG2_E",), lambda: 1 / mp.log(2)),
    Constant(("VM_LN2_1", "VM_LN2_2"), lambda: mp.log(2), (53,)),
    Constant(("VM_LN2_SHORT_1", "VM_LN2_SHORT_2"), lambda: mp.log(2), (41,)),
    Constant(("VM_TWO_THIRDS_1", "VM_TWO_THIRDS_2"), lambda: mp.mpf(2) / 3, (53,)),
    Constant(("VM_NORMAL_DENSITY",), lambda: 1 / mp.sqrt(2 * mp.pi)),
    Constant(("VM_TAN_EIGHTH",), lambda: mp.tan(mp.pi / 8)),
    Constant(("VM_COT_EIGHTH",), lambda: mp.cot(mp.pi / 8)),
    Constant(("VF_INVERSE_HALF_PI",), lambda: 2 / mp.pi, (), "float"),
    Constant(
        ("VF_HALF_PI_1", "VF_HALF_PI_2", "VF_HALF_PI_3"), lambda: mp.pi / 2, (24, 24), "float"
    ),
    Constant(
        ("VF_HALF_PI_SHORT_1", "VF_HALF_PI_SHORT_2", "VF_HALF_PI_SHORT_3", "VF_HALF_PI_SHORT_4"),
        lambda: mp.pi / 2,
        (11, 11, 11),
        "float",
    ),
    Constant(("VF_QUARTER_PI_1", "VF_QUARTER_PI_2"), lambda: mp.pi / 4, (22,), "float"),
    Constant(("VF_LOG2_E",), lambda: 1 / mp.log(2), (), "float"),
    Constant(("VF_LN2_1", "VF_LN2_2"), lambda: mp.log(2), (24,), "float"),
    Constant(("VF_LN2_SHORT_1", "VF_LN2_SHORT_2"), lambda: mp.log(2), (15,), "float"),
    Constant(("VF_NORMAL_DENSITY",), lambda: 1 / mp.sqrt(2 * mp.pi), (), "float"),
    Constant(("VF_TAN_EIGHTH",), lambda: mp.tan(mp.pi / 8), (), "float"),
    Constant(("VF_COT_EIGHTH",), lambda: mp.cot(mp.pi / 8), (), "float"),
)


def defined(record: Constant) -> list[str]:
    """The constant as lines of C, one for each part."""
    with mp.workdps(DIGITS):
        rest = record.value()
        parts = []
        for bits in record.bits:
            unit = mp.ldexp(1, mp.frexp(rest)[1] - bits)
            parts.append(mp.floor(rest / unit) * unit)
            rest -= parts[-1]
        texts = [rounded(part, record.kind) for part in [*parts, rest]]
    return [f"#define {name} {text}" for name, text in zip(record.names, texts, strict=True)]


def rounded(value: Real, kind: str) -> str:
    """The nearest number of that kind, as C writes it exactly."""
    number = float(value)
    if kind == "float":
        number = struct.unpack("f", struct.pack("f", number))[0]
    digits, exponent = number.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}" + ("f" if kind == "float" else "")


def written(record: Polynomial) -> str:
    """The polynomial as a C function, under the relative error that it causes."""
    with mp.workdps(DIGITS):
        coefficients, error = remez(record.of, record.degree)
        lines = [f"/* error 2**{float(mp.log(error, 2)):.0f} */"]
    x, kind, chains = record.of.variable, record.kind, record.chains
    fma = "vm_fma" if kind == "double" else "vf_fma"
    step = x * chains
    lines.append(f"VM_INLINE {kind} {record.name}_polynomial({kind} {x}) {{")
    if chains == 2:
        lines.append(f"    {kind} {step} = {x} * {x};")
    for name, first in zip(["even", "odd"] if chains == 2 else ["sum"], range(chains), strict=True):
        own = [rounded(value, kind) for value in coefficients[first::chains]]
        lines.append(f"    {kind} {name} = {fma}({step}, {own[-1]}, {own[-2]});")
        lines += [f"    {name} = {fma}({step}, {name}, {value});" for value in own[-3::-1]]
    lines.append(f"    return {fma}({x}, odd, even);" if chains == 2 else "    return sum;")
    return "\n".join([*lines, "}"])


def main(names: list[str]) -> int:
    """Prints the polynomials of these names, or all that the headers hold."""
    known = {record.name: record for record in POLYNOMIALS}
    for name in names:
        if name not in known:
            print(f"no polynomial is called {name!r}; there are: {', '.join(known)}")
            return 2
    if not names:
        print("\n".join(line for record in CONSTANTS for line in defined(record)), end="\n\n")
    print("\n\n".join(written(known[name]) for name in names or known))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
