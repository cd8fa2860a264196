"""Numbers in formulas: rational arithmetic of exponents and indices, families, lists."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from .. import names as naming
from ..algebra.exact import as_float
from ..algebra.given import MOST_BITS, array_from_user
from ..errors import GraphcError, listing, visible
from ..syntax.parsing import Syntax
from ..syntax.trees import Binary, Call, List, Name, Number, Plain, Signed, Tree, Tuple
from ..syntax.words import MOST_DIGITS, Mistake

Env = Mapping[str, int]  # values of the loop variables
LARGEST_INDEX = 10**9
LARGEST_FAMILY = 100_000
# arithmetic of rational numbers, as in exponents and indices
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: Fraction(a) / b,
    "**": lambda a, b: Fraction(a) ** int(b),
    "//": operator.floordiv,
    "%": operator.mod,
}


def no_number(tree: Plain, syntax: Syntax) -> Mistake:
    return Mistake(f"{syntax.source_of(tree)} is not a number; use one", syntax.column_of(tree))


def exact(tree: Tree, syntax: Syntax, env: Env) -> int | Fraction | None:
    """The value of a formula of rational numbers and loop variables; None for any other."""
    chain: list[Binary] = []
    while type(tree) is Binary and tree.sign in _ARITHMETIC:
        chain.append(tree)
        tree = tree.left
    value: int | Fraction | None = None
    if type(tree) is Number:
        value = tree.value
    elif type(tree) is Name:
        value = env.get(tree.name)
    elif type(tree) is Signed:
        value = exact(tree.operand, syntax, env)
        if value is not None and tree.sign == "-":
            value = -value
    elif type(tree) is Plain:
        raise no_number(tree, syntax)
    while chain and value is not None:
        link = chain.pop()
        right = exact(link.right, syntax, env)
        if right is None or (link.sign == "**" and Fraction(right).denominator != 1):
            return None
        value = _combined(link, value, right, syntax)
    return value


def _combined(
    tree: Binary, left: int | Fraction, right: int | Fraction, syntax: Syntax
) -> int | Fraction:
    too_large = tree.sign == "**" and _bits(left) * abs(int(right)) > MOST_BITS
    try:
        value: int | Fraction = 0 if too_large else _ARITHMETIC[tree.sign](left, right)
    except ZeroDivisionError:
        raise division_by_0(tree, syntax) from None
    if too_large or _bits(value) > MOST_BITS:
        raise Mistake(
            f"{visible(syntax.source_of(tree), 30)} is too large: it has over {MOST_DIGITS} "
            "digits; use a smaller number",
            syntax.column_of(tree),
        )
    return value.numerator if value.denominator == 1 else value


def division_by_0(tree: Binary, syntax: Syntax) -> Mistake:
    return Mistake(
        f"{visible(syntax.source_of(tree), 30)} divides by 0; change the divisor",
        syntax.column_of(tree),
    )


def _bits(number: int | Fraction) -> int:
    """The bits of numerator and denominator, at least; 0 where powers do not grow."""
    return max(number.numerator.bit_length() - 1, 0) + number.denominator.bit_length() - 1


# Indices and families.


def is_range(tree: Tree) -> bool:
    return isinstance(tree, Binary) and tree.sign == ".."


def leaves(tree: Tree) -> Iterator[Tree]:
    """What signs and operators stand between."""
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, Binary):
            stack += (part.right, part.left)
        elif isinstance(part, Signed):
            stack.append(part.operand)
        else:
            yield part


def mentions(tree: Tree, env: Env) -> bool:
    """Whether a loop variable stands in an integer expression."""
    return any(isinstance(part, Name) and part.name in env for part in leaves(tree))


def indices(tree: Tree, env: Env, syntax: Syntax) -> list[range]:
    """The range of each index; a single number is a range of one."""
    ranges = []
    for part in tree.parts if isinstance(tree, Tuple) else (tree,):
        if isinstance(part, Binary) and is_range(part):
            low, high = (integer(side, env, syntax) for side in (part.left, part.right))
        else:
            low = high = integer(part, env, syntax)
        ranges.append(range(low, high + 1))
    return ranges


def family(name: str, ranges: list[range], column: Callable[[], int]) -> list[str]:
    """The names of the members with these indices."""
    size = 1
    for indices in ranges:
        if len(indices) and indices[0] < 0:
            raise Mistake(
                f"{name}[{indices[0]}] does not exist: the indices of names start at 0", column()
            )
        size *= len(indices)
    if size > LARGEST_FAMILY:
        raise Mistake(
            f"the family {name}[...] has {size} members, and at most {LARGEST_FAMILY} are allowed; "
            "use a smaller range",
            column(),
        )
    return [naming.indexed(name, index) for index in itertools.product(*ranges)]


def integer(tree: Tree, env: Env, syntax: Syntax) -> int:
    """The value of an integer expression in the loop variables."""
    value = exact(tree, syntax, env)
    if isinstance(value, int) and abs(value) <= LARGEST_INDEX:
        return value
    variables = f" and {listing(env)}" if env else ""
    reason = f"is not an integer; use integers{variables} here"
    if isinstance(value, int):
        reason = f"is too large; use at most {LARGEST_INDEX} here"
    raise Mistake(f"{visible(syntax.source_of(tree), 30)} {reason}", syntax.column_of(tree))


# Lists of numbers.


def array(tree: Tree, syntax: Syntax, env: Env) -> Any:
    """The exact numbers of a list, or of a list of lists."""
    if isinstance(tree, List):
        parts = [array(part, syntax, env) for part in tree.parts]
        try:
            return array_from_user(parts, "the list")
        except GraphcError as error:
            raise Mistake(str(error), syntax.column_of(tree)) from None
        except ValueError:  # NumPy has at most 64 axes, older ones 32
            message = "the list is nested too deep; use fewer axes"
            raise Mistake(message, syntax.column_of(tree)) from None
    number = exact(tree, syntax, env)
    if number is None:
        message = "a list holds numbers only; join values with concat or stack"
        raise Mistake(message, syntax.column_of(tree))
    return number


def floats(tree: Call, syntax: Syntax, env: Env) -> Any:
    """float(0.1), float([0.1, 0.2]): the nearest floats, where a literal would be exact."""
    if len(tree.arguments) != 1 or tree.settings:
        message = "float takes one number or one list of numbers"
        raise Mistake(message, syntax.column_of(tree))

    def nearest(part: Tree) -> Any:
        if isinstance(part, List):
            return [nearest(element) for element in part.parts]
        if isinstance(part, Signed) and part.sign == "-":
            return -nearest(part.operand) if not isinstance(part.operand, List) else None
        number = exact(part, syntax, env)
        if number is None:
            message = "float takes numbers only; floats stay floats in formulas"
            raise Mistake(message, syntax.column_of(part))
        return as_float(number)

    numbers = nearest(tree.arguments[0])
    if not isinstance(numbers, list):
        return numbers
    try:
        return array_from_user(numbers, "the list")
    except GraphcError as error:
        raise Mistake(str(error), syntax.column_of(tree)) from None
