"""Bad input of every kind: one GraphcError, one sentence, its place, what to do, and no harm."""

from __future__ import annotations

import builtins
import contextlib
import math
import os
import random
import re
import subprocess
import sys
import tracemalloc

import mpmath
import networkx
import numpy as np
import pytest
import sympy
from effort import calls
from hypothesis import example, given, settings
from hypothesis import strategies as st

import graphc as gc
from graphc.cli import main

MOST_CALLS = 10_000_000  # of functions, for anything that is refused
LARGEST = 64 << 20  # bytes that a refusal may use
LONGEST = 600  # characters of a sentence


@pytest.fixture(autouse=True)
def harmless(monkeypatch, tmp_path):
    """Nothing that bad input says is carried out: no call of Python, no file."""

    def refuse(original):
        def refusing(*args, **kwargs):
            # libraries execute text of their own, but none of ours
            assert "canary" not in str(args[0]), f"{original.__name__}{args!r} was called"
            return original(*args, **kwargs)

        return refusing

    def imported(*args, **kwargs):
        assert len(args) > 1, f"__import__{args!r} was called"  # the statement passes more
        return original(*args, **kwargs)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", imported)
    for module, name in ((builtins, "eval"), (builtins, "exec"), (os, "system"), (os, "popen")):
        monkeypatch.setattr(module, name, refuse(getattr(module, name)))
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.glob("canary*"))


def refused(ask) -> str:
    """The message of the one GraphcError that asking raises, fast; it must be one sentence."""
    found = []

    def asking():
        with pytest.raises(gc.GraphcError) as caught:
            ask()
        found.append(caught.value)

    assert calls(asking) < MOST_CALLS
    caught = found[0]
    message = str(caught)
    sentence, *shown = message.split("\n")
    assert 10 < len(sentence) < LONGEST
    assert sentence.isprintable() and not sentence.endswith((".", " ", ":", ";"))
    for clumsy in ("Traceback", "Error", " object at 0x", "  ", "<class", "invalid syntax"):
        assert clumsy not in sentence
    assert not shown or (len(shown) == 2 and shown[1].strip() == "^")
    assert not str(caught.__cause__ or "")
    assert caught.__suppress_context__ or caught.__context__ is None
    return message


# Text: what follows a first line `input x y`, where the mistake is (line:column node), and what is
# said about it.

CANARY = "open('canary', 'w')"
LINES = [
    # names
    ("z = x + w", "2:9 z", "'w' is not declared (declared: x, y); add 'param w' or 'input w'"),
    (
        "weight = x\nz = wieght",
        "3:5 z",
        "'wieght' is not declared (declared: x, y, weight); did you mean 'weight'?",
    ),
    ("x = y", "2:1 x", "'x' is declared already on line 1; choose another name for the second one"),
    (
        "input a b a",
        "2:11",
        "'a' is declared already on line 2; choose another name for the second one",
    ),
    (
        "z = x\nz = y",
        "3:1 z",
        "'z' is declared already on line 2; choose another name for the second one",
    ),
    (
        "h[1] = x\nh1 = y",
        "3:1 h1",
        "'h1' is declared already on line 2; choose another name for the second one",
    ),
    ("z = q + x\nq = y", "2:5 z", "'q' is used before line 3 declares it; move that line up"),
    (
        "z = h[2]\nfor t in 1..3:\n  h[t] = x",
        "2:5 z",
        "'h2' is used before line 4 declares it; move that line up",
    ),
    ("z = x + z", "2:9 z", "'z' is used in its own formula; use only nodes declared above"),
    (
        "for t in 1..3:\n  h[t] = h[t-1]",
        "3:10 h1",
        "'h0' is not declared (declared: x, y); add 'param h0' or 'input h0'",
    ),
    (
        "z = sin + x",
        "2:5 z",
        "'sin' is not declared (declared: x, y); to call the function write sin(...)",
    ),
    ("output w", "2:8", "'w' is not declared (declared: x, y); name a node that is declared above"),
    ("lambda = x", "2:1 lambda", "the name 'lambda' is reserved; use 'lambda_' instead"),
    ("input = x", "2:1 input", "the name 'input' is reserved; use 'input_' instead"),
    ("param class", "2:7", "the name 'class' is reserved; use 'class_' instead"),
    ("input for", "2:7", "the name 'for' is reserved; use 'for_' instead"),
    ("pi = 3", "2:1 pi", "the name 'pi' is reserved; use 'pi_' instead"),
    ("for lambda in 1..2:\n  a = x", "2:5", "the name 'lambda' is reserved; use 'lambda_' instead"),
    ("input x²", "2:7", "'x²' has a raised character; a power is written **"),
    (
        "input " + "n" * 300,
        "2:7",
        "the name 'nnnnnnnnnnnnnnnnnnnn...' has 300 characters, and at most 200 are "
        "allowed; choose a shorter one",
    ),
    # functions; the wording of some belongs to the table of functions
    ("z = add(x, y)", "2:5 z", "there is no function 'add'; write the operator +"),
    ("z = pi(x)", "2:5 z", "there is no function 'pi'; write pi without brackets"),
    ("z = relu(x, kink=y)", "2:18 z", "kink= takes a number or one of left, right, share, error"),
    ("z = relu(x, kink=1, kink=2)", "2:21 z", "the setting 'kink' is given twice; keep one"),
    # conditions
    ("z = x > 0", "2:5 z", "'x > 0' is a condition, not a number; write where(x > 0, 1, 0)"),
    (
        "z = where(0 < x < 1, x, y)",
        "2:11 z",
        "a condition is one comparison, such as x > 0; nest where(cond, a, b)",
    ),
    ("z = x if y else 2", "2:7 z", "'if' is not allowed here: write where(cond, a, b)"),
    (
        "z = where(x > 0 and y > 0, x, y)",
        "2:17 z",
        "'and' is not allowed here: nest where(cond, a, b) instead",
    ),
    (
        "z = where(not x > 0, x, y)",
        "2:11 z",
        "'not' is not allowed here: nest where(cond, a, b) instead",
    ),
    # syntax
    ("z = x +", "2:8 z", "a number or a name is missing after '+'; add it"),
    ("z = (x + y", "2:5 z", "'(' is never closed; close it"),
    ("z = x + y)", "2:10 z", "')' closes nothing; remove one or add the other"),
    ("z = (x]", "2:7 z", "']' does not match '('; remove one or add the other"),
    ("z = x + * y", "2:9 z", "a number or a name is missing before '*'; add it"),
    ("z = 2x", "2:6 z", "an operator is missing between '2' and 'x'; a product is written with *"),
    ("z = x y", "2:7 z", "an operator is missing between 'x' and 'y'; a product is written with *"),
    (
        "z = (x)(y)",
        "2:8 z",
        "an operator is missing between ')' and '('; a product is written with *",
    ),
    ("z =", "2:4 z", "a number or a name is missing here; add it"),
    (
        "z = x = y",
        "2:7 z",
        "'=' is not allowed here: a comparison is written ==, and a line has one assignment",
    ),
    (
        "z = x, y",
        "2:6 z",
        "',' is not allowed here: a comma separates arguments; a formula has one value",
    ),
    ("z = x ^ 2", "2:7 z", "'^' is not allowed here: a power is written **"),
    ("z = x²", "2:5 z", "'x²' has a raised character; a power is written **"),
    ("z = x − y", "2:7 z", "'−' is not allowed here: type the minus sign of the keyboard, -"),
    ("z = x·y", "2:6 z", "'·' is not allowed here: a product is written with *"),
    (
        "z = x // 2",
        "2:5 z",
        "'x // 2' is not allowed here: // works on integers, in indices and exponents",
    ),
    (
        "z = 1..3",
        "2:6 z",
        "'..' is not allowed here: a range stands in an index, as in sum(h[1..9])",
    ),
    (
        "z = relu(kink=1, x)",
        "2:5 z",
        "cannot read the formula: positional argument follows keyword argument",
    ),
    (
        "x + y",
        "2:1",
        "cannot read 'x + y'; a line is 'input', 'param' or 'output' with names, 'name "
        "= formula', 'for t in 1..5:' or 'd y / d x = formula'",
    ),
    (
        "input a + b",
        "2:9",
        "cannot read '+ b' as a name; write 'input x y', names separated by spaces",
    ),
    ("output", "2:7", "a name is missing after 'output'; write 'output x'"),
    ("output x = 3", "2:10", "an output has no value of its own; write 'x = ...' on a line before"),
    ("input a b = 3", "2:11", "a value belongs to one name; write 'input b = ...' on its own line"),
    # Python that is not ours
    (
        "z = ().__class__",
        "2:7 z",
        "'.' is not allowed here: the only attribute is .T, the transpose",
    ),
    ("z = ()", "2:5 z", "'()' is not allowed here: it has no meaning as a number"),
    ("z = x.real", "2:6 z", "'.' is not allowed here: the only attribute is .T, the transpose"),
    (
        "z = f'{x}'",
        "2:6 z",
        "\"'{x}'\" is not allowed here: text is not a number; remove the quotes",
    ),
    (
        "z = lambda: x",
        "2:5 z",
        "'lambda' is not allowed here: functions are declared in Python with gc.declare",
    ),
    ("z = (q := x)", "2:8 z", "':' is not allowed here: a slice stands in an index, as in x[1:3]"),
    (
        "z = [x for x in y]",
        "2:8 z",
        "'for' is not allowed here: loops are lines of their own, 'for t in 1..5:'",
    ),
    (
        "z = sum(x for x in y)",
        "2:11 z",
        "'for' is not allowed here: loops are lines of their own, 'for t in 1..5:'",
    ),
    ("z = x); import os", "2:6 z", "')' closes nothing; remove one or add the other"),
    ("z = x; import os", "2:6 z", "';' is not allowed here: write one statement per line"),
    (
        "input a); import os",
        "2:8",
        "cannot read '); import os' as a name; write 'input x y', names separated by spaces",
    ),
    (
        "import os",
        "2:1",
        "cannot read 'import os'; a line is 'input', 'param' or 'output' with names, "
        "'name = formula', 'for t in 1..5:' or 'd y / d x = formula'",
    ),
    ("z = max(*x)", "2:9 z", "a number or a name is missing before '*'; add it"),
    (
        "z = await x",
        "2:5 z",
        "'await' is not allowed here: a formula is made of numbers, names, + - * / ** "
        "and functions",
    ),
    # characters that do not show
    ("z = x\x00", "2:6 z", "the invisible character U+0000 is not allowed; delete it"),
    (
        "z = x\u202e + y",
        "2:6 z",
        "the invisible character U+202E RIGHT-TO-LEFT OVERRIDE is not allowed; delete it",
    ),
    (
        "z = x # \u200f",
        "2:9 z",
        "the invisible character U+200F RIGHT-TO-LEFT MARK is not allowed; delete it",
    ),
    (
        "input a\u200bb",
        "2:8",
        "the invisible character U+200B ZERO WIDTH SPACE is not allowed; delete it",
    ),
    (
        "z = \ufeffx",
        "2:5 z",
        "the invisible character U+FEFF ZERO WIDTH NO-BREAK SPACE is not allowed; delete it",
    ),
    (
        "z = x\u2028q = y",
        "2:6 z",
        "the invisible character U+2028 LINE SEPARATOR is not allowed; delete it",
    ),
    ("z = x\x0bq = y", "2:6 z", "the invisible character U+000B is not allowed; delete it"),
    ("z = \ud800", "2:5 z", "the invisible character U+D800 is not allowed; delete it"),
    # numbers
    (
        "z = 9**9**9",
        "2:5 z",
        "'9**9**9' is too large: it has over 4000 digits; use a smaller number",
    ),
    (
        "z = x**9**9**9**9",
        "2:11 z",
        "'9**9**9' is too large: it has over 4000 digits; use a smaller number",
    ),
    ("z = x**9**9", "2:8 z", "the exponent '9**9' is too large; use one of at most 100000"),
    (
        "z = 10**10**10*x",
        "2:5 z",
        "'10**10**10' is too large: it has over 4000 digits; use a smaller number",
    ),
    ("z = 1e999999", "2:5 z", "'1e999999' is too large: over 4000 digits; use a shorter number"),
    ("z = x/0", "2:5 z", "'x/0' divides by 0; change the divisor"),
    ("z = 0**-1", "2:5 z", "'0**-1' divides by 0; change the divisor"),
    (
        "input a = log(0)",
        "2:11",
        "'log(0)' is not a finite real number; give one such as 1/3 or pi/4",
    ),
    ("input a = nan", "2:11", "'nan' is not declared as a number; give one such as 1/3 or pi/4"),
    ("input a = x", "2:11", "'x' is not declared as a number; give one such as 1/3 or pi/4"),
    (
        "input a = 1 > 0",
        "2:11",
        "'1 > 0' is not a finite real number; give one such as 1/3 or pi/4",
    ),
    ("input a = True", "2:11", "'True' is not allowed here: use a number"),
    # tensors
    ("input a[3]\nz = a[::0]", "3:7 z", "a slice cannot step by 0; leave the step out"),
    ("input a[3]\nz = a[x]", "3:7 z", "'x' is not an integer; use integers here"),
    ("input a[...]", "2:9", "'...' is not allowed here: ... stands in an index only"),
    ("input a[1:2]", "2:10", "':' is not allowed here: a slice stands in an index, as in x[1:3]"),
    ("input a[1.5]", "2:9", "'1.5' is not an integer; use integers here"),
    ("z = [1, x]", "2:9 z", "a list holds numbers only; join values with concat or stack"),
    ("z = [1, [2]]", "2:5 z", "the list is a ragged list; give rows of one length"),
    ("z = (1, 2)", "2:5 z", "'(1, 2)' is not allowed here: it has no meaning as a number"),
    (
        "z = 1.T",
        "2:7 z",
        "an operator is missing between '1.' and 'T'; a product is written with *",
    ),
    (
        "z = sum",
        "2:5 z",
        "'sum' is not declared (declared: x, y); to call the function write sum(...)",
    ),
    # families and loops
    (
        "input h[1..3]\nz = h[1..3] + 1",
        "3:5 z",
        "'h[1..3]' stands for 3 nodes; use it within sum, prod, mean, max or min",
    ),
    ("h[1..3] = x", "2:1 h[...]", "h[...] stands for 3 nodes; name one of them"),
    (
        "input h[1..999999999]",
        "2:7",
        "the family h[...] has 999999999 members, and at most 100000 are allowed; use a"
        " smaller range",
    ),
    (
        "z = sum(h[1..9999,1..9999])",
        "2:9 z",
        "the family h[...] has 99980001 members, and at most 100000 are allowed; use a "
        "smaller range",
    ),
    (
        "for t in 1..10**12:\n  h[t] = x",
        "2:13",
        "'10**12' is too large; use at most 1000000000 here",
    ),
    (
        "for t in 1..10**9:\n  h[t] = x",
        "2",
        "the loops unroll to over 1000000 statements; use fewer",
    ),
    ("for t in 1..2.5:\n  h[t] = x", "2:13", "'2.5' is not an integer; use integers here"),
    (
        "for t in 1..2:\n  h[t] = x[t/3]",
        "3:12 h1",
        "'t/3' is not an integer; use integers and t here",
    ),
    (
        "for t in 1..2:\n  h[t] = x[t-2]",
        "3:10 h1",
        "x[-1] does not exist: the indices of names start at 0",
    ),
    (
        "for t in 0..2:\n  h[1//t] = x",
        "3:5 h[...]",
        "'1//t' divides by 0; change the divisor",
    ),
    (
        "for t in 1..2:\n  for t in 1..2:\n    h[t] = x",
        "3:7",
        "'t' is the variable of an outer loop already; choose another",
    ),
    (
        "for x in 1..2:\n  h[x] = y",
        "2:5",
        "the loop variable 'x' is also the name of a node; rename one of them",
    ),
    ("for t in 1..2:\n  t = x", "3:3 t", "'t' is the loop variable; choose another name"),
    (
        "for t in range(5):\n  h[t] = x",
        "2:1",
        "a loop is written 'for t in 1..5:', with its body indented on the lines below",
    ),
    ("for t in 1..5:", "2", "the 'for' has no body; indent what belongs to it"),
    (
        "for t in 1..5:\nh[t] = x",
        "3 h[t]",
        "the body of the 'for' on line 2 must be indented; indent it",
    ),
    (
        "  z = x",
        "2 z",
        "the indentation fits no line above; indent the body of a 'for', all lines of it alike",
    ),
    (
        "for t in 1..2:\n    h[t] = x\n  k[t] = x",
        "4 k[t]",
        "the indentation fits no line above; indent the body of a 'for', all lines of it alike",
    ),
    # own derivatives
    (
        "z = x\nd z / d y = 3",
        "3",
        "d z / d y: the formula of 'z' does not mention 'y'; it mentions x",
    ),
    (
        "z = x\nd z / d q = 3",
        "3:9",
        "'q' is not declared (declared: x, y, z); name a node that is declared above",
    ),
    ("z = x\nd z / d x = 3\nd z / d x = 4", "4", "d z / d x is declared twice; keep one"),
    (
        "z = x\nd z / d x = x > 0",
        "3",
        "d z / d x: a comparison is a condition, not a number; use where(...)",
    ),
    (
        "d x / d y = 1",
        "2",
        "d x / d y: the formula of 'x' does not mention 'y'; it mentions no node",
    ),
]


def at_place(place: str, sentence: str) -> str:
    """'2:9 z' in words, before the sentence."""
    where, _, node = place.partition(" ")
    line, _, column = where.partition(":")
    parts = [f"line {line}"] + [f"column {column}"] * bool(column) + [f"node {node!r}"] * bool(node)
    return f"{', '.join(parts)}: {sentence}"


@pytest.mark.parametrize(
    ("text", "place", "sentence"), LINES, ids=[ascii(text)[:40] for text, _, _ in LINES]
)
def test_text_is_refused_in_one_sentence(text, place, sentence):
    message = refused(lambda: gc.parse("input x y\n" + text))
    assert message.split("\n")[0] == at_place(place, sentence)


@pytest.mark.parametrize(
    ("line", "fragments"),
    [
        ("z = sin(x, y)", ["line 2, column 5, node 'z'", "sin(x)", "takes 1 argument", "got 2"]),
        ("z = sin()", ["takes 1 argument", "got 0"]),
        ("z = atan2(x)", ["atan2(y, x)", "takes 2 arguments", "got 1"]),
        ("z = maximum(x)", ["maximum", "two or more"]),
        ("z = sinn(x)", ["line 2, column 5", "no function 'sinn'", "did you mean 'sin'?"]),
        ("z = print(x)", ["no function 'print'"]),
        ("z = exec(x)", ["no function 'exec'"]),
        (f"z = {CANARY}", ["line 2, column 5, node 'z'", "no function 'open'"]),
        ("z = __import__('os')", ["no function '__import__'"]),
        ("z = sum()", ["sum of nothing"]),
        ("z = sum(x, axis=0)", ["line 2, column 5, node 'z'", "sum", "axis 0"]),
        ("z = softmax(x)", ["softmax", "axis"]),
        ("z = x @ y", ["line 2, column 5, node 'z'", "@ needs vectors or matrices", "use *"]),
        ("input a[3] = [1, 2]", ["line 2", "'a'", "(2,)"]),
        ("z = where(x, 1, 2)", ["line 2, column 5, node 'z'", "needs one comparison", "x > 0"]),
        ("z = (x > 0)*y", ["line 2, column 5, node 'z'", "not a number", "where(cond, a, b)"]),
        ("z = where(x > 0, 1)", ["where(cond, a, b)", "got 2", "'b'"]),
        ("z = sin(x, foo=1)", ["sin", "no setting 'foo'"]),
        ("z = relu(x, knik=1)", ["no setting 'knik'", "kink"]),
        ("z = relu(x, kink='up')", ["kink='up'", "left, right, share, error"]),
    ],
    ids=str,
)
def test_misused_functions_are_refused(line, fragments):
    message = refused(lambda: gc.parse("input x y\n" + line))
    for fragment in fragments:
        assert fragment in message


# The caret.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("z = (1 + 2", ["z = (1 + 2", "    ^"]),
        ("  z = 1 + * 2", ["  z = 1 + * 2", "          ^"]),
        ("z\t=\t1 +\t* 2", ["z\t=\t1 +\t* 2", " \t \t   \t^"]),
        ("αβγ = 1 + $", ["αβγ = 1 + $", "          ^"]),
        ("変数 = 1 + $", ["変数 = 1 + $", "           ^"]),
        ("e\u0301 = 1 + $", ["e\u0301 = 1 + $", "        ^"]),
        ("z = 1 + # 2", ["z = 1 +", "       ^"]),
        ("z = " + "1 + " * 50 + "$", ["..." + "1 + " * 15 + "$", " " * 63 + "^"]),
        ("nonsense", ["nonsense", "^"]),
        ("input 1x", ["input 1x", "      ^"]),
    ],
    ids=ascii,
)
def test_the_caret_stands_under_the_mistake(text, shown):
    message = refused(lambda: gc.parse(text))
    assert message.split("\n")[1:] == ["    " + line for line in shown]


def test_the_caret_of_a_single_formula():
    g = gc.Graph()
    g.input("x")
    assert refused(lambda: g.node("y", "x + (2*x")) == (
        "node 'y', column 5: '(' is never closed; close it\n    x + (2*x\n        ^"
    )


# Texts that are large, deep or long. (At most 10 000 characters per line get further than that.)

LARGE = {
    "a line of 1 MB": "input x\nz = " + "x + " * 250_000 + "x",
    "a comment of 1 MB": "#" * 1_000_000,
    "100 000 terms": "input x\nz = x" + "+x" * 100_000,
    "501 terms": "input x\nz = x" + "+x" * 500,
    "a number of 5 000 digits": "input x\nz = x*" + "7" * 5_000,
    "a power of ten of 5 000 digits": "input x\nz = 1e" + "9" * 5_000,
    "powers of powers": "input x = ((10**999)**99)**99",
    "a product of large numbers": "input x = " + "*".join(["9" * 900] * 10),
    "long integers as indices": "z = h[" + "*".join(["999999"] * 400) + "]",
    "10 000 brackets": "input x\nz = " + "(" * 10_000 + "x" + ")" * 10_000,
    "4 000 brackets": "input x\nz = " + "(" * 4_000 + "x" + ")" * 4_000,
    "open brackets": "input x\nz = " + "(" * 9_000,
    "lists in lists": "z = " + "[" * 90 + "1" + "]" * 90,
    "square brackets": "input x\nz = x" + "[x" * 4_000,
    "minus signs": "input x\nz = " + "-" * 9_000 + "x",
    "minus signs apart": "input x\nz = " + "-\t" * 4_500 + "x",
    "powers": "input x\nz = x" + "**x" * 3_000,
    "powers of brackets": "input x\nz = x" + "**(x)" * 1_900,
    "powers and signs": "input x\nz = x" + "**-x" * 2_400,
    "calls": "input x\nz = " + "sin(" * 1_900 + "x" + ")" * 1_900,
    "not": "input x\nz = " + "not " * 2_400 + "x",
    "lambda": "input x\nz = " + "lambda:" * 1_400 + "x",
    "if else": "input x\nz = " + "x if x else " * 800 + "x",
    "attributes": "input x\nz = x" + ".a" * 4_900,
    "calls of calls": "input x\nz = x" + "()" * 4_900,
    "comparisons": "input x\nz = x" + "<x" * 4_900,
    "everything at once": "input x\nz = " + "(x<x+x*(" * 45 + "x" + "))" * 45,
    "loops nested 50 deep": "input x\n"
    + "".join(" " * i + f"for t{i} in 1..2:\n" for i in range(50))
    + " " * 50
    + "y = x",
    "loops of loops": "input x\n"
    + "".join(" " * i + f"for t{i} in 1..100:\n" for i in range(8))
    + " " * 8
    + "y[t0,t1,t2,t3,t4,t5,t6,t7] = x",
    "loops over nothing": "input x\nfor t in 1..999999999:\n  for s in 1..0:\n    y = x",
    "families in a line": "input " + " ".join(f"h{c}_[1..99999]" for c in range(600)),
    "sums of families": "input h[1..9999]\nz = sum(" + ",".join(["h[1..9999]"] * 400) + ")",
    "sums of sums": "input h[1..9999]\nz = " + "+".join(["sum(h[1..9999])"] * 400),
    "blanks": "z" + " " * 9_990 + "+",
    "blanks in a declaration": "input x" + " " * 9_980 + "+",
    "blanks in a loop": "for t in 1" + " .." * 3_000 + " x:",
    "blanks in a derivative": "d z" + " " * 9_000 + "+",
}


@pytest.mark.parametrize("case", LARGE)
def test_large_text_is_refused_fast_and_in_little_memory(case):
    text = LARGE[case]
    assert refused(lambda: gc.parse(text)).startswith("line ")
    tracemalloc.start()
    try:
        with pytest.raises(gc.GraphcError):
            gc.parse(text)
        assert tracemalloc.get_traced_memory()[1] < LARGEST
    finally:
        tracemalloc.stop()


# Values.


@pytest.fixture
def g() -> gc.Graph:
    return gc.parse("input x y\nparam weight\na = weight*x + y\nb = sin(a)\no = a*b")


POINT = {"x": 1, "y": 2, "weight": 3}


@pytest.mark.parametrize(
    ("value", "fragments"),
    [
        (math.nan, ["not finite", "nan"]),
        (math.inf, ["not finite", "inf"]),
        (-1e999, ["not finite", "-inf"]),
        (np.array([1.0, math.nan]), ["not finite", "nan"]),
        (mpmath.inf, ["finite"]),
        (sympy.oo, ["finite"]),
        (sympy.nan, ["finite"]),
        (sympy.I, ["not a real number"]),
        (sympy.Symbol("q"), ["not a real number"]),
        (True, ["bool", "give a real number"]),
        (1j, ["complex", "give a real number"]),
        (None, ["None", "give a real number"]),
        ({}, ["dict", "give a real number"]),
        ([[1], [1, 2]], ["ragged"]),
        ({"a"}, ["give a real number"]),
        ("abc", ["column 1", "'abc' is not declared as a number", "1/3"]),
        ("1 2", ["column 3", "an operator is missing"]),
        ("", ["a number or a name is missing"]),
        ("1/0", ["divides by 0"]),
        ("1e999999", ["too large"]),
        ("9**9**9", ["too large"]),
        ("sqrt(-1)", ["not a finite real number"]),
        ("1\0", [r"'1\x00'", "invisible character", "delete it"]),
        ("1\u202e", ["invisible character", "delete it"]),
        ("True", ["'True' is not allowed", "use a number"]),
        (f"__import__('os').system('touch canary') + {CANARY}", ["not allowed here"]),
        ("(" * 10_000, ["nested over 100 levels"]),
        ("9" * 10_001, ["over 4000 digits"]),
        ("x" * 10_001, ["10001 characters"]),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_values_are_refused(g, value, fragments):
    for ask in (
        lambda: g.values({**POINT, "x": value}),
        lambda: gc.Graph().input("x", value=value),
    ):
        if value is None and ask.__code__.co_freevars == ("value",):
            continue  # no value given
        message = refused(ask)
        assert message.startswith("the value of 'x'")
        for fragment in fragments:
            assert fragment in message


@pytest.mark.parametrize(
    ("at", "fragments"),
    [
        ({"x": 1}, ["missing", "y, weight", "give them"]),
        ({"x": 1, "y": 2}, ["missing", "weight", "give it"]),
        ({**POINT, "q": 1}, ["'q'", "x, y, weight"]),
        ({**POINT, "a": 1}, ["'a' is computed", "x, y, weight"]),
        ({**POINT, 7: 1}, ["7"]),
        ([1, 2], ["dict", "list"]),
        (3, ["dict", "int"]),
        ({**POINT, "x": np.ones(3), "y": np.ones(4)}, ["(3,)", "(4,)", "'y'"]),
    ],
    ids=ascii,
)
def test_points_are_refused(g, at, fragments):
    message = refused(lambda: g.values(at))
    for fragment in fragments:
        assert fragment in message


# Questions.

S = sympy.Symbol


def ladder(layers: int) -> gc.Graph:
    body = "  a[t] = a[t-1] + b[t-1]\n  b[t] = a[t-1]*b[t-1]\n"
    return gc.parse(f"input x\na0 = x\nb0 = x\nfor t in 1..{layers}:\n{body}o = a{layers}")


QUESTIONS = {
    "unknown node": (lambda g: g["q"], ["no node 'q'", "x, y, weight"]),
    "unknown node with a near one": (lambda g: g["wieght"], ["did you mean 'weight'?"]),
    "a node by number": (lambda g: g[3], ["by its name", "int"]),
    "reverse of an unknown node": (lambda g: g.reverse("q"), ["no node 'q'"]),
    "forward by an unknown node": (lambda g: g.forward("q"), ["no node 'q'"]),
    "forward by nothing": (lambda g: g.forward(None), ["by its name"]),
    "local of an unknown node": (lambda g: g.local("q", "o"), ["no node 'q'"]),
    "a seed that does not read": (lambda g: g.reverse({"o": "1 +"}), ["seed of 'o'", "column 4"]),
    "a seed that is a symbol": (lambda g: g.reverse({"o": "s"}, POINT), ["'s'", "number"]),
    "a seed that is not finite": (lambda g: g.reverse({"o": math.nan}, POINT), ["finite"]),
    "a hostile seed": (lambda g: g.reverse({"o": CANARY}), ["seed of 'o'", "no function"]),
    "no seeds": (lambda g: g.reverse({}), ["seeds", "empty"]),
    "a form": (lambda g: g.reverse("o", form="long"), ["'long'", "nodes, inputs, steps"]),
    "a mode": (
        lambda g: g.derivative("o", "x", mode="up"),
        ["'up'", "auto, reverse, forward, paths"],
    ),
    "a result": (lambda g: g.all_pairs(POINT, result="csv"), ["'csv'", "dense"]),
    "dense symbols": (lambda g: g.all_pairs(result="dense"), ["at={...}"]),
    "a layout": (lambda g: g.jacobian("o", "x", layout="long"), ["'long'", "numerator"]),
    "a jacobian of an unknown node": (lambda g: g.jacobian(["o", "q"], ["x"]), ["no node 'q'"]),
    "a hessian by joined nodes": (lambda g: g.hessian("o", ["x", "a"]), ["'a' depends on 'x'"]),
    "a hessian by a node twice": (lambda g: g.hessian("o", ["x", "x"]), ["twice"]),
    "differentiate": (lambda g: g.differentiate("o", mode="up"), ["'up'", "reverse"]),
    "largest paths of symbols": (lambda g: g.top_paths("o", "x"), ["at={...}"]),
    "no largest paths": (lambda g: g.top_paths("o", "x", POINT, k=0), ["k=0"]),
    "collapse an input": (lambda g: g.collapse("x"), ["'x' is an input"]),
    "collapse an output": (lambda g: g.collapse("o"), ["'o' is an output"]),
    "collapse an unknown node": (lambda g: g.collapse("q"), ["no node 'q'"]),
    "untie a computed node": (lambda g: g.untie("a"), ["'a' is computed"]),
    "untie what nothing uses": (
        lambda g: gc.parse("input x y\nz = x").untie("y"),
        ["nothing uses 'y'"],
    ),
    "which output": (lambda g: gc.parse("input x\na = x\nb = x").reverse(), ["a, b", "of="]),
    "which output of a hessian": (lambda g: gc.parse("input x\na = x\nb = x").hessian(), ["of="]),
    "too many paths": (
        lambda g: ladder(60).pathwise("o", "x"),
        ["paths from 'x' to 'o' exceed limit=10000", "reverse()"],
    ),
    "too long in symbols": (lambda g: ladder(60).derivative("o", "x"), ["characters", "at={...}"]),
    "a value that does not exist": (
        lambda g: gc.parse("input x\ny = log(x)").values({"x": 0}),
        ["'y'", "log(x)", "log(0)"],
    ),
    "a kink that is refused": (
        lambda g: gc.parse("input x\ny = relu(x, kink='error')").derivative("y", "x", {"x": 0}),
        ["node 'y'", "kink"],
    ),
    "values of bare edges": (lambda g: gc.from_edges({("x", "y"): 2}).values({}), ["derivatives"]),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_questions_are_refused(g, case):
    ask, fragments = QUESTIONS[case]
    message = refused(lambda: ask(g))
    for fragment in fragments:
        assert fragment in message


def test_no_path_is_no_error_and_no_entry(g):
    assert g.derivative("a", "b") == 0
    assert "o" not in g.reverse("a")
    assert "x" not in g.forward("y")
    assert g.pathwise("a", "b").terms == []
    assert g.count_paths("o", "x") == 0


# Declarations from Python.


def by_hand(build) -> object:
    """What a graph with one input x and one node h = x + 1 says to one more declaration."""
    graph = gc.Graph("hand")
    graph.input("x")
    graph.node("h", "x + 1")
    return build(graph)


HOSTILE = "x); import os"
HOSTILE_CALL = "__import__('os').system('touch canary')"
DECLARATIONS = {
    "a second name": (lambda h: h.input("x"), ["'x' is declared already"]),
    "a second node": (lambda h: h.node("h", "x"), ["'h' is declared already"]),
    "a reserved name": (lambda h: h.param("class"), ["'class' is reserved", "'class_'"]),
    "a hostile name": (lambda h: h.input(HOSTILE), [HOSTILE, "not a name"]),
    "a name with NUL": (lambda h: h.input("a\0"), [r"'a\x00'", "not a name"]),
    "a name with a right-to-left mark": (lambda h: h.input("a\u202e"), [r"\u202e", "not a name"]),
    "a name that is a number": (lambda h: h.input(3), ["string", "int"]),
    "a node whose name is a number": (lambda h: h.node(3, "x"), ["string", "int"]),
    "no name": (lambda h: h.input(""), ["not a name"]),
    "a very long name": (lambda h: h.input("n" * 1_000_000), ["1000000 characters", "at most 200"]),
    "a formula with an unknown name": (lambda h: h.node("a", "q"), ["node 'a', column 1", "'q'"]),
    "a hostile formula": (lambda h: h.node("a", CANARY), ["node 'a', column 1", "no function"]),
    "a formula with a new line": (lambda h: h.node("a", "x\n+ 1"), ["invisible"]),
    "a formula that is a condition": (lambda h: h.node("a", "x > 0"), ["condition"]),
    "None": (lambda h: h.node("a", None), ["None"]),
    "True": (lambda h: h.node("a", True), ["True"]),
    "NaN": (lambda h: h.node("a", math.nan), ["nan", "finite"]),
    "a complex number": (lambda h: h.node("a", 1j), ["complex"]),
    "a list": (lambda h: h.node("a", [1, 2]), ["list"]),
    "a SymPy symbol": (lambda h: h.node("a", S("q")), ["Symbol"]),
    "an unknown output": (lambda h: h.output("q"), ["no node 'q'"]),
    "a partial of no edge": (
        lambda h: h.node("a", "x", partials={"h": 1}),
        ["d a / d h", "mention"],
    ),
    "a partial by an unknown node": (lambda h: h.node("a", "x", partials={"q": 1}), ["'q'"]),
    "a partial that does not read": (
        lambda h: h.node("a", "x", partials={"x": "2*"}),
        ["d a / d x", "column 3"],
    ),
    "a value of another graph": (
        lambda h: h.node("a", gc.Graph("other").input("x")),
        ["'other'", "'hand'"],
    ),
    "a sum over two graphs": (
        lambda h: gc.Graph("one").input("x") + gc.Graph("two").input("x"),
        ["'one'", "'two'"],
    ),
    "a value as a condition of Python": (lambda h: bool(h.input("q") > 0), ["gc.where"]),
    "a value as a float": (lambda h: float(h.input("q")), ["gc.where"]),
    "text that is no string": (lambda h: gc.parse(b"input x"), ["string", "bytes"]),
    "a missing file": (lambda h: gc.load("missing.gc"), ["missing.gc", "no such file"]),
    "a name with NUL as a file": (lambda h: gc.load("a\0b"), [r"a\x00b"]),
}


@pytest.mark.parametrize("case", DECLARATIONS)
def test_declarations_are_refused(case):
    build, fragments = DECLARATIONS[case]
    message = refused(lambda: by_hand(build))
    for fragment in fragments:
        assert fragment in message


# Edges, SymPy, networkx.


def digraph(*edges, **formulas) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    for node, formula in formulas.items():
        graph.add_node(node, **({"formula": formula} if formula else {}))
    graph.add_edges_from(edges)
    return graph


OTHERS = {
    "edges in a cycle": (
        lambda: gc.from_edges({("a", "b"): 1, ("b", "c"): 1, ("c", "a"): 1, ("x", "a"): 1}),
        ["cycle, a -> b -> c -> a", "unroll"],
    ),
    "an edge to itself": (lambda: gc.from_edges({("a", "a"): 1}), ["a -> a"]),
    "a long cycle": (
        lambda: gc.from_edges([(f"n{i}", f"n{(i + 1) % 5000}", 1) for i in range(5000)]),
        ["n0 -> n1 ->", "-> ..."],
    ),
    "networkx in a cycle": (
        lambda: gc.from_networkx(digraph(("a", "b"), ("b", "a"))),
        ["cycle, a -> b -> a"],
    ),
    "no edges": (lambda: gc.from_edges({}), ["no edges", "(source, target, z)"]),
    "a key that is no pair": (lambda: gc.from_edges({"ab": 1}), ["'ab'", "pair of names"]),
    "a key of three": (lambda: gc.from_edges({("a", "b", "c"): 1}), ["pair of names"]),
    "an edge without z": (lambda: gc.from_edges([("a", "b")]), ["(source, target, z)"]),
    "edges as text": (lambda: gc.from_edges("a b c"), ["str", "(source, target, z)"]),
    "edges as a number": (lambda: gc.from_edges(5), ["int", "(source, target, z)"]),
    "nodes as numbers": (lambda: gc.from_edges({(1, 2): 1}), ["string", "int"]),
    "hostile nodes": (lambda: gc.from_edges({(HOSTILE, "b"): 1}), [HOSTILE, "not a name"]),
    "z is NaN": (lambda: gc.from_edges({("a", "b"): math.nan}), ["edge a -> b", "finite"]),
    "z is True": (lambda: gc.from_edges({("a", "b"): True}), ["edge a -> b"]),
    "z is None": (lambda: gc.from_edges({("a", "b"): None}), ["edge a -> b"]),
    "z does not read": (lambda: gc.from_edges({("a", "b"): "1 +"}), ["edge a -> b, column 4"]),
    "z is hostile": (lambda: gc.from_edges({("a", "b"): CANARY}), ["edge a -> b", "no function"]),
    "z has a reserved name": (
        lambda: gc.from_edges({("a", "b"): "2*input"}),
        ["edge a -> b", "'input_'"],
    ),
    "z is a hostile symbol": (
        lambda: gc.from_edges({("a", "b"): 2 * S(HOSTILE_CALL)}),
        ["edge a -> b", "not a name"],
    ),
    "SymPy as text": (lambda: gc.from_sympy("x**2"), ["str", "gc.parse"]),
    "SymPy as hostile text": (lambda: gc.from_sympy({"o": HOSTILE_CALL}), ["str", "gc.parse"]),
    "a hostile symbol": (lambda: gc.from_sympy({"o": S(HOSTILE) + 1}), [HOSTILE, "not a name"]),
    "a hostile call": (lambda: gc.from_sympy({"o": S(HOSTILE_CALL)}), ["not a name"]),
    "a hostile output": (lambda: gc.from_sympy({HOSTILE: S("x") + 1}), [HOSTILE, "not a name"]),
    "hostile inputs": (
        lambda: gc.from_sympy({"o": S("x") + 1}, inputs=[HOSTILE]),
        [HOSTILE, "not a name"],
    ),
    "inputs as a number": (lambda: gc.from_sympy({"o": S("x")}, inputs=3), ["inputs=", "int"]),
    "a reserved symbol": (lambda: gc.from_sympy({"o": S("lambda") + 1}), ["'lambda_'"]),
    "an unknown SymPy function": (
        lambda: gc.from_sympy({"o": sympy.gamma(S("x"))}),
        ["gamma", "function table"],
    ),
    "an undefined function": (
        lambda: gc.from_sympy({"o": sympy.Function("print")(S("x"))}),
        ["print", "function table"],
    ),
    "an integral": (
        lambda: gc.from_sympy({"o": sympy.Integral(S("x"), (S("x"), 0, 1))}),
        ["Integral"],
    ),
    "an imaginary number": (lambda: gc.from_sympy({"o": sympy.I * S("x")}), ["ImaginaryUnit"]),
    "SymPy's infinity": (lambda: gc.from_sympy({"o": sympy.oo}), ["oo", "finite"]),
    "a matrix": (lambda: gc.from_sympy({"o": sympy.Matrix([S("x")])}), ["matrix", "scalars only"]),
    "a SymPy condition": (lambda: gc.from_sympy({"o": S("x") > 0}), ["condition", "Piecewise"]),
    "a Piecewise with a gap": (
        lambda: gc.from_sympy({"o": sympy.Piecewise((1, S("x") > 0))}),
        ["no value outside", "True"],
    ),
    "networkx without direction": (lambda: gc.from_networkx(networkx.Graph()), ["DiGraph"]),
    "networkx of nothing": (lambda: gc.from_networkx(None), ["DiGraph", "NoneType"]),
    "networkx with hostile nodes": (
        lambda: gc.from_networkx(digraph((HOSTILE, "b"))),
        [HOSTILE, "not a name"],
    ),
    "networkx with a hostile formula": (
        lambda: gc.from_networkx(digraph(("x", "y"), x="", y=CANARY)),
        ["node 'y'", "no function"],
    ),
    "networkx with bare edges": (
        lambda: gc.from_networkx(digraph(("a", "b"))),
        ["edge a -> b", "'local'", "'formula'"],
    ),
    "networkx with one name twice": (
        lambda: gc.from_networkx(digraph(("h3", "y"), ("h[3]", "y"))),
        ["same name"],
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_forms_are_refused(case):
    build, fragments = OTHERS[case]
    message = refused(build)
    for fragment in fragments:
        assert fragment in message


# The command line.


@pytest.mark.parametrize(
    "text",
    [*(text for text, _, _ in LINES[::7]), *LARGE.values()],
    ids=lambda text: ascii(text)[:30],
)
def test_the_command_line_says_the_same(text, tmp_path, capsys):
    file = tmp_path / "bad.gc"
    file.write_bytes(("input x y\n" + text).encode(errors="surrogatepass"))
    message = refused(lambda: gc.load(file))
    for command in ("show", "derive"):
        assert main([command, str(file)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.splitlines()[0] == f"graphc: {message.splitlines()[0]}"
        assert "Traceback" not in err


def test_the_command_line_as_a_process(tmp_path):
    file = tmp_path / "bad.gc"
    file.write_text(f"input x\ny = {HOSTILE_CALL}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "graphc.cli", "show", str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("graphc: bad.gc, line 2, column 21, node 'y': ")
    assert not (tmp_path / "canary").exists()


# Fuzz.

VALID = """\
input x[1..3]   # a family
input y = 1/2
param w = -0.25
param W[2,3] = [[1, 2, 3], [4, 5, 1/6]]
v = W @ [1, 0, 1] + W.T[0, :2]
h0 = y
for t in 1..3:
    z[t] = w*h[t-1] + x[t]**2 - 1e-3
    h[t] = where(z[t] >= 0, tanh(z[t]), max(z[t], -1, kink="share"))
d z2 / d w = h[1]
o = sum(h[1..3])/pi - relu(y, kink=1) + sum(softmax(v), axis=0)
output o h3
"""
PIECES = [
    *"()[]{}+-*/%^@=<>!.,:;#'\"\\ \t\n\r_$?~&|`",
    *["**", "//", "..", "==", "1", "9**9", "1e9", "x", "h[t]", "h", "for t in 1..3:\n", "input "],
    *[
        "lambda",
        "not ",
        "if ",
        "where(",
        "sum(",
        "d z / d ",
        "output ",
        "\n    ",
        "kink=",
        "é",
        "²",
    ],
    *[
        "\0",
        "\u202e",
        "\ufeff",
        "\ud800",
        "😀",
        "変",
        "\u0301",
        "__import__('os')",
        "0x",
        "1j",
        "α",
    ],
]


def survives(text: str) -> None:
    """Reading gives a graph or one GraphcError, nothing else, and soon."""

    def reading():
        try:
            gc.parse(text).to_text()
        except gc.GraphcError as error:
            assert re.match(r"line \d+|the ", str(error)), error

    assert calls(reading) < MOST_CALLS


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("input x\ny = x" + "**x" * 90)
def test_random_pieces_are_read_or_refused(text):
    survives(text)
    survives("input x h1 h2\nz = " + text)


@settings(max_examples=150)
@given(st.text(max_size=60))
def test_random_text_is_read_or_refused(text):
    survives(text)
    survives("input x\ny = x + " + text)


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_mutated_graphs_are_read_or_refused(seed, changes):
    chance = random.Random(seed)
    text = VALID
    for _ in range(changes):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 1, 2, 8]))
        new = chance.choice([*PIECES, "", "", text[start : start + 10] * 2])
        text = text[:start] + new + text[end:]
    survives(text)


def test_the_graph_that_is_mutated_is_valid():
    assert gc.parse(VALID).output_names == ["o", "h3"]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_random_values_and_names_are_read_or_refused(text):
    for ask in (
        lambda: gc.Graph().input("x", value=text),
        lambda: gc.Graph().input(text),
        lambda: gc.from_edges({("a", "b"): text}),
        lambda: gc.from_edges({(text, "b"): 1}),
        lambda: gc.from_sympy({"o": S(text or "_") + 1}),
        lambda: gc.parse("input x\ny = x")[text],
    ):

        def asking(ask=ask):
            with contextlib.suppress(gc.GraphcError):
                ask()

        assert calls(asking) < MOST_CALLS
