"""The record of a tensor operation, and the table of all of them.

Everything that is known about an operation stands in its record; who computes, derives, checks or
prints reads it and knows no operation by name. Everything linear is a contraction (einsum with one
open slot) or a selection (gather and its transpose, scatter). Layers and losses are compositions
of these and have no rule of their own. A carried value may have further leading axes (`lead`):
that is how Jacobians are carried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..errors import GraphcError
from ..shapes import LETTERS, Shape, Size
from .functions import COMPOSED
from .late import LATE
from .letters import escaped
from .loops import LoopWriter, Variable
from .matrix_form import Form, Piece
from .phrases import Phrase, call, call_latex, phrase, places
from .records import Table
from .writing import ArrayWriter, keywords_text

Settings = Mapping[str, Any]


class Algebra(Protocol):
    """What can be carried: anything the functions of the table can be applied to."""

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any: ...

    def constant(self, value: Any) -> Any: ...


class Arithmetic(Algebra, Protocol):
    """What the value of an operation may ask of the algebra of numbers."""

    @property
    def sizes(self) -> Mapping[str, int]: ...  # the named sizes at this point

    def beats(self, one: Any, other: Any) -> bool: ...  # whether one is larger

    def is_zero(self, value: Any) -> bool: ...

    def undefined(self, what: str) -> Any: ...  # a value that does not exist

    def products(self, boxes: Sequence[Any], operands: Sequence[str], core: str) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where an operation stands: its settings, and the shapes of its operands and its result."""

    settings: Settings
    shapes: Sequence[Shape]
    shape: Shape


@dataclass(frozen=True, kw_only=True)
class Local(Site):
    """One operation where it stands: its operands, its own value, and how to apply others."""

    algebra: Algebra
    args: Sequence[Any]
    own: Any = None
    lead: Shape = ()

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        return self.algebra.apply(op, args, settings)

    def contract(self, spec: str, *operands: Any, **sizes: Size) -> Any:
        """A contraction; `sizes` are those of the letters that only the result has."""
        return self.apply("contract", operands, {"spec": spec, "sizes": tuple(sizes.items())})

    def placed(self, op: str, value: Any, settings: Settings) -> Any:
        """A carried value put in its places by a selection; elsewhere it is absent, not 0."""
        return self.apply("placed", (value,), {"op": op, "settings": dict(settings)})

    def letters(self) -> tuple[str, str]:
        """Letters for the leading axes and for the first operand's axes."""
        rank = len(self.shapes[0])
        return LETTERS[rank : rank + len(self.lead)], LETTERS[:rank]

    def kept(self, axes: Sequence[int]) -> str:
        """The letters of the first operand that a reduction over the axes leaves."""
        full = self.letters()[1]
        gone = {axis % len(full) for axis in axes}
        return "".join(letter for i, letter in enumerate(full) if i not in gone)

    def expand(self, value: Any, axes: Sequence[int], thin: bool = False) -> Any:
        """A reduced value, repeated along the axes it was reduced over; once if `thin`."""
        full, kept = self.letters()[1], self.kept(axes)
        sizes = {x: 1 if thin else self.shapes[0][i] for i, x in enumerate(full) if x not in kept}
        return self.contract(f"{kept}->{full}", value, **sizes)


@dataclass(frozen=True)
class Pairs:
    """Which element depends on which: places in an operand and in the result, pair by pair.

    Each pair multiplies by an element of each factor: (number of another operand, places in it).
    """

    source: Any
    target: Any
    factors: Sequence[tuple[int, Any]] = ()


@dataclass(frozen=True)
class Factors:
    """A product, element by element, or sums of one over its last axes."""

    subscripts: tuple[str, ...]  # each brings an operand to the axes of the product
    summed: Shape = ()  # the sizes of those axes


Shaper = Callable[[Sequence[Shape], Settings, Sequence[str]], Shape]
Carry = Callable[[Local, int, Any], Any]  # (where, operand, carried value) -> carried value
# (who takes the lines, result, operands, settings) -> the text by which the result goes
Looping = Callable[[LoopWriter, Variable, Sequence[Variable], Settings], str]
Into = Callable[[ArrayWriter, Sequence[str], str], str]  # (writer, operands, target) -> a call


Writing = Callable[[Site, Sequence[Phrase]], Phrase]


def _further(settings: Settings) -> dict[str, Any]:
    """The settings of an operation besides its axes and its slope at a kink."""
    told = ("axes", "kink")
    return {key: value for key, value in settings.items() if key not in told and value is not None}


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """Everything graphc knows about one tensor operation."""

    name: str
    shape: Shaper  # (shapes of the operands, settings, what to call them) -> shape of the result
    pull: Carry  # the adjoint of the result -> that of an operand; None: nothing passes
    push: Carry
    # Its value: a formula of other operations, or what NumPy and exact numbers give.
    formula: Callable[[Local], Any] | None = None
    value: Callable[[Arithmetic, Sequence[Any], Settings], Any] | None = None
    looks: Callable[[Settings], bool] = lambda settings: False  # may be a view of the first operand
    # Whether it certainly is one, of an array that stands in one piece or not.
    stays: Callable[[Settings, bool], bool] = lambda settings, whole: False
    # Where it multiplies element by element, and perhaps sums the products, and nothing else.
    factors: Callable[[Site], Factors | None] = lambda site: None
    # Where it adds the second operand to the first in place: the subscript of that place.
    adds: Callable[[Site], str | None] = lambda site: None
    # Each element a sum of some of an operand's (times others'): settings for that operand alone.
    through: Callable[[Settings, int], Settings] | None = None
    fills: Callable[[Settings], bool] = lambda settings: True  # each element gets something
    rounds: bool = True  # False: elements are only chosen or moved
    # The size that its rounding is a part of, from the value and the operands; None: the value's.
    rounded_like: Callable[[Any, Sequence[Any]], Any] | None = None
    analytic: bool = False  # for complex operands it is the continuation of the real one
    finite: bool = False  # as a formula, wherever its operands are; its slopes may not be
    kink: str = ""  # "zero": at the value 0; "tie": where two elements over its axes are largest
    on_kink: Callable[[Local], bool] = lambda here: False  # whether this is told to whoever asks
    # Settings with a further leading axis of this size on some operands; None: it takes none.
    batch: Callable[[Settings, Sequence[bool], Size], Settings] | None = None
    pairs: Callable[[Site, int], Pairs] | None = None  # None: each element depends on each
    work: Callable[[Site], Shape] = lambda site: site.shape  # product: scalar operations, about
    # On scalars alone it is their product, and no tensor operation.
    is_product: Callable[[Settings], bool] = lambda settings: False
    # What makes two of them on equal operands differ: settings, whatever letters they are in.
    compared: Callable[[Settings, Shape], Settings] = lambda settings, shape: settings
    # Its text.
    form: Callable[[Site], Form | None] = lambda site: None  # of matrices, where it has one
    word: str = ""  # that calls it, where this is not its name
    last: bool = False  # without an axis it takes the last one, not all
    line: Writing | None = None  # as a line of NumPy, for people; None: a call by name
    source: Writing | None = None  # in the text form, which is read back
    latex: Writing | str | None = None  # or a form for its operands
    rule: str | Callable[[Site], str] = ""  # of differentiation, in words; default: the name
    call: Callable[..., Settings] | None = None  # (*operands, **keywords) -> settings, checked
    text: Callable[[ArrayWriter, Site, Sequence[Piece]], Piece] | None = None
    into: Callable[[Site], Into | None] = lambda site: None  # the call that has out=
    overwrites: bool = False  # that call may write into the first operand
    loops: Looping | None = None  # over elements, in the words of JavaScript and C
    definitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by language
    native: tuple[str, ...] = ()  # libraries with a better way than the formula
    origin: str = "graphc"  # or "user"
    doc: str = ""

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        """A new value in the operands' graph; on plain numbers, the number."""
        return LATE["operation"](self, operands, keywords)

    @property
    def multilinear(self) -> bool:
        """Whether it is sums of products of its operands' elements."""
        return self.through is not None

    def number(self, numbers: Arithmetic, args: Sequence[Any], settings: Settings) -> Any:
        """The value on numbers and arrays of them."""
        if self.value is not None:
            return self.value(numbers, args, settings)
        assert self.formula is not None, self.name  # a record has one of the two
        shapes = [np.shape(arg) for arg in args]
        return self.formula(
            Local(settings=settings, shapes=shapes, shape=(), algebra=numbers, args=args)
        )

    def written(self, site: Site, parts: Sequence[Phrase]) -> Phrase:
        """The operation as people write it in NumPy."""
        return self.line(site, parts) if self.line is not None else self.called(site, parts)

    def read_back(self, site: Site, parts: Sequence[Phrase]) -> Phrase:
        """The operation in the text form."""
        if self.source is not None:
            return self.source(site, parts)
        return self.called(site, parts, ("kink",))

    def display(self, site: Site, parts: Sequence[Phrase]) -> Phrase:
        """The operation in LaTeX; axes and settings stand below its name."""
        if callable(self.latex):
            return self.latex(site, parts)
        axes = self.chosen_axes(site)
        if self.latex and axes is None:
            alone = len(parts) == 1 or "{1}" in self.latex
            inside = parts if alone else [phrase(places(len(parts)), *parts)]  # norm(x, y)
            return phrase(self.latex, *inside, word=self.name)
        below = [] if axes is None else [str(axis + len(site.shapes[0])) for axis in axes]
        below += [escaped(str(value)) for value in _further(site.settings).values()]
        return call_latex(self.word or self.name, *parts, below=",".join(below))

    def called(self, site: Site, parts: Sequence[Phrase], more: tuple[str, ...] = ()) -> Phrase:
        """A call by name, with the axes, the settings, and those that people need not see."""
        axes = self.chosen_axes(site)
        words = [] if axes is None else [f"axis={axes[0] if len(axes) == 1 else axes}"]
        hidden = {key: site.settings[key] for key in more if site.settings.get(key) is not None}
        words += keywords_text(_further(site.settings) | hidden)
        return call(self.word or self.name, *parts, more=words)

    def chosen_axes(self, site: Site) -> tuple[int, ...] | None:
        """The axes that have to be written: not those that it takes by itself."""
        usual = (-1,) if self.last else tuple(range(-len(site.shapes[0]), 0))
        axes: tuple[int, ...] | None = site.settings.get("axes")
        return None if axes == usual else axes

    def rule_words(self, site: Site) -> str:
        """What it is called where it is differentiated."""
        return self.rule(site) if callable(self.rule) else self.rule or self.name

    def array_text(self, writer: ArrayWriter, site: Site, pieces: Sequence[Piece]) -> Piece:
        """The operation as array code: a call of its definition, or of the library's function."""
        if self.text is not None:
            return self.text(writer, site, pieces)
        texts = [*(piece[0] for piece in pieces), *keywords_text(site.settings)]
        own = self.name in self.definitions.get("numpy", ())
        return writer.own(self.name, *texts) if own else writer.call(self.name, *texts)


OPERATIONS: Table[Operation] = Table()


def define(name: str, **fields: Any) -> Operation:
    """A new record in the table; one that says how it is called can be called by its name."""
    if name in OPERATIONS or name in COMPOSED:
        raise GraphcError(f"graphc has an operation {name!r} already; choose another name")
    missing = [field for field in ("shape", "pull", "push") if field not in fields]
    if not {"value", "formula"} & set(fields):
        missing.append("value (or formula)")
    if missing:
        raise GraphcError(
            f"the record of the operation {name!r} says nothing of {', '.join(missing)}; add it"
        )
    record = OPERATIONS[name] = Operation(name=name, **fields)
    if record.call is not None:
        COMPOSED[name] = record
    return record


def unchanged(settings: Settings, *rest: Any) -> Settings:
    """The settings as they are: axes are counted from the end, so a further one moves none."""
    return settings


# Element-wise functions broadcast: what was repeated on the way out is summed on the way back.


def summed_to(here: Local, value: Any, shape: Shape, target: Shape) -> Any:
    """The transpose of broadcasting `target` to `shape`: sums over the repeated axes."""
    if shape == target:
        return value
    letters = LETTERS[: len(shape)]
    lead = LETTERS[len(shape) : len(shape) + len(here.lead)]
    ones = iter(LETTERS[len(shape) + len(here.lead) :])
    out, sizes = "", {}
    for axis in range(-len(target), 0):
        if target[axis] == shape[axis]:
            out += letters[axis]
        else:
            fresh = next(ones)
            out, sizes[fresh] = out + fresh, 1
    return here.contract(f"{lead}{letters}->{lead}{out}", value, **sizes)


def repeated_to(here: Local, value: Any, shape: Shape, target: Shape) -> Any:
    """A value of `shape` broadcast to `target`."""
    if shape == target:
        return value
    letters = LETTERS[: len(target)]
    lead = LETTERS[len(target) : len(target) + len(here.lead)]
    ones = iter(LETTERS[len(target) + len(here.lead) :])
    source, sizes = "", {}
    for axis in range(-len(target), 0):
        if len(shape) < -axis:
            sizes[letters[axis]] = target[axis]
        elif shape[axis] == target[axis]:
            source += letters[axis]
        else:
            source += next(ones)
            sizes[letters[axis]] = target[axis]
    return here.contract(f"{lead}{source}->{lead}{letters}", value, **sizes)
