"""Formulas: the algebra of program values. Applying a function appends a row, in its simplest form.

Formulas with tensors are kept as a person would write them: a number, then scalars, then matrices.
Every rule keeps the value; what came through a gate where(c, g, 0) stays gated (gates.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ..shapes import LETTERS, Shape, Size, unused_letters
from ..structure.structure import Structure
from ..table.arrays import split_spec
from ..table.matrix_form import PAIRS, canonical
from .gates import Gates
from .rewrites import FORMAL, folded, simplified

MOST_COMPARED = 60  # rows that are compared before two formulas count as different
Term = tuple[Any, int | None]  # an exact factor and the row it multiplies, None for 1


class Formulas:
    """The algebra of program values: applying a function appends a row, trivial factors vanish."""

    def __init__(self, graph: Structure, shown: bool = False) -> None:
        self.graph = graph
        self.ops = graph.ops
        self.shown = shown  # to people, who write det(A) * inv(A) for the adjugate
        self.gates = Gates(self)
        self.diagonals: set[int] = set()

    def constant(self, value: Any) -> int:
        return self.graph.constant(value)

    def number(self, row: int) -> Any:
        """The exact number a row holds, or None; a declared node may yet be derived by."""
        graph = self.graph
        if graph.ops[row] != "const" or (row in graph.names and row not in graph.derivative_of):
            return None
        value = graph.attributes[row]["value"]
        return value if type(value) in EXACT_NUMBERS else None

    def apply(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> int:
        if op == "placed":
            return self.gates.placed(args[0], settings["op"], settings["settings"])
        if op == "alive":
            return self.gates.alive(*args)
        if op == "passing":
            return self.gates.passing(*args)
        if op in ("taken", "untaken"):
            condition, carried = args
            return self.gates.gated(condition, carried, op == "taken")
        if not self.gates.active:
            return self.simplest(op, args, settings)
        if op == "mul":
            left, right = args
            product = self.gates.product(left, right, lambda *pair: self.simplest("mul", pair, {}))
            if product is not None:
                return product
        row = self.simplest(op, args, settings)
        self.gates.after(op, args, settings, row)
        return row

    def simplest(self, op: str, args: Sequence[Any], settings: dict[str, Any]) -> int:
        """The row of an operation in its simplest form."""
        if op == "contract":
            return self.contract(list(args), settings)
        if self.graph.shapes and op in TIDY:
            return TIDY[op](self, *args, **settings)
        found = simplified(self, FORMAL, op, args, settings)
        return self.shared(op, tuple(args), settings) if found is None else found

    def shared(self, op: str, operands: tuple[int, ...], settings: dict[str, Any]) -> int:
        """The row of an operation as it is."""
        return self.graph.operation(op, operands, settings)

    def existing(self, op: str, operands: tuple[int, ...]) -> int | None:
        """Nothing: a graph of formulas is not searched."""
        return None

    def shape(self, row: int) -> Shape:
        return self.graph.shape(row)

    def gate(self, op: str, condition: int, carried: int) -> int:
        """where(c, g, 0), or where(c, 0, g)."""
        if self.number(carried) == 0:
            return carried
        shape = self.graph.shape(condition)
        diagonal = self.spread(carried)
        if diagonal is not None and self.is_diagonal(diagonal[2]):  # a gate on a diagonal
            inner, letters, out = diagonal
            first = len(out) - len(shape)
            tail, wide = out[first:], self.graph.shape(carried)[first:]
            narrow = all(here in (1, size) for here, size in zip(shape, wide, strict=True))
            if set(tail) == set(out) and len(set(tail)) == len(tail) and narrow:
                sizes = dict(zip(tail, wide, strict=True))
                gated = self.gate(op, condition, self.contraction([inner], [letters], tail, sizes))
                return self.contraction([gated], [tail], out, sizes)
        if self.graph.shape(carried) == shape:
            carried = self.unrepeated(carried, condition)
        branches = (carried, self.constant(0))
        chosen = branches if op == "taken" else branches[::-1]
        return self.graph.fresh("where", (condition, *chosen), {})  # its mask is its own

    # Sums and products in graphs with tensors: an exact factor times a row.

    def inside(self, row: int, op: str) -> tuple[int, ...]:
        """The operands of an unnamed row of this operation; nothing for other rows."""
        graph = self.graph
        named = row in graph.names and row not in self.diagonals
        return () if named or graph.ops[row] != op else graph.operands[row]

    def term(self, row: int) -> Term:
        """A row as an exact factor times what is left."""
        number = self.factor(row)
        if number is not None:
            return number, None
        if inner := self.inside(row, "neg"):
            factor, rest = self.term(inner[0])
            return -factor, rest
        if inner := self.inside(row, "mul"):
            number = self.factor(inner[0])
            if number is not None:
                factor, rest = self.term(inner[1])
                return number * factor, rest
        if inner := self.inside(row, "div"):
            number = self.factor(inner[0])
            if number not in (None, 1):
                return number, self.graph.operation("div", (self.constant(1), inner[1]), {})
        repeated = self.spread(row)
        if repeated is not None and not repeated[1]:
            factor, rest = self.term(repeated[0])
            if factor != 1 and rest is not None:
                return factor, self.repeated(rest, self.graph.shape(row), repeated[2])
        return 1, row

    def factor(self, row: int) -> Any:
        """The number that a row multiplies by; an adjoint's name is kept, but for 1."""
        number = self.number(row)
        return number if row not in self.graph.names or number in (-1, 0, 1) else None

    def scaled(self, factor: Any, row: int | None) -> int:
        """An exact factor times a row."""
        if row is None:
            return self.constant(factor)
        if factor == 1:
            return row
        if factor == 0:
            return self.repeated(self.constant(0), self.graph.shape(row))
        repeated = self.spread(row)
        if repeated is not None and not repeated[1] and not self.is_diagonal(repeated[2]):
            whole = self.apply("mul", (repeated[0], self.constant(factor)), {})
            return self.repeated(whole, self.graph.shape(row), repeated[2])  # 2 * full(s)
        if (inner := self.inside(row, "div")) and self.number(inner[0]) == 1:
            return self.graph.operation("div", (self.constant(factor), inner[1]), {})
        if factor == -1:
            if inner := self.inside(row, "sub"):
                return self.graph.operation("sub", inner[::-1], {})
            return self.graph.operation("neg", (row,), {})
        return self.graph.operation("mul", (self.constant(factor), row), {})

    def negated(self, row: int) -> int:
        factor, rest = self.term(row)
        return self.scaled(-factor, rest)

    def multiplied(self, carried: int, local: int) -> int:
        """A product: numbers first, then scalars, then tensors."""
        (a, left), (b, right) = self.term(carried), self.term(local)
        shape = self.graph.shape(carried) or self.graph.shape(local)
        if a * b == 0:
            return self.repeated(self.constant(0), shape)
        if left is None or right is None:
            return self.scaled(a * b, right if left is None else left)
        return self.scaled_term(a * b, self.product(left, right))

    def scaled_term(self, factor: Any, row: int) -> int:
        inner, rest = self.term(row)
        return self.scaled(factor * inner, rest)

    def product(self, left: int, right: int) -> int:
        graph = self.graph
        if graph.shape(left) and not graph.shape(right):
            left, right = right, left
        if not graph.shape(left):
            return self.scalar_times(left, right)
        for one, other, order in ((left, right, 1), (right, left, -1)):
            scalar, rest = self.scalar_factor(one)
            if scalar is not None:
                pair = (rest, other)[::order]
                return self.apply("mul", (scalar, self.apply("mul", pair, {})), {})
            if divisor := self.scalar_divisor(one):
                pair = (divisor[0], other)[::order]
                return self.divided(self.apply("mul", pair, {}), divisor[1])
            for op in ("add", "sub"):  # diag(a) - B times c: diag(a * c) - B * c
                parts = self.inside(one, op)
                if parts and any(self.is_spread_diagonal(part) for part in parts):
                    return self.apply(op, [self.apply("mul", (p, other), {}) for p in parts], {})
        left = self.unrepeated(left, right, thin=False)
        right = self.unrepeated(right, left, thin=False)
        if not graph.shape(left) or not graph.shape(right):
            return self.apply("mul", (left, right), {})
        for one, other in ((left, right), (right, left)):
            if self.fits(one, other):
                return self.as_contraction(left, right)
        for one, other in ((left, right), (right, left)):
            below = self.inside(other, "div")
            if below and self.number(below[0]) == 1:
                return self.divided(one, below[1])
        return graph.operation("mul", (left, right), {})

    def scalar_times(self, scalar: int, row: int) -> int:
        """A scalar times a scalar or a tensor."""
        graph = self.graph
        below = self.inside(scalar, "div")
        if below and self.number(below[0]) == 1:
            return self.divided(row, below[1])
        ratio = self.inside(row, "ratio_or_0")
        if ratio and graph.ops[ratio[1]] == "norm" and graph.operands[ratio[1]][0] == ratio[0]:
            rest = self.without(scalar, ratio[1])
            if rest is not None:  # norm(x) * (x / norm(x)) is x, also at 0
                return self.apply("mul", (rest, ratio[0]), {})
        if not graph.shape(row):
            below = self.inside(row, "div")
            if below and self.number(below[0]) == 1:
                return self.divided(scalar, below[1])
            return graph.operation("mul", (scalar, row), {})
        inner, rest = self.scalar_factor(row)
        if inner is not None:
            return self.apply("mul", (self.apply("mul", (scalar, inner), {}), rest), {})
        if divisor := self.scalar_divisor(row):
            return self.divided(self.apply("mul", (scalar, divisor[0]), {}), divisor[1])
        repeated = self.spread(row)
        if repeated is not None and not repeated[1] and not self.is_diagonal(repeated[2]):
            whole = self.apply("mul", (scalar, repeated[0]), {})
            return self.repeated(whole, graph.shape(row), repeated[2])
        return self.on_diagonal("mul", row, scalar) or graph.operation("mul", (scalar, row), {})

    def without(self, product: int, factor: int) -> int | None:
        """A product of scalars without one of its factors; None if it has it not."""
        if product == factor:
            return self.constant(1)
        inner = self.inside(product, "mul")
        for one, other in (inner, inner[::-1]) if inner else ():
            rest = self.without(one, factor)
            if rest is not None:
                return self.apply("mul", (rest, other), {})
        return None

    def scalar_factor(self, row: int) -> tuple[int | None, int]:
        """The scalar that an unnamed product of a tensor starts with, and the rest."""
        inner = self.inside(row, "mul")
        if inner and self.graph.shape(inner[1]) and not self.graph.shape(inner[0]):
            return inner[0], inner[1]
        return None, row

    def scalar_divisor(self, row: int) -> tuple[int, ...]:
        """The tensor and the scalar of an unnamed quotient."""
        inner = self.inside(row, "div")
        return (
            inner if inner and self.graph.shape(inner[0]) and not self.graph.shape(inner[1]) else ()
        )

    def divided(self, above: int, below: int) -> int:
        graph = self.graph
        below = self.unrepeated(below, above)
        scalar, rest = self.scalar_factor(above)
        if scalar == below and graph.ops[below] == "det":
            return rest  # det(A) * inv(A) / det(A): where det(A) is 0 there is no inverse either
        turned = self.spread(above) or (above, "ab", "ab")
        if (
            graph.ops[below] == "det"
            and self.inside(turned[0], "adjugate") == graph.operands[below]
        ):
            whole = self.graph.operation("inv", graph.operands[below], {})
            return self.contraction([whole], [turned[1]], turned[2], {})
        numbers = [self.number(above), self.number(below)]
        if None not in numbers and numbers[1]:
            return self.constant(Fraction(numbers[0]) / numbers[1])
        factor, core = self.term(above)
        if core is None or factor == 1:
            factor, core = 1, above
        whole = self.on_diagonal("div", core, below) or graph.operation("div", (core, below), {})
        return whole if factor == 1 else self.scaled(factor, whole)

    def on_diagonal(self, op: str, row: int, scalar: int) -> int | None:
        """A diagonal times or by a scalar, which may be infinite: beside the diagonal it is 0."""
        graph = self.graph
        if self.shown or graph.shape(scalar) or not self.is_spread_diagonal(row):
            return None
        found = self.spread(row)
        assert found is not None
        inner, letters, out = found
        if op == "mul" and self.number(inner) == 1:
            changed = scalar
        else:
            pair = (scalar, inner) if op == "mul" else (inner, scalar)
            changed = graph.operation(op, pair, {})
        sizes = dict(zip(out, graph.shape(row), strict=True))
        added = tuple((letter, sizes[letter]) for letter in sizes if letter not in letters)
        return graph.operation(
            "contract", (changed,), {"spec": f"{letters}->{out}", "sizes": added}
        )

    def ratio(self, above: int, below: int) -> int:
        return self.graph.operation("ratio_or_0", (above, self.unrepeated(below, above)), {})

    def added(self, old: int, new: int) -> int:
        (a, left), (b, right) = self.term(old), self.term(new)
        if left is None and right is None:
            return folded(self, a + b, (a, b))
        for factor, rest, other in ((a, left, new), (b, right, old)):
            if rest is None and factor == 0:
                return other
        if left is not None and right is not None and a + b and self.same(left, right):
            return self.scaled(a + b, left)
        if b < 0:
            return self.difference(old, self.scaled(-b, right))
        if a < 0:
            return self.difference(new, self.scaled(-a, left))
        return self.plain("add", old, new)

    def subtracted(self, left: int, right: int) -> int:
        factor, rest = self.term(right)
        if factor < 0 or (rest is None and factor == 0):
            return self.added(left, self.scaled(-factor, rest))
        if self.term(left) == (0, None):
            return self.scaled(-factor, rest)
        return self.difference(left, right)

    def difference(self, left: int, right: int) -> int:
        return self.plain("sub", left, right)

    def plain(self, op: str, left: int, right: int) -> int:
        """The operation on operands that NumPy would broadcast itself."""
        zero = self.spread(left)
        left = self.unrepeated(left, right)
        if zero is not None and self.number(left) == 0:
            return right if op == "add" else self.negated(right)
        right = self.unrepeated(right, left)
        if self.number(right) == 0:
            return left
        return self.graph.operation(op, (left, right), {})

    def power(self, base: int, exponent: Any) -> int:
        if exponent == 1:
            return base
        if exponent == 0:
            return self.repeated(self.constant(1), self.graph.shape(base))
        return self.graph.operation("power", (base,), {"exponent": exponent})

    def exponential(self, row: int) -> int:
        """exp(x - logsumexp(x)) is softmax(x)."""
        graph = self.graph
        inner = self.inside(row, "sub")
        below = self.spread(inner[1]) if inner else None
        total = below[0] if below is not None else inner[1] if inner else None
        if total is not None and graph.ops[total] == "logsumexp":
            axes = graph.settings(total)["axes"]
            if graph.operands[total] == inner[:1] and len(axes) == 1 and graph.shape(inner[0]):
                letters = LETTERS[: len(graph.shape(inner[0]))]
                kept = letters[: axes[0]] + letters[axes[0] :][1:]
                if below is None or canonical(f"{below[1]}->{below[2]}") == canonical(
                    f"{kept}->{letters}"
                ):
                    return graph.operation("softmax", inner[:1], {"axes": axes})
        return graph.operation("exp", (row,), {})

    def inverse(self, row: int) -> int:
        """inv(A.T) is inv(A).T, whose transpose is inv(A)."""
        found = self.spread(row)
        if found is None or set(found[1]) != set(found[2]) or self.is_diagonal(found[2]):
            return self.graph.operation("inv", (row,), {})
        inner = self.graph.operation("inv", found[:1], {})
        return self.contraction([inner], [found[1]], found[2], {})

    def adjugate(self, row: int) -> int:
        graph = self.graph
        known = (r for r, op in enumerate(graph.ops) if op == "det" and graph.operands[r] == (row,))
        if not self.shown or (determinant := next(known, None)) is None:
            return graph.operation("adjugate", (row,), {})
        return self.apply("mul", (determinant, self.inverse(row)), {})

    def reshaped(self, row: int, shape: Shape) -> int:
        if self.graph.shape(row) == shape:
            return row
        return self.selected("reshape", row, shape=shape)

    def selected(self, op: str, row: int, **settings: Any) -> int:
        """A selection of a multiple is the multiple of the selection."""
        factor, rest = self.term(row)
        if factor == 1 or rest is None:
            return self.graph.operation(op, (row,), settings)
        return self.scaled(factor, self.graph.operation(op, (rest,), settings))

    def same(self, one: int, other: int) -> bool:
        """Whether two rows are the same formula, as far as a short look can tell."""
        graph, stack = self.graph, [(one, other)]
        for _ in range(MOST_COMPARED):
            if not stack:
                return True
            a, b = stack.pop()
            if a == b:
                continue
            if a in graph.names or b in graph.names or graph.ops[a] != graph.ops[b]:
                return False
            one_here, other_here = self.compared(a), self.compared(b)
            settings = (*one_here.values(), *other_here.values())
            if any(hasattr(v, "shape") for v in settings) or one_here != other_here:
                return False
            if not graph.operands[a] and graph.ops[a] not in ("const", "size", "pi"):
                return False
            stack.extend(zip(graph.operands[a], graph.operands[b], strict=True))
        return False

    def compared(self, row: int) -> dict[str, Any]:
        """The settings of a row, whatever letters a contraction was written with."""
        settings = self.graph.settings(row)
        if self.graph.ops[row] == "contract":
            return {"spec": canonical(settings["spec"]), "shape": self.graph.shapes.get(row) or 0}
        return settings

    # Contractions in their simplest form.

    def spread(self, row: int) -> tuple[int, str, str] | None:
        """(operand, its letters, letters) of an unnamed row that only repeats, moves or spreads."""
        inner = self.inside(row, "contract")
        if len(inner) != 1:
            return None
        (letters,), out = split_spec(self.graph.settings(row)["spec"])
        only = len(set(letters)) == len(letters) and set(letters) <= set(out)
        return (inner[0], letters, out) if only else None

    def is_diagonal(self, letters: str) -> bool:
        return len(set(letters)) < len(letters)

    def copied(self, row: int) -> int:
        """Another row of the same value, which can bear another name."""
        graph = self.graph
        if row in self.diagonals:
            return graph.fresh(graph.ops[row], graph.operands[row], dict(graph.settings(row)))
        return self.gates.copied(row, graph.fresh("identity", (row,), {}))

    def note_diagonal(self, row: int) -> None:
        """Remembers a carried multiple of a diagonal, which no name may hide.

        The zeros beside a diagonal are none that an infinite factor turns to NaN.
        """
        inner: int | None = row
        while inner is not None and not self.is_spread_diagonal(inner):
            before, (_, inner) = inner, self.term(inner)
            if inner == before:
                inner = (self.scalar_divisor(before) or self.scalar_factor(before)[::-1])[0]
            if inner == before:
                return
        if inner is not None:
            self.diagonals.add(row)

    def is_spread_diagonal(self, row: int) -> bool:
        found = self.spread(row)
        return found is not None and self.is_diagonal(found[2])

    def fits(self, one: int, other: int) -> bool:
        """Whether a row is spread, and no axis of size 1 is widened but those it only adds."""
        found = self.spread(one)
        if found is None:
            return False
        pairs = zip(
            found[2][::-1],
            self.graph.shape(one)[::-1],
            self.graph.shape(other)[::-1],
            strict=False,
        )
        return all(a == b or (a == 1 and letter not in found[1]) for letter, a, b in pairs)

    def as_contraction(self, left: int, right: int) -> int:
        """An element-wise product as a contraction, in which spread operands dissolve."""
        shapes = self.graph.shape(left), self.graph.shape(right)
        longer = max(shapes, key=len)
        letters = LETTERS[: len(longer)]
        operands = [letters[len(longer) - len(shape) :] for shape in shapes]
        return self.contraction([left, right], operands, letters, {})

    def repeated(self, scalar: int, shape: Shape, out: str = "") -> int:
        """A scalar repeated over a shape."""
        if not shape:
            return scalar
        out = out or LETTERS[: len(shape)]
        return self.contraction([scalar], [""], out, dict(zip(out, shape, strict=True)))

    def unrepeated(self, row: int, other: int, thin: bool = True) -> int:
        """A row without repetition along axes that the other operand has anyway."""
        found, shape = self.spread(row), self.graph.shape(row)
        if self.graph.shape(other) != shape:
            return row
        if divisor := self.scalar_divisor(row):
            inner = self.unrepeated(divisor[0], other, thin)
            return row if inner == divisor[0] else self.divided(inner, divisor[1])
        factor, rest = self.term(row)
        if rest is not None and rest != row:
            inner = self.unrepeated(rest, other, thin)
            return row if inner == rest else self.scaled(factor, inner)
        if found is None or self.is_diagonal(found[2]):
            return row
        inner, letters, out = found
        if out.endswith(letters):
            return inner
        if not thin or "".join(x for x in out if x in letters) != letters:
            return row
        kept = out[out.index(letters[0]) :]  # NumPy adds leading axes itself
        return self.contraction([inner], [letters], kept, {x: 1 for x in kept if x not in letters})

    def contract(self, args: list[int], settings: dict[str, Any]) -> int:
        """A contraction without identity matrices, scalar factors and copies."""
        operands, out = split_spec(settings["spec"])
        return self.contraction(args, operands, out, dict(settings["sizes"]))

    def contraction(
        self, args: list[int], operands: list[str], out: str, sizes: dict[str, Size]
    ) -> int:
        factor, scalars, args, operands, out, sizes = self.gathered(args, operands, out, sizes)
        if args:
            core: int | None = self.contracted(args, operands, out, sizes)
        else:
            core = None
        for scalar in scalars:
            core = scalar if core is None else self.apply("mul", (scalar, core), {})
        if not args:
            inner = self.scaled_term(factor, core) if core is not None else self.constant(factor)
            if not out:
                return inner
            return self.filled(inner, canonical(f"->{out}"), [sizes[letter] for letter in out])
        assert core is not None
        return self.scaled_term(factor, core) if factor != 1 else core

    def filled(self, scalar: int, spec: str, shape: Sequence[Size]) -> int:
        """A scalar repeated, or times an identity matrix."""
        out = spec[2:]
        eye = self.is_diagonal(out)
        sizes = tuple(dict(zip(out, shape, strict=True)).items())
        row = self.constant(1) if eye else scalar
        whole = self.graph.operation("contract", (row,), {"spec": spec, "sizes": sizes})
        return self.apply("mul", (scalar, whole), {}) if eye else whole

    def gathered(
        self, args: list[int], operands: list[str], out: str, sizes: dict[str, Size]
    ) -> Any:
        """The operands with what repeats or spreads dissolved, and the factors they had."""
        sizes = dict(sizes)
        for arg, letters in zip(args, operands, strict=True):
            for letter, size in zip(letters, self.graph.shape(arg), strict=True):
                sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
        factor: Any = 1
        scalars: list[int] = []
        divisors: list[int] = []
        left = list(zip(args, operands, strict=True))
        right: list[tuple[int, str]] = []
        while left:
            arg, letters = left.pop(0)
            number, rest = self.term(arg)
            factor *= number
            if rest is None:
                continue
            if not letters:
                scalars.append(rest)
                continue
            scalar, rest = self.scalar_factor(rest)
            if scalar is not None:
                left[:0] = [(scalar, ""), (rest, letters)]
                continue
            if divisor := self.scalar_divisor(rest):
                divisors.append(divisor[1])
                left.insert(0, (divisor[0], letters))
                continue
            found = self.spread(rest)
            dissolved = None if found is None else self.dissolved(found, letters, out, left + right)
            if dissolved is None:
                right.append((rest, letters))
                continue
            renamed, inner, missing = dissolved
            known = [sizes[letter] for letter in missing]
            if not all(isinstance(size, int) for size in known):
                right.append((rest, letters))  # a named size cannot become a factor
                continue
            for size in known:
                factor *= size  # a sum over what was only repeated
            assert found is not None
            out = out.translate(renamed)
            sizes = {x.translate(renamed): size for x, size in sizes.items()}
            left = [(row, word.translate(renamed)) for row, word in left]
            right = [(row, word.translate(renamed)) for row, word in right]
            left.insert(0, (found[0], inner))
        rows, words = [row for row, _ in right], [word for _, word in right]
        for row in divisors:
            scalars.append(self.graph.operation("div", (self.constant(1), row), {}))
        return factor, scalars, rows, words, out, sizes

    def dissolved(
        self, found: tuple[int, str, str], letters: str, out: str, others: list[tuple[int, str]]
    ) -> tuple[dict[int, str], str, list[str]] | None:
        """(letters that become one, letters of the inner operand, letters nobody has any more)."""
        _, below, middle = found
        place: dict[str, str] = {}  # letter of the inner contraction -> letter here
        one: dict[str, str] = {}

        def root(letter: str) -> str:
            while letter in one:
                letter = one[letter]
            return letter

        for inner, outer in zip(middle, letters, strict=True):
            first, this = root(place.setdefault(inner, outer)), root(outer)
            if first != this:
                one[this] = first
        renamed = {ord(letter): root(letter) for letter in one}
        word = "".join(root(place[letter]) for letter in below)
        rest = "".join(other for _, other in others) + out
        used = set(rest.translate(renamed)) | set(word)
        missing = [x for x in dict.fromkeys(root(letter) for letter in letters) if x not in used]
        return renamed, word, missing

    def contracted(
        self, args: list[int], operands: list[str], out: str, sizes: dict[str, Size]
    ) -> int:
        """A contraction of tensors, as an element-wise product or in its usual order."""
        graph = self.graph
        if len(args) == 1 and (simple := self.unary(args[0], operands[0], out, sizes)) is not None:
            return simple
        if len(args) > 1 and self.is_diagonal(out):  # diag(x * y)
            core = "".join(x for x in dict.fromkeys(out) if x in "".join(operands))
            inner = self.contraction(args, operands, core, sizes)
            return self.contraction([inner], [core], out, sizes)
        if len(args) == 2:
            a, b = operands
            if out in (a, b) and out.endswith(a) and out.endswith(b):
                return self.apply("mul", args, {})
            spec = canonical(f"{a},{b}->{out}")
            form = PAIRS.get(spec)
            if spec == "a,ab->b" or (form is not None and form.order == (1, 0)):
                args, operands = args[::-1], operands[::-1]  # W.T @ g, where people write x @ A
        elif len(args) == 1 and not out and len(operands[0]) == 1:
            product = self.inside(args[0], "mul")
            if product and graph.shape(product[0]) == graph.shape(product[1]):
                args, operands = list(product), [operands[0]] * 2  # a sum of products is x @ y
        present = set("".join(operands))
        spec = ",".join(operands) + "->" + out
        letter = dict(zip(spec, canonical(spec), strict=True))
        kept = tuple((letter[x], sizes[x]) for x in dict.fromkeys(out) if x not in present)
        return graph.operation("contract", tuple(args), {"spec": canonical(spec), "sizes": kept})

    def unary(self, row: int, letters: str, out: str, sizes: dict[str, Size]) -> int | None:
        """A sum, a transpose or a repetition: the row itself, or one contraction of what it was."""
        if letters == out and not self.is_diagonal(out):
            return row
        if self.is_diagonal(out):
            if not self.is_diagonal(letters):
                return None
            core = "".join(x for x in dict.fromkeys(out) if x in letters)  # diag(diag(A))
            inner = self.contraction([row], [letters], core, sizes)
            return self.contraction([inner], [core], out, sizes)
        gone = [letter for letter in letters if letter not in out]
        fresh = [letter for letter in out if letter not in letters]
        if gone and fresh and not self.is_diagonal(letters):  # a sum that is repeated
            total = "".join(letter for letter in letters if letter in out)
            summed = self.contraction([row], [letters], total, sizes)
            return self.contraction([summed], [total], out, sizes)
        source = self.inside(row, "contract")
        plain = not self.is_diagonal(letters)
        several = len(source) > 1
        if not source or (gone and fresh) or (several and plain and (gone or fresh)):
            return None
        below, middle = split_spec(self.graph.settings(row)["spec"])
        if self.is_diagonal(middle) or any(map(self.is_diagonal, below)):
            return None
        place = dict(zip(middle, letters, strict=True))
        present = "".join(below)
        if any(x not in present and place[x] not in out for x in middle):
            return None  # a repeated axis is summed: that multiplies by its size
        hidden = [x for x in dict.fromkeys(present) if x not in place]
        if hidden and (fresh or not plain):
            return None  # diag(A @ B) is easier to read than a sum over an element-wise product
        place.update(zip(hidden, unused_letters([letters, out], len(hidden)), strict=True))
        table = str.maketrans(place)
        words = [word.translate(table) for word in below]
        return self.contraction(list(source), words, out, sizes)


EXACT_NUMBERS = (int, Fraction)
TIDY: dict[str, Callable[..., int]] = {  # in graphs with tensors
    "add": Formulas.added,
    "sub": Formulas.subtracted,
    "mul": Formulas.multiplied,
    "div": Formulas.divided,
    "neg": Formulas.negated,
    "power": Formulas.power,
    "exp": Formulas.exponential,
    "ratio_or_0": Formulas.ratio,
    "inv": Formulas.inverse,
    "adjugate": Formulas.adjugate,
    "reshape": Formulas.reshaped,
    "gather": lambda rows, row, **settings: rows.selected("gather", row, **settings),
    "scatter": lambda rows, row, **settings: rows.selected("scatter", row, **settings),
}
