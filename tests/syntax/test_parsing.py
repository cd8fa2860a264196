"""The parser reads what Python's grammar would read, and nothing that the words forbid."""

import ast
import random

import pytest

import graphc as gc
from graphc.syntax.parsing import read_formula
from graphc.syntax.trees import (
    Binary,
    Call,
    Chain,
    Index,
    List,
    Name,
    Number,
    Plain,
    Signed,
    Slice,
    Transpose,
    Tuple,
)
from graphc.syntax.words import Mistake, check

SIGNS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"},
    **{ast.FloorDiv: "//", ast.Mod: "%", ast.UAdd: "+", ast.USub: "-"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
}


def of_python(tree):
    """Python's tree in the words of ours."""
    match tree:
        case None:
            return None
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Constant():
            return ("plain", tree.value)
        case ast.Name():
            return tree.id
        case ast.UnaryOp():
            return (SIGNS[type(tree.op)], of_python(tree.operand))
        case ast.BinOp():
            return (SIGNS[type(tree.op)], of_python(tree.left), of_python(tree.right))
        case ast.Compare(ops=[op]):
            return (SIGNS[type(op)], of_python(tree.left), of_python(tree.comparators[0]))
        case ast.Compare():
            return "chain"
        case ast.Call():
            settings = [(key.arg, of_python(key.value)) for key in tree.keywords]
            return ("call", tree.func.id, [of_python(part) for part in tree.args], settings)
        case ast.Subscript():
            return ("index", of_python(tree.value), of_python(tree.slice))
        case ast.Slice():
            return ("slice", of_python(tree.lower), of_python(tree.upper), of_python(tree.step))
        case ast.Attribute():
            return ("T", of_python(tree.value))
        case ast.List():
            return ("list", [of_python(part) for part in tree.elts])
        case ast.Tuple():
            return ("tuple", [of_python(part) for part in tree.elts])


def of_ours(tree):
    match tree:
        case None:
            return None
        case Number():
            return float(tree.value)
        case Plain():
            return ("plain", tree.value)
        case Name():
            return tree.name
        case Signed():
            return (tree.sign, of_ours(tree.operand))
        case Binary():
            return (tree.sign, of_ours(tree.left), of_ours(tree.right))
        case Chain():
            return "chain"
        case Call():
            settings = [(setting.name, of_ours(setting.value)) for setting in tree.settings]
            return ("call", tree.function, [of_ours(part) for part in tree.arguments], settings)
        case Index():
            return ("index", of_ours(tree.value), of_ours(tree.at))
        case Slice():
            return ("slice", of_ours(tree.lower), of_ours(tree.upper), of_ours(tree.step))
        case Transpose():
            return ("T", of_ours(tree.value))
        case List():
            return ("list", [of_ours(part) for part in tree.parts])
        case Tuple():
            return ("tuple", [of_ours(part) for part in tree.parts])


def assert_read_as_python_does(text):
    syntax = read_formula(text, 0)
    theirs = ast.parse(text, mode="eval").body
    assert of_ours(syntax.tree) == of_python(theirs), text
    assert syntax.column_of(syntax.tree) == theirs.col_offset, text
    assert syntax.source_of(syntax.tree) == ast.get_source_segment(text, theirs), text


OPERATORS = ("+", "-", "*", "/", "**", "@", "//", "%", "<", "==", " - ", " ** ")


def formula(draw, depth):
    """A random formula of everything that formulas may hold."""
    kind = draw.randrange(13) if depth else draw.randrange(3)

    def part():
        return formula(draw, depth - 1)

    if kind < 2:
        return draw.choice(("x", "y1", "W", "h_2", "alpha"))
    if kind == 2:
        return draw.choice(("0", "7", "0.25", "1e-3", ".5", "12_000", "3."))
    if kind < 7:
        return f"{part()}{draw.choice(OPERATORS)}{part()}"
    if kind == 7:
        return f"({part()})"
    if kind == 8:
        return draw.choice("-+") + part()
    if kind == 9:
        arguments = [part() for _ in range(draw.randrange(4))]
        if draw.random() < 0.3:
            arguments.append(draw.choice(("kink='left'", "axis=None", "axis=(0, 1)", "keep=True")))
        return f"f({', '.join(arguments)})"
    if kind == 10:
        indices = ("0", "1:3", ":", "::2", "-1:", "None", "...", "[0, 1]", part())
        chosen = [draw.choice(indices) for _ in range(draw.randrange(1, 4))]
        return f"{draw.choice(('x', '(x)', 'f(x)'))}[{', '.join(chosen)}]"
    if kind == 11:
        return f"{draw.choice(('W', f'({part()})'))}.T"
    opening, closing = draw.choice(("[]", "()"))
    return f"{opening}{', '.join([part(), part()])}{closing}"


@pytest.mark.parametrize("seed", range(40))
def test_random_formulas_are_read_as_python_reads_them(seed):
    draw = random.Random(seed)
    for _ in range(50):
        text = f"x + {formula(draw, 4)}"
        try:
            check(text)
        except Mistake:
            continue
        assert_read_as_python_does(text)


WORDS = (
    *("x", "2", "+", "-", "*", ",", ":") * 3,
    *("x", "y", "f", "2", "0.5", "(", ")", "[", "]", ",", "+", "-", "*", "**", "<", "==", "=", ":"),
    *("..", "...", ".T", "'a'", "None", "True", "if", "x²", "é", "℘", "٣", "1e9999", "^", "\u0301"),
)


@pytest.mark.parametrize("inside", ["", "members"])
@pytest.mark.parametrize("seed", range(20))
def test_what_the_words_forbid_is_not_read(seed, inside):
    """Whatever the parser accepts has passed every check of words; the message is theirs."""
    draw = random.Random(seed)
    read = 0
    for _ in range(1_000):
        text = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(1, 7)))
        text = draw.choice(("f(", "x[", "(", "")) + text + draw.choice((")", "]", ""))
        told = wrong = ""
        try:
            check(text, inside)
        except Mistake as error:
            wrong = str(error)
        try:
            read_formula(text, 0, inside)
            read += 1
        except Mistake as error:
            told = str(error)
        assert told == wrong or (not wrong and told.startswith("cannot read the formula")), text
    assert read > 5


@pytest.mark.parametrize("text", ["f(a=1, 2)", "f(1=2)", "x[1:2:3:4]", "f(x(1)=2)", "f(True=1)"])
def test_what_has_no_meaning_is_refused_in_one_sentence(text):
    with pytest.raises(gc.GraphcError):
        read_formula(text, 0)


def test_leading_zeros_are_read():
    assert read_formula("007", 0).tree == Number(7, True, 0, 1)
