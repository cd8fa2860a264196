"""What a formula is made of. A tree knows its words by number: `first`, and `last` that follows."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, TypeAlias


class Number(NamedTuple):
    """An exact literal; `whole` if it is written as an integer."""

    value: int | Fraction
    whole: bool
    first: int
    last: int


class Name(NamedTuple):
    """A name in its one spelling."""

    name: str
    first: int
    last: int


class Plain(NamedTuple):
    """A setting that is no number: text, True, False, None or ..."""

    value: object
    first: int
    last: int


class Signed(NamedTuple):
    """+x or -x."""

    sign: str
    operand: Tree
    first: int
    last: int


class Binary(NamedTuple):
    """Two operands of an operator or a comparison; `..` is the operator of ranges."""

    sign: str
    left: Tree
    right: Tree
    first: int
    last: int


class Chain(NamedTuple):
    """Several comparisons in a row, which formulas do not have."""

    first: int
    last: int


class Call(NamedTuple):
    """A function of arguments by position and settings by name."""

    function: str
    arguments: tuple[Tree, ...]
    settings: tuple[Setting, ...]
    first: int
    last: int


class Setting(NamedTuple):
    """name=value in a call."""

    name: str
    value: Tree
    first: int
    last: int


class Index(NamedTuple):
    """x[...]: an element, or another spelling of a name."""

    value: Tree
    at: Tree
    first: int
    last: int


class Slice(NamedTuple):
    """lower:upper:step in an index."""

    lower: Tree | None
    upper: Tree | None
    step: Tree | None
    first: int
    last: int


class Transpose(NamedTuple):
    """x.T."""

    value: Tree
    first: int
    last: int


class List(NamedTuple):
    """[a, b]."""

    parts: tuple[Tree, ...]
    first: int
    last: int


class Tuple(NamedTuple):
    """(a, b), or several indices."""

    parts: tuple[Tree, ...]
    first: int
    last: int


Leaf: TypeAlias = Number | Name | Plain
Branch: TypeAlias = Signed | Binary | Chain | Call | Index | Slice | Transpose | List | Tuple
Tree: TypeAlias = Leaf | Branch
