"""Where the vector maths is measured: ranges of arguments, drawn at random, and edge points."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Draw = Callable[[np.random.Generator, int, type], np.ndarray]


def uniform(low: float, high: float) -> Draw:
    return lambda rng, count, kind: rng.uniform(low, high, count).astype(kind)


def logarithmic(low: float, high: float, signs: bool = True) -> Draw:
    """Every magnitude alike, within what the kind has."""

    def draw(rng: np.random.Generator, count: int, kind: type) -> np.ndarray:
        has = np.finfo(kind)
        ends = np.log([max(low, float(has.tiny)), min(high, float(has.max) / 2)])
        drawn = np.exp(rng.uniform(*ends, count))
        return (drawn * rng.choice([-1, 1], count) if signs else drawn).astype(kind)

    return draw


def patterns(rng: np.random.Generator, count: int, kind: type) -> np.ndarray:
    """Any bits: subnormals, infinities and NaN among them."""
    size = np.dtype(kind).itemsize
    return np.frombuffer(rng.bytes(count * size), kind).copy()


def multiples(largest: float) -> Draw:
    """The numbers nearest to multiples of pi/2, where sin, cos or tan nearly vanish."""

    def draw(rng: np.random.Generator, count: int, kind: type) -> np.ndarray:
        limit = np.log(largest if kind is np.float64 else min(largest, 1e6))
        whole = np.floor(np.exp(rng.uniform(0, limit, count)))
        near = (whole.astype(np.longdouble) * np.longdouble("1.57079632679489661923")).astype(kind)
        return np.nextafter(near, near + rng.choice([-1, 0, 1], count).astype(kind)).astype(kind)

    return draw


def around(*places: float, width: float = 1e-3) -> Draw:
    """Close to the places where a formula changes, or a range ends."""

    def draw(rng: np.random.Generator, count: int, kind: type) -> np.ndarray:
        factors = 1 + rng.uniform(-1, 1, count) * width ** rng.uniform(1, 4, count)
        return (rng.choice(places, count) * factors).astype(kind)

    return draw


PERIODIC = {
    "within pi": uniform(-3.2, 3.2),
    "within 1000": uniform(-1000, 1000),
    "any magnitude to 1e9": logarithmic(1e-300, 1e9),
    "next to multiples of pi/2": multiples(1e8),
    "ends of the range": around(2.0**28, -(2.0**28), 2.0**18, -(2.0**18), 2.0**15, 2.0**12),
    "any bits": patterns,
}
EXPONENTIAL = {
    "within 5": uniform(-5, 5),
    "within 100": uniform(-100, 100),
    "within 750": uniform(-750, 750),
    "any small magnitude": logarithmic(1e-300, 2),
    "ends of the range": around(
        708, -708, 709.78, -745.1, 87.3, -87.3, 88.7, -103.9, 0.3466, -0.3466, 1.0397
    ),
    "any bits": patterns,
}
LOGARITHMIC = {
    "1/2 to 2": uniform(0.5, 2),
    "any positive": logarithmic(1e-320, 1e308, signs=False),
    "next to 1 and sqrt(2)": around(1.0, 2**0.5, 0.5**0.5),
    "any bits": patterns,
}
INVERSE = {
    "within 1": uniform(-1, 1),
    "any small magnitude": logarithmic(1e-300, 1),
    "next to 1/2 and 1": around(0.5, -0.5, 1.0, -1.0),
    "any bits": patterns,
}
NORMAL = {
    "within 1": uniform(-1, 1),
    "within 6": uniform(-6, 6),
    "within 40": uniform(-40, 40),
    "any small magnitude": logarithmic(1e-300, 2),
    "ends of the range": around(1.0, -1.0, 6.0, -6.0, 37.0, -37.0, -38.4, -13.0, -13.3, -12.5),
    "any bits": patterns,
}
RANGES: dict[str, dict[str, Draw]] = {
    **dict.fromkeys(("sin", "cos", "tan"), PERIODIC),
    **dict.fromkeys(
        ("exp", "expm1", "sinh", "cosh", "sigmoid", "softplus", "log_sigmoid"), EXPONENTIAL
    ),
    "tanh": EXPONENTIAL | {"ends of the range": around(22.0, -22.0, 10.0, -10.0, 0.1733, 0.52)},
    "log": LOGARITHMIC,
    "log1p": {
        "within 1": uniform(-1, 1),
        "-1 to 30": uniform(-1, 30),
        "any magnitude": logarithmic(1e-300, 1e308),
        "next to -1 and 0.41": around(-1.0, 2**0.5 - 1, 0.5**0.5 - 1),
        "any bits": patterns,
    },
    **dict.fromkeys(("erf", "gelu"), NORMAL),
    **dict.fromkeys(("asin", "acos"), INVERSE),
    "atan": {
        "within 10": uniform(-10, 10),
        "any magnitude": logarithmic(1e-300, 1e300),
        "ends of the sectors": around(2**0.5 - 1, 1.0, -1.0, 2**0.5 + 1),
        "any bits": patterns,
    },
}

DrawTwo = Callable[[np.random.Generator, int, type], tuple[np.ndarray, np.ndarray]]


def separate(first: Draw, second: Draw) -> DrawTwo:
    return lambda rng, count, kind: (first(rng, count, kind), second(rng, count, kind))


def powers(base: Draw, largest: float) -> DrawTwo:
    """Bases, and exponents for which the result has any magnitude, or overflows."""

    def draw(rng: np.random.Generator, count: int, kind: type) -> tuple[np.ndarray, np.ndarray]:
        x = base(rng, count, kind)
        reach = largest if kind is np.float64 else largest / 8
        with np.errstate(all="ignore"):
            y = rng.uniform(-reach, reach, count) / np.log2(np.abs(x.astype(float)))
        return x, np.nan_to_num(y, posinf=2.0, neginf=2.0).clip(-1e30, 1e30).astype(kind)

    return draw


def whole(draw: DrawTwo) -> DrawTwo:
    """The same with whole exponents."""

    def rounded(rng: np.random.Generator, count: int, kind: type) -> tuple[np.ndarray, np.ndarray]:
        x, y = draw(rng, count, kind)
        return x, np.round(y)

    return rounded


def ray(angles: Draw, radii: Draw) -> DrawTwo:
    """Points (y, x) of the plane by angle and radius."""

    def draw(rng: np.random.Generator, count: int, kind: type) -> tuple[np.ndarray, np.ndarray]:
        angle, radius = angles(rng, count, np.float64), radii(rng, count, np.float64)
        if kind is np.float32:
            radius = radius.clip(1e-20, 1e20)
        return (radius * np.sin(angle)).astype(kind), (radius * np.cos(angle)).astype(kind)

    return draw


RANGES_OF_TWO: dict[str, dict[str, DrawTwo]] = {
    "atan2": {
        "a square": separate(uniform(-1, 1), uniform(-1, 1)),
        "any magnitudes": separate(logarithmic(1e-300, 1e300), logarithmic(1e-300, 1e300)),
        "any radius": ray(uniform(-3.15, 3.15), logarithmic(1e-300, 1e300, signs=False)),
        "next to the eighths": ray(
            around(*(k * math.pi / 8 for k in range(-8, 9) if k)), uniform(1, 4)
        ),
        "any bits": separate(patterns, patterns),
    },
    "pow": {
        "0 to 4, within 8": separate(uniform(0, 4), uniform(-8, 8)),
        "any positive base": powers(logarithmic(1e-300, 1e300, signs=False), 1080),
        "bases next to 1": powers(around(1.0, width=0.3), 1080),
        "bases 1/2 to 2": powers(uniform(0.5, 2), 1080),
        "whole exponents": whole(powers(logarithmic(0.01, 100), 1080)),
        "any small exponent": separate(
            logarithmic(1e-300, 1e300, signs=False), logarithmic(1e-300, 3)
        ),
        "any bits": separate(patterns, patterns),
    },
}


def ranges(function: str) -> dict[str, Callable[..., tuple[np.ndarray, ...]]]:
    """The ranges of a function by name; each draws a tuple of arguments."""
    if function in RANGES_OF_TWO:
        return dict(RANGES_OF_TWO[function])

    def alone(draw: Draw) -> Callable[..., tuple[np.ndarray, ...]]:
        return lambda rng, count, kind: (draw(rng, count, kind),)

    return {label: alone(draw) for label, draw in RANGES[function].items()}


# The edges: what stands out of the ordinary, one argument or two, with both signs.


def signed(numbers: str) -> list[float]:
    return [sign * float(number) for number in numbers.split() for sign in (1, -1)]


EDGES = signed(
    """
    0 5e-324 1e-310 2.2250738585072014e-308 1e-200 1e-45 1.2e-38 1e-17 1e-8 0.25 0.5 0.99999999
    0.99999999999999989 1 1.0000000000000002 1.0000001 1.5 2 3 1.5707963267948966 3.141592653589793
    6.283185307179586 6 10 13.2 14.5 22 22.1 37.1 38.6 40 87.4 88.8 100 104 708.3 709.78 709.79 710
    710.4 711 745.13 745.2 750 800 1e4 1e5 262144 1e8 268435456 268435457 1e15 1e22 3.4e38 1e39
    1e300 1e301 1.7976931348623157e308 inf nan
    """
)
EDGES_OF_TWO = signed(
    """
    0 5e-324 1e-310 1e-300 1e-45 1e-30 1e-8 0.25 0.3333333333333333 0.5 0.99999999999999989 1 1.5 2
    3 4 5 17 63 127.5 1001 1023 2251799813685248 9007199254740992 9007199254740994 1e30 1e300
    1.7e308 inf nan
    """
)
