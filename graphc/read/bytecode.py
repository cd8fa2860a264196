"""Bytecode of a traced function: in which order names are bound, which its locals do not tell."""

from __future__ import annotations

import dis
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any

from ..table.functions import Function

# Instructions, of all versions of Python, that move values between locals and the stack; the first
# so many names that they mention are stored, the others are loaded.
LOCALS = {
    "STORE_FAST": 1,
    "STORE_DEREF": 1,
    "STORE_FAST_STORE_FAST": 2,
    "STORE_FAST_LOAD_FAST": 1,
    "LOAD_FAST": 0,
    "LOAD_DEREF": 0,
    "LOAD_FAST_CHECK": 0,
    "LOAD_FAST_LOAD_FAST": 0,
    "LOAD_FAST_BORROW": 0,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": 0,
}
# Instructions that only move values on the stack, and how many they take (None: their argument).
MOVES = {
    "SWAP": None,
    "COPY": None,
    "ROT_TWO": 2,
    "ROT_THREE": 3,
    "ROT_FOUR": 4,
    "ROT_N": None,
    "DUP_TOP": 1,
    "POP_TOP": 1,
    "BUILD_TUPLE": None,
    "UNPACK_SEQUENCE": 1,
    "LOAD_CONST": 0,
    "NOP": 0,
    "EXTENDED_ARG": 0,
}
# Instructions whose value is that of the operator of a Value, if it is called by them.
OPERATORS = ("BINARY_", "INPLACE_", "UNARY_", "COMPARE_OP")
CALLS = ("CALL", "CALL_FUNCTION", "CALL_METHOD")
# Instructions that bind nothing and change nothing that is bound.
LOADS = {
    *(name for name, stored in LOCALS.items() if not stored),
    *("LOAD_CONST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SMALL_INT"),
    *("PUSH_NULL", "PRECALL", "NOP", "CACHE", "EXTENDED_ARG"),
}
JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
ENDS = ("RETURN", "RAISE", "RERAISE")
BRANCHES = {
    *(code for code in (*dis.hasjrel, *dis.hasjabs) if dis.opname[code] not in JUMPS),
    *(code for name, code in dis.opmap.items() if name.startswith(ENDS)),
}


class Bytecode:
    """What the locals of a function do not tell: in which order its names were bound."""

    def __init__(self, code: CodeType) -> None:
        self.locals = {n for n in (*code.co_varnames, *code.co_cellvars) if not n.startswith("_")}
        self.size = len(code.co_code)
        self.steps = list(dis.get_instructions(code))
        self.offsets = [step.offset for step in self.steps]
        self.stores: dict[str, list[int]] = {}
        self.borrowed: list[tuple[str, int, int]] = []  # (name, start, end) of comprehensions
        opened: list[tuple[str, int]] = []
        for step in self.steps:
            if LOCALS.get(step.opname):
                for place, name in enumerate(stored_and_loaded(step)[0]):
                    self.stores.setdefault(name, []).append(step.offset + place)  # offsets are even
            elif step.opname == "LOAD_FAST_AND_CLEAR":
                opened.append((step.argval, step.offset))
            elif step.opname == "FOR_ITER":
                self.borrowed += [(name, start, step.argval) for name, start in opened]
                opened.clear()
        self.shared = bound_inside(code)
        self._following: dict[int, tuple[str | None, int]] = {}

    def following(self, here: int, scope: Mapping[str, Any]) -> tuple[str | None, int]:
        """The name that the value of an operation is bound to, and where the next one may stand.

        -1 where something else may happen before, or the value may be another one than that of
        the operator or the function of the table which is called here.
        """
        known = self._following.get(here)
        if known is None:
            known = self._following[here] = self._found_following(here, scope)
        return known

    def _found_following(self, here: int, scope: Mapping[str, Any]) -> tuple[str | None, int]:
        place = bisect_left(self.offsets, here)
        if not self._is_operation(place, scope) or self.hidden(here):
            return None, -1
        target, on_stack = None, True  # the value is still where the operation put it
        for number in range(place + 1, len(self.steps)):
            step = self.steps[number]
            if on_stack and step.opname in ("STORE_FAST", "STORE_FAST_LOAD_FAST"):
                (name,) = stored_and_loaded(step)[0]
                target = name if name in self.locals else None
            elif step.opname not in LOADS:
                return target, -1 if self.hidden(step.offset) else step.offset
            on_stack = on_stack and step.opname == "EXTENDED_ARG"
        return None, -1

    def _is_operation(self, place: int, scope: Mapping[str, Any]) -> bool:
        """Whether a step is an operator, or calls a function of the table by its global name."""
        opname = self.steps[place].opname
        if opname.startswith(OPERATORS):
            return opname != "BINARY_SUBSCR"
        if opname not in CALLS:
            return False
        left = 1  # values of the call that are not yet found
        while left > 0 and place >= 0:
            step = self.steps[place]
            if step.opcode in BRANCHES or step.opname in JUMPS:
                return False
            left -= dis.stack_effect(step.opcode, step.arg, jump=False)
            place -= 1
        words = [s for s in self.steps[place + 1 : place + 4] if s.opname != "PUSH_NULL"]
        if not words or words[0].opname != "LOAD_GLOBAL":
            return False
        found = scope.get(words[0].argval)
        if words[1].opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found = getattr(found, words[1].argval, None) if isinstance(found, ModuleType) else None
        return isinstance(found, Function)

    def hidden(self, here: int) -> set[str]:
        """The names that a comprehension has borrowed at this place.

        Since Python 3.12 a comprehension runs in the frame of its function, and its variable is
        among the locals until it ends; before, it had a frame of its own.
        """
        return {name for name, start, end in self.borrowed if start <= here < end}

    def order(self, name: str, last: int, here: int) -> int:
        """A number that is smaller the sooner a name was bound after the last look."""
        offsets = self.stores.get(name, [])
        following = bisect_right(offsets, last)
        after = offsets[following] if following < len(offsets) else None
        if name in self.shared and (after is None or after > here):
            return -1  # an inner function bound it, before the result of its call was bound
        if after is None:
            # What stands before the last look ran after it only through a loop; or nothing was
            # bound and a list was appended to, mostly a value that had been bound.
            return (*offsets, 0)[0] + self.size
        return after

    def first_names(self, last: int, here: int) -> dict[str, str]:
        """The first name of the value that each name bound since the last look holds.

        In `b = x*y; a, b = b, a` the new value is found under a, but b came first. So moves are
        repeated here, with a token for each value, up to the first branch.
        """
        visible = self.locals - self.hidden(last)
        bound: set[str] = set()
        held: dict[str, Any] = {}  # name -> token
        first: dict[Any, str] = {}  # token -> name
        stack: list[Any] = []
        place, end = bisect_right(self.offsets, last), bisect_right(self.offsets, here) - 1
        for _ in self.steps:
            if place in (end, len(self.steps)) or self.steps[place].opcode in BRANCHES:
                break
            step = self.steps[place]
            place += 1
            if step.opname in JUMPS:
                place = bisect_left(self.offsets, step.argval)
            elif step.opname in LOCALS:
                stored, loaded = stored_and_loaded(step)
                for name in stored:
                    bound.add(name)
                    held[name] = stack.pop() if stack else object()
                    if name in visible:
                        first.setdefault(held[name], name)
                for name in loaded:
                    if name not in held:
                        held[name] = object()
                        if name in visible:
                            first[held[name]] = name
                    stack.append(held[name])
            elif step.opname in MOVES:
                move(step, stack)
            else:
                stack.clear()  # whatever it does to the stack, it binds no local
        return {
            name: first[held[name]]
            for name in bound
            if held[name] in first and name not in self.shared  # a call may have bound it since
        }


def stored_and_loaded(step: dis.Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The local names that an instruction binds, and those that it then reads."""
    if step.opname not in LOCALS:
        return (), ()
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return names[: LOCALS[step.opname]], names[LOCALS[step.opname] :]


def move(step: dis.Instruction, stack: list[Any]) -> None:
    """Carries out one of MOVES on a stack of tokens."""
    argument = step.arg or 0
    taken = MOVES[step.opname]
    count = argument if taken is None else taken
    missing = count - len(stack)  # values that lay there before
    stack[:0] = [object() for _ in range(missing)]
    top = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    match step.opname:
        case "SWAP" | "ROT_TWO":
            top = [top[-1], *top[1:-1], top[0]]
        case "ROT_THREE" | "ROT_FOUR" | "ROT_N":
            top = [top[-1], *top[:-1]]
        case "COPY" | "DUP_TOP":
            top = [*top, top[0]]
        case "POP_TOP":
            top = []
        case "BUILD_TUPLE":
            top = [tuple(top)]
        case "UNPACK_SEQUENCE":
            known = isinstance(top[0], tuple) and len(top[0]) == argument
            top = list(reversed(top[0])) if known else [object() for _ in range(argument)]
        case "LOAD_CONST":
            top = [object()]
    stack += top


def bound_inside(code: CodeType) -> set[str]:
    """The locals of a function that functions and comprehensions inside of it bind."""
    names: set[str] = set()
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    while inner:
        here = inner.pop()
        inner += [constant for constant in here.co_consts if isinstance(constant, CodeType)]
        for step in dis.get_instructions(here):
            if step.opname == "STORE_DEREF" and step.argval in here.co_freevars:
                names.add(step.argval)
    return names
