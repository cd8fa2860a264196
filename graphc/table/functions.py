"""The table of functions: one record each, from which value, derivatives, code and docs come.

A record with a `formula` is a composition of other records; one without is primitive and names its
implementation in each library that can evaluate it. A derivative is declared where the chain rule
on the formula is not good enough (primitives, kinks, reuse of the function's own value `o`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

from ..errors import GraphcError, listing, nearest, on_one_line
from .function_definitions import (
    ERF,
    JS_ERF,
    JS_MAXIMUM,
    JS_MINIMUM,
    JS_POWER,
    PRODUCT_OR_0,
    RATIO_OR_0,
)
from .late import LATE
from .records import Table
from .value import COMPARISONS, Value, is_traced

Interval = tuple[float, float]
REAL: Interval = (-math.inf, math.inf)
POSITIVE: Interval = (0.0, math.inf)
UNIT: Interval = (-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Function:
    """Everything graphc knows about one function."""

    name: str
    parameters: tuple[str, ...] = ("x",)
    defaults: Mapping[str, Any] = field(
        default_factory=dict
    )  # trailing parameters that may be left out
    variadic: bool = False  # two or more operands
    formula: Callable[..., Any] | None = None
    stable: Callable[..., Any] | None = None  # the form that numbers and code use, if not `formula`
    derivative: Callable[..., Any] | None = (
        None  # (*operands, o[, kink]) -> one partial per operand
    )
    kinks: str = ""  # the convention at the kinks, in words; empty: there are none
    switches: Callable[..., Any] | None = None  # further expressions that are 0 on a kink
    attributes: tuple[str, ...] = ()  # settings that are not operands, such as an exponent
    domain: tuple[Interval, ...] = (REAL,)  # open interval per operand, for sampling
    native: Mapping[str, str] = field(default_factory=dict)  # library -> name there
    code: Mapping[str, str] = field(default_factory=dict)  # back end -> text with {x}, {y}, ...
    latex: str = ""  # with {0}, {1}, ...; default: \operatorname{name}(...)
    latex_on_tensors: str = ""  # where it acts on tensors, if that is written otherwise
    mark: str = ""  # what a drawing writes on the node; default: the name
    rule: str = ""  # of differentiation, in words; default: its derivative as a formula
    infix: str = ""  # operator in text, with its binding strength below
    binding: int = 9
    grips: tuple[int, int] | None = None  # how tightly its operands must bind, if not as it does
    silent: bool = False  # it is written as its operand
    loose: bool = False  # whatever stands beside it in LaTeX puts it in brackets
    word: bool = False  # in text it is called by its name all the same: the sign means another one
    looks: bool = False  # its value may be a view of an operand
    rounds: bool = True  # False: it only chooses among its operands, or negates
    analytic: bool = False  # for complex operands it is the continuation of the real one
    vector: bool = False  # native/vector_maths.h has it, under the same name
    together: Mapping[str, str] = field(
        default_factory=dict
    )  # another function of the same operand -> what native/vector_maths.h has for both at once
    multilinear: bool = False  # a sum or a product of its operands, or a choice among them
    finite: bool = False  # as a formula, wherever its operands are; its slopes may not be
    definitions: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict
    )  # language -> {function: text that defines it}, where the language has none
    origin: str = "graphc"  # or "user"
    doc: str = ""

    def __repr__(self) -> str:
        return f"<function {self.signature()}>"

    def signature(self) -> str:
        """The call as text, defaults included."""
        if self.variadic:
            return f"{self.name}(a, b, ...)"
        shown = [f"{p}={self.defaults[p]}" if p in self.defaults else p for p in self.parameters]
        return f"{self.name}({', '.join(shown)})"

    def settings(self) -> tuple[str, ...]:
        """The keyword settings a user may give."""
        return (*self.attributes, "kink") if self.kinks else self.attributes

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """A new value in the operands' graph; on plain numbers, the number."""
        traced = operands[0] if operands else None
        if not isinstance(traced, Value):
            traced = is_traced((*operands, *attributes.values()))
        if traced is not None:
            return traced.graph.apply(self.name, operands, attributes)
        return LATE["function on numbers"](self, operands, attributes)

    def arrange(
        self, operands: tuple[Any, ...], attributes: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The operands with names and defaults filled in, and the settings; checked."""
        if not attributes and len(operands) == len(self.parameters) and not self.variadic:
            return operands, {}
        settings = dict(attributes)
        given = list(operands)
        if self.variadic:
            if len(given) < 2:
                raise GraphcError(f"{self.name} takes two or more arguments, got {len(given)}")
        else:
            if len(given) > len(self.parameters):
                raise GraphcError(f"{self.signature()} takes {self._count()}, got {len(given)}")
            for parameter in self.parameters[len(given) :]:
                if parameter in settings:
                    given.append(settings.pop(parameter))
                elif parameter in self.defaults:
                    given.append(self.defaults[parameter])
                else:
                    raise GraphcError(
                        f"{self.signature()} takes {self._count()}, got {len(operands)}; "
                        f"{parameter!r} is missing"
                    )
        for key in settings:
            if key not in self.settings():
                raise GraphcError(
                    f"{self.name} has no setting {key!r} (allowed: {listing(self.settings())})"
                )
        if "kink" in settings:
            settings["kink"] = check_kink(self, settings["kink"])
        return tuple(given), settings

    def _count(self) -> str:
        least, most = len(self.parameters) - len(self.defaults), len(self.parameters)
        if least != most:
            return f"{least} to {most} arguments"
        return f"{most} argument{'s' * (most != 1)}"


KINK_WORDS = ("left", "right", "share", "error")


def check_kink(function: Function, kink: Any) -> Any:
    """The kink setting as a word or an exact slope."""
    if isinstance(kink, str) and kink in KINK_WORDS:
        return kink
    largest = sys.float_info.max
    if isinstance(kink, (int, float, Fraction)) and -largest <= kink <= largest:
        return Fraction(kink)
    raise GraphcError(
        f"{function.name}: kink={on_one_line(kink)} is not allowed; give a slope (a number) "
        f"or one of {listing(KINK_WORDS)}"
    )


class Kink:
    """Writes a slope that depends on the sign of a switch, and what it is where the switch is 0."""

    def __init__(self, override: Any = None) -> None:
        self.override = override
        self.switches: list[Any] = []

    def __call__(
        self, switch: Any, below: Any, above: Any, at: Any, complement: bool = False
    ) -> Any:
        """`below` where switch < 0, `above` where it is > 0; at 0 as `at` or the node's kink= says.

        `complement` marks the second of two arguments that share a slope: it gets 1 - kink.
        """
        self.switches.append(switch)
        chosen: Any = at if self.override in (None, "error") else self.override
        if isinstance(below, int) and isinstance(above, int):
            if below == above and chosen in KINK_WORDS:
                return below  # a jump between constant pieces
            if (chosen, below, above) == (0, -1, 1):
                return sign(switch)
        if chosen == "left":
            return where(switch > 0, above, below)
        if chosen == "right":
            return where(switch < 0, below, above)
        if chosen == "share":
            middle = (below + above) / Fraction(2)
        else:
            middle = 1 - chosen if complement else chosen
        return where(switch > 0, above, where(switch < 0, below, middle))


FUNCTIONS: Table[Function] = Table()
ALIASES = {"max": "maximum", "min": "minimum", "absolute": "abs"}


def lookup(name: str) -> Function:
    """The record of this name, or an error that names the nearest one."""
    record = FUNCTIONS.get(ALIASES.get(name, name))
    if record is None:
        public = [f for f in FUNCTIONS if not FUNCTIONS[f].infix] + list(COMPOSED)
        raise GraphcError(
            f"there is no function {name!r}{nearest(name, public) or ' (see the function table)'}"
        )
    return record


def define(name: str, **fields: Any) -> Function:
    """A new record in the table."""
    record = Function(name, **fields)
    FUNCTIONS[name] = record
    return record


def library(name: str, **others: str) -> dict[str, str]:
    """The same name in every library, but for the others."""
    return {"sympy": name, "mpmath": name, "numpy": name, "c": name, "javascript": name, **others}


# Arithmetic. `power` is `pow` with a constant exponent: its derivative needs no logarithm.

define(
    "add",
    parameters=("a", "b"),
    domain=(REAL, REAL),
    infix="+",
    binding=1,
    mark="+",
    rule="sum rule",
    derivative=lambda a, b, o: (1, 1),
    latex="{0} + {1}",
    analytic=True,
    multilinear=True,
)
define(
    "sub",
    parameters=("a", "b"),
    domain=(REAL, REAL),
    infix="-",
    binding=1,
    mark="−",
    rule="sum rule",
    derivative=lambda a, b, o: (1, -1),
    latex="{0} - {1}",
    analytic=True,
    multilinear=True,
)
define(
    "mul",
    parameters=("a", "b"),
    domain=(REAL, REAL),
    infix="*",
    binding=2,
    mark="×",
    rule="product rule",
    derivative=lambda a, b, o: (b, a),
    latex="{0} {1}",
    analytic=True,
    multilinear=True,
)
define(
    "div",
    parameters=("a", "b"),
    domain=(REAL, POSITIVE),
    infix="/",
    binding=2,
    mark="÷",
    rule="quotient rule",
    derivative=lambda a, b, o: (1 / b, -o / b),
    latex=r"\frac{{{0}}}{{{1}}}",
    latex_on_tensors=r"{0} \oslash {1}",
    analytic=True,
)
define(
    "neg",
    infix="-",
    binding=3,
    mark="−",
    rule="constant factor",
    derivative=lambda x, o: -1,
    latex="-{0}",
    analytic=True,
    rounds=False,
    code={"javascript": "-{x}"},
    multilinear=True,
)


def _power_derivative(x: Any, o: Any, exponent: Any) -> Any:
    if exponent == 0:
        return 0  # also at x = 0, where 0 * x**-1 has no value
    return exponent * x ** (exponent - 1)


define(
    "power",
    attributes=("exponent",),
    infix="**",
    binding=4,
    grips=(5, 3),
    mark="^",
    rule="power rule",
    derivative=_power_derivative,
    domain=(POSITIVE,),
    latex="{0}^{{{1}}}",
    latex_on_tensors=r"{0}^{{\odot {1}}}",
    analytic=True,
)
define(
    "pow",
    vector=True,
    parameters=("a", "b"),
    domain=(POSITIVE, REAL),
    infix="**",
    binding=4,
    grips=(5, 5),
    mark="^",
    rule="power rule",
    derivative=lambda a, b, o: (product_or_0(b, a ** (b - 1)), product_or_0(o, log(a))),
    latex="{0}^{{{1}}}",
    code={"javascript": "power({a}, {b})"},
    definitions={"javascript": {"power": JS_POWER}},
)

_RELATION_LATEX = {"le": r"\le", "ge": r"\ge", "ne": r"\ne", "eq": "="}
for _name, _sign in COMPARISONS.items():
    define(
        _name,
        parameters=("a", "b"),
        domain=(REAL, REAL),
        infix=_sign,
        binding=0,
        mark=_sign,
        derivative=lambda a, b, o, kink: (kink(a - b, 0, 0, "left"), 0),
        kinks="the condition is constant on both sides: slope 0",
        finite=True,
        latex=f"{{0}} {_RELATION_LATEX.get(_name, _sign)} {{1}}",
    )

where: Function = define(
    "where",
    parameters=("cond", "a", "b"),
    domain=(REAL, REAL, REAL),
    mark="?:",
    rule="the branch taken",
    derivative=lambda cond, a, b, o: (0, taken(cond, 1), untaken(cond, 1)),
    code=dict.fromkeys(("c", "javascript"), "{cond} ? {a} : {b}"),
    latex=r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}",
    loose=True,
    doc="the branch taken; the other one has no path",
    rounds=False,
    multilinear=True,
)
taken: Function = define(
    "taken",
    parameters=("cond", "g"),
    derivative=lambda cond, g, o: (0, taken(cond, 1)),
    code=dict.fromkeys(("c", "javascript"), "{cond} ? {g} : 0"),
    latex="{1} [{0}]",
    doc="g where the condition holds, no path elsewhere",
    rounds=False,
)
untaken: Function = define(
    "untaken",
    parameters=("cond", "g"),
    derivative=lambda cond, g, o: (0, untaken(cond, 1)),
    code=dict.fromkeys(("c", "javascript"), "{cond} ? 0 : {g}"),
    latex=r"{1} [\lnot {0}]",
    doc="g where the condition does not hold, no path elsewhere",
    rounds=False,
)

define("pi", parameters=(), domain=(), latex=r"\pi", mark="π", derivative=lambda o: (), finite=True)
define(
    "identity",
    derivative=lambda x, o: 1,
    latex="{0}",
    mark="=",
    rule="copy",
    silent=True,
    looks=True,
    analytic=True,
    rounds=False,
    code={"c": "{x}", "javascript": "{x}"},
    finite=True,
)
stop: Function = define(
    "stop",
    derivative=lambda x, o: 0,
    latex=r"\operatorname{{stop}}({0})",
    mark="stop",
    looks=True,
    doc="the value passes, no derivative does",
    rounds=False,
    code={"javascript": "{x}"},
)

ratio_or_0: Function = define(
    "ratio_or_0",
    parameters=("a", "b"),
    domain=(REAL, POSITIVE),
    infix="/",
    binding=2,
    word=True,
    mark="÷",
    rule="quotient rule",
    stable=lambda a, b: where(b == 0, 0, a / where(b == 0, 1, b)),
    derivative=lambda a, b, o: (ratio_or_0(1, b), -ratio_or_0(o, b)),
    latex=r"\frac{{{0}}}{{{1}}}",
    latex_on_tensors=r"{0} \oslash {1}",
    doc="a / b, and 0 where b is 0: the slope of a norm at the origin",
    definitions={"numpy": {"ratio_or_0": RATIO_OR_0}},
)

product_or_0: Function = define(
    "product_or_0",
    parameters=("a", "b"),
    domain=(REAL, REAL),
    infix="*",
    binding=2,
    word=True,
    mark="×",
    rule="product rule",
    stable=lambda a, b: where(a == 0, 0, a * b),
    derivative=lambda a, b, o: (b, where(a == 0, 0, a)),
    latex="{0} {1}",
    doc="a * b, and 0 where a is 0: the slopes of a power at base 0",
    definitions={"numpy": {"product_or_0": PRODUCT_OR_0}},
)

# Exponentials and powers.

exp: Function = define(
    "exp",
    vector=True,
    derivative=lambda x, o: o,
    native=library("exp"),
    latex="e^{{{0}}}",
    latex_on_tensors=r"\exp\left({0}\right)",  # e^A would be the matrix exponential
    analytic=True,
)
log: Function = define(
    "log",
    vector=True,
    derivative=lambda x, o: 1 / x,
    domain=(POSITIVE,),
    native=library("log"),
    latex=r"\log\left({0}\right)",
    analytic=True,
)
log1p: Function = define(
    "log1p",
    vector=True,
    formula=lambda x: log(1 + x),
    derivative=lambda x, o: 1 / (1 + x),
    domain=((-1.0, math.inf),),
    native={"mpmath": "log1p", "numpy": "log1p", "c": "log1p", "javascript": "log1p"},
    latex=r"\log\left(1 + {0}\right)",
    analytic=True,
)
expm1: Function = define(
    "expm1",
    vector=True,
    formula=lambda x: exp(x) - 1,
    derivative=lambda x, o: exp(x),
    native={"mpmath": "expm1", "numpy": "expm1", "c": "expm1", "javascript": "expm1"},
    latex=r"\left(e^{{{0}}} - 1\right)",
    analytic=True,
)
sqrt: Function = define(
    "sqrt",
    derivative=lambda x, o: 1 / (2 * o),
    domain=(POSITIVE,),
    native=library("sqrt"),
    latex=r"\sqrt{{{0}}}",
    mark="√",
    analytic=True,
)
square: Function = define(
    "square",
    formula=lambda x: x**2,
    derivative=lambda x, o: 2 * x,
    native={"numpy": "square"},
    code={"c": "{x} * {x}"},
    latex=r"\left({0}\right)^2",
    mark="²",
    analytic=True,
    finite=True,
)

# Trigonometric and hyperbolic functions.

sin: Function = define(
    "sin",
    vector=True,
    together={"cos": "sincos"},
    derivative=lambda x, o: cos(x),
    native=library("sin"),
    latex=r"\sin\left({0}\right)",
    analytic=True,
    finite=True,
)
cos: Function = define(
    "cos",
    vector=True,
    derivative=lambda x, o: -sin(x),
    native=library("cos"),
    latex=r"\cos\left({0}\right)",
    analytic=True,
    finite=True,
)
tan: Function = define(
    "tan",
    vector=True,
    derivative=lambda x, o: 1 + o**2,
    domain=((-math.pi / 2, math.pi / 2),),
    native=library("tan"),
    latex=r"\tan\left({0}\right)",
    analytic=True,
)
asin: Function = define(
    "asin",
    vector=True,
    derivative=lambda x, o: 1 / sqrt((1 - x) * (1 + x)),
    domain=(UNIT,),
    native=library("asin", numpy="arcsin"),
    latex=r"\arcsin\left({0}\right)",
    analytic=True,
)
acos: Function = define(
    "acos",
    vector=True,
    derivative=lambda x, o: -1 / sqrt((1 - x) * (1 + x)),
    domain=(UNIT,),
    native=library("acos", numpy="arccos"),
    latex=r"\arccos\left({0}\right)",
    analytic=True,
)
atan: Function = define(
    "atan",
    vector=True,
    derivative=lambda x, o: 1 / (1 + x**2),
    native=library("atan", numpy="arctan"),
    latex=r"\arctan\left({0}\right)",
    analytic=True,
    finite=True,
)
atan2: Function = define(
    "atan2",
    vector=True,
    parameters=("y", "x"),
    domain=(REAL, POSITIVE),
    derivative=lambda y, x, o: (x / (x**2 + y**2), -y / (x**2 + y**2)),
    native=library("atan2", numpy="arctan2"),
    latex=r"\operatorname{{atan2}}\left({0}, {1}\right)",
)
sinh: Function = define(
    "sinh",
    vector=True,
    derivative=lambda x, o: cosh(x),
    native=library("sinh"),
    latex=r"\sinh\left({0}\right)",
    analytic=True,
)
cosh: Function = define(
    "cosh",
    vector=True,
    derivative=lambda x, o: sinh(x),
    native=library("cosh"),
    latex=r"\cosh\left({0}\right)",
    analytic=True,
)
tanh: Function = define(
    "tanh",
    vector=True,
    derivative=lambda x, o: 1 - o**2,
    native=library("tanh"),
    latex=r"\tanh\left({0}\right)",
    analytic=True,
    finite=True,
)
erf: Function = define(
    "erf",
    vector=True,
    derivative=lambda x, o: 2 * exp(-(x**2)) / sqrt(x.apply("pi")),
    native={"sympy": "erf", "mpmath": "erf", "math": "erf", "c": "erf"}
    | {"cupy": "cupyx.scipy.special.erf"},
    latex=r"\operatorname{{erf}}\left({0}\right)",
    code={"javascript": "erf({x})"},
    definitions={"numpy": {"erf": ERF}, "javascript": {"erf": JS_ERF}},
    finite=True,
)

# Piecewise functions. The convention at a kink is written where the slope is.

abs_: Function = define(
    "abs",
    derivative=lambda x, o, kink: kink(x, -1, 1, 0),
    kinks="slope 0 at 0",
    native=library("Abs", mpmath="fabs", numpy="absolute", c="fabs", javascript="abs"),
    latex=r"\left|{0}\right|",
    mark="|·|",
    rounds=False,
    finite=True,
)
sign: Function = define(
    "sign",
    derivative=lambda x, o, kink: kink(x, 0, 0, "left"),
    kinks="jumps at 0, slope 0 there too",
    native={"sympy": "sign", "mpmath": "sign", "numpy": "sign"},
    code={
        "c": "{x} > 0 ? 1 : {x} < 0 ? -1 : {x} == 0 ? 0 : {x}",  # NaN stays NaN
        "javascript": "{x} === 0 ? 0 : Math.sign({x})",
    },
    latex=r"\operatorname{{sign}}\left({0}\right)",
    rounds=False,
    finite=True,
)
heaviside: Function = define(
    "heaviside",
    parameters=("x", "at_zero"),
    defaults={"at_zero": Fraction(1, 2)},
    domain=(REAL, REAL),
    kinks="jumps at 0, slope 0 there too",
    formula=lambda x, z: where(x > 0, 1, where(x < 0, 0, z)),
    stable=lambda x, z: where(x > 0, 1, where(x < 0, 0, where(x == 0, z, x))),  # NaN stays NaN
    derivative=lambda x, z, o, kink: (kink(x, 0, 0, "left"), where(x == 0, 1, 0)),
    latex=r"H\left({0}\right)",
    mark="H",
    rounds=False,
    finite=True,
)
relu: Function = define(
    "relu",
    formula=lambda x: maximum(x, 0),
    derivative=lambda x, o, kink: kink(x, 0, 1, "left"),
    kinks="slope 0 at 0",
    code={"numpy": "np.maximum({x}, 0)", "cupy": "cp.maximum({x}, 0)"},
    latex=r"\operatorname{{relu}}\left({0}\right)",
    rounds=False,
    finite=True,
)
leaky_relu: Function = define(
    "leaky_relu",
    parameters=("x", "slope"),
    defaults={"slope": Fraction(1, 100)},
    domain=(REAL, (0.0, 1.0)),
    formula=lambda x, slope: where(x > 0, x, slope * x),
    derivative=lambda x, slope, o, kink: (kink(x, slope, 1, "left"), where(x > 0, 0, x)),
    kinks="the left slope at 0",
    latex=r"\operatorname{{leaky\_relu}}\left({0}\right)",
    mark="leaky relu",
)
clip: Function = define(
    "clip",
    parameters=("x", "lo", "hi"),
    domain=(REAL, (-2.0, 0.0), (0.0, 2.0)),
    formula=lambda x, lo, hi: minimum(maximum(x, lo), hi),
    derivative=lambda x, lo, hi, o, kink: (
        kink(x - lo, 0, kink(x - hi, 1, 0, "left"), "right"),
        where(x < lo, where(lo > hi, 0, 1), 0),
        where(maximum(x, lo) > hi, 1, 0),
    ),
    kinks="slope 1 on the closed interval [lo, hi]",
    latex=r"\operatorname{{clip}}\left({0}, {1}, {2}\right)",
)
hardtanh: Function = define(
    "hardtanh",
    formula=lambda x: clip(x, -1, 1),
    derivative=lambda x, o, kink: kink(x + 1, 0, kink(x - 1, 1, 0, "left"), "right"),
    kinks="slope 1 on the closed interval [-1, 1]",
    latex=r"\operatorname{{hardtanh}}\left({0}\right)",
)


def _winner_partials(
    switch: Callable[[Any, Any], Any], *operands: Any, best: Any, kink: Kink
) -> Any:
    """The share of each operand in `best`, their maximum or minimum: all to the first winner."""
    if len(operands) == 2:
        a, b = operands
        return (
            kink(switch(a, b), 0, 1, "right"),
            kink(switch(a, b), 1, 0, "right", complement=True),
        )
    wins = [where(x == best, 1, 0) for x in operands]
    for i, x in enumerate(operands):  # two winners at once are a kink
        kink.switches += [abs_(x - best) + abs_(y - best) for y in operands[i + 1 :]]
    if kink.override in (None, "error"):
        shares = wins
        for i, x in enumerate(operands):  # the first winner closes the way to the later ones
            later = [where(x == best, 0, share) for share in shares[i + 1 :]]
            shares = [*shares[: i + 1], *later]
        return tuple(shares)
    if kink.override != "share":
        raise GraphcError(
            f"kink={kink.override!r} has no meaning with {len(operands)} arguments; "
            "use kink='share', or nest two-argument calls"
        )
    return tuple(win / reduce(lambda p, q: p + q, wins) for win in wins)


maximum: Function = define(
    "maximum",
    parameters=("a", "b"),
    variadic=True,
    domain=(REAL, REAL),
    mark="max",
    derivative=lambda *ao, kink: _winner_partials(
        lambda a, b: a - b, *ao[:-1], best=ao[-1], kink=kink
    ),
    kinks="a tie gives all to the first winner",
    native={"sympy": "Max", "mpmath": "max", "numpy": "maximum"},
    code={
        "c": "{a} > {b} || {a} != {a} ? {a} : {b}",  # fmax would hide a NaN
        "javascript": "maximum({a}, {b})",  # of two equal numbers the second, as NumPy does
    },
    latex=r"\max\left({0}\right)",
    rounds=False,
    definitions={"javascript": {"maximum": JS_MAXIMUM}},
    finite=True,
)
minimum: Function = define(
    "minimum",
    parameters=("a", "b"),
    variadic=True,
    domain=(REAL, REAL),
    mark="min",
    derivative=lambda *ao, kink: _winner_partials(
        lambda a, b: b - a, *ao[:-1], best=ao[-1], kink=kink
    ),
    kinks="a tie gives all to the first winner",
    native={"sympy": "Min", "mpmath": "min", "numpy": "minimum"},
    code={
        "c": "{a} < {b} || {a} != {a} ? {a} : {b}",
        "javascript": "minimum({a}, {b})",
    },
    latex=r"\min\left({0}\right)",
    rounds=False,
    definitions={"javascript": {"minimum": JS_MINIMUM}},
    finite=True,
)

# Neural-network functions: compositions, with a stable form where the plain formula overflows.

sigmoid: Function = define(
    "sigmoid",
    vector=True,
    formula=lambda x: 1 / (1 + exp(-x)),
    stable=lambda x: maximum(exp(-abs_(x)), sign(x)) / (1 + exp(-abs_(x))),
    derivative=lambda x, o: o * (1 - o),
    latex=r"\sigma\left({0}\right)",
    mark="σ",
    analytic=True,
    finite=True,
)
softplus: Function = define(
    "softplus",
    vector=True,
    formula=lambda x: log(1 + exp(x)),
    stable=lambda x: maximum(x, 0) + log1p(exp(-abs_(x))),
    derivative=lambda x, o: sigmoid(x),
    latex=r"\operatorname{{softplus}}\left({0}\right)",
)
log_sigmoid: Function = define(
    "log_sigmoid",
    vector=True,
    formula=lambda x: -log(1 + exp(-x)),
    stable=lambda x: minimum(x, 0) - log1p(exp(-abs_(x))),
    derivative=lambda x, o: sigmoid(-x),
    latex=r"\log\sigma\left({0}\right)",
    mark="log σ",
)
logaddexp: Function = define(
    "logaddexp",
    parameters=("a", "b"),
    domain=(REAL, REAL),
    formula=lambda a, b: log(exp(a) + exp(b)),
    stable=lambda a, b: where(  # a - b is NaN for two infinities
        a == b, a + a.apply("log", 2), maximum(a, b) + log1p(exp(-abs_(a - b)))
    ),
    derivative=lambda a, b, o: (sigmoid(a - b), sigmoid(b - a)),
    native={"numpy": "logaddexp"},
    latex=r"\log\left(e^{{{0}}} + e^{{{1}}}\right)",
)
elu: Function = define(
    "elu",
    formula=lambda x: where(x > 0, x, exp(x) - 1),
    stable=lambda x: where(x > 0, x, expm1(minimum(x, 0))),
    derivative=lambda x, o: where(x > 0, 1, exp(minimum(x, 0))),
    latex=r"\operatorname{{elu}}\left({0}\right)",
)
SELU_ALPHA = Fraction("1.6732632423543772848170429916717")
SELU_SCALE = Fraction("1.0507009873554804934193349852946")
selu: Function = define(
    "selu",
    formula=lambda x: SELU_SCALE * where(x > 0, x, SELU_ALPHA * (exp(x) - 1)),
    stable=lambda x: SELU_SCALE * where(x > 0, x, SELU_ALPHA * expm1(minimum(x, 0))),
    derivative=lambda x, o, kink: kink(
        x, SELU_SCALE * SELU_ALPHA * exp(minimum(x, 0)), SELU_SCALE, "left"
    ),
    kinks="the left slope at 0",
    latex=r"\operatorname{{selu}}\left({0}\right)",
)
silu: Function = define(
    "silu",
    formula=lambda x: x * sigmoid(x),
    derivative=lambda x, o: sigmoid(x) * (1 + x * sigmoid(-x)),
    latex=r"\operatorname{{silu}}\left({0}\right)",
    analytic=True,
)
gelu: Function = define(
    "gelu",
    vector=True,
    formula=lambda x: x * (1 + erf(x / x.apply("sqrt", 2))) / 2,
    latex=r"\operatorname{{gelu}}\left({0}\right)",
)


# What else can be called by name: compositions, which layers/ adds, and tensor operations.
COMPOSED: dict[str, Callable[..., Any]] = {}


def is_value(operand: Any) -> bool:
    """Whether the operand belongs to a graph."""
    return isinstance(operand, Value)
