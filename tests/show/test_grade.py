"""Students' mistakes are planted by a program of its own, and grade must point at each."""

import random
import warnings
from fractions import Fraction

import numpy as np
import pytest
from mpmath import iv, mp
from solution_text import Referee

import graphc as gc
from graphc.show.entries import read
from graphc.show.mistakes import KINDS

FORMULAS = (
    *("{a}*{b}", "{a} + {b}*{c}", "sin({a})", "exp({a}) - {b}", "{a}*{b}*{c}", "cos({a}*{b})"),
    *("({a} + {b})**2", "tanh({a})", "sigmoid({a} + {b})", "{a}/2 - {b}", "{a}**2*{b}"),
)
MATRICES = """
input x[3]
param W[3,3] V[3,3]
h = W @ x
a = tanh(h)
k = V @ a
L = sum(k**2)
"""


def random_graph(dice):
    """The text of a graph of scalars in which nodes are used more than once, and a point."""
    leaves = [f"x{i}" for i in range(1, 4)]
    names, lines = list(leaves), [f"input {' '.join(leaves)}"]
    for number in range(1, dice.randint(5, 8)):
        chosen = [names[-1], *(dice.choice(names) for _ in range(2))]
        dice.shuffle(chosen)
        if names[-1] not in chosen[:1]:
            chosen[0], place = names[-1], chosen.index(names[-1])
            chosen[place] = chosen[0]
        a, b, c = chosen
        lines.append(f"n{number} = {dice.choice(FORMULAS).format(a=a, b=b, c=c)}")
        names.append(f"n{number}")
    at = {name: str(Fraction(dice.choice([-5, -4, -3, -2, 2, 3, 4, 5]), 4)) for name in leaves}
    return "\n".join(lines), at, names[-1]


class Student:
    """Works through a graph by hand, rounds, and makes one mistake, with which they go on."""

    def __init__(self, text, at, of, digits=6, writes_text=False):
        self.writes_text = writes_text
        self.graph = gc.parse(text)
        self.referee = Referee(text, at)
        self.of, self.digits = of, digits
        self.values = {name: self.number(v) for name, v in self.referee.values.items()}

    def number(self, value):
        return np.vectorize(lambda v: float(mp.mpf(getattr(v, "mid", v))), otypes=[float])(value)[
            ()
        ]

    def wrong_value(self, node, wrong):
        """Everything after the wrong value follows from it."""
        changed = self.referee.run({node: wrong})
        self.values = {name: self.number(v) for name, v in changed.items()}
        self.referee.values = changed

    def derivatives(self, mistake=None):
        """{node: derivative}; mistake(node, terms) may replace a node's sum."""
        found = {self.of: 1.0}
        for node in list(self.graph)[::-1]:
            terms = []
            for source, target in self.graph.edges():
                if source == node and target in found:
                    z = self.number(self.referee.local(source, target))
                    terms.append((target, found[target], z, self.back(found[target], z)))
            if terms:
                replaced = None if mistake is None else mistake(node, terms)
                found[node] = sum(t[3] for t in terms) if replaced is None else replaced
        return found

    def back(self, adjoint, z):
        return np.tensordot(adjoint, z, axes=np.ndim(adjoint))

    def sheet(self, derivatives):
        computed = [name for name in self.graph if self.graph[name].kind == "compute"]
        return {
            "values": {name: self.rounded(self.values[name]) for name in computed},
            "derivatives": {name: self.rounded(value) for name, value in derivatives.items()},
        }

    def rounded(self, value):
        if np.ndim(value):
            return [self.rounded(part) for part in value]
        text = f"{value:#.{self.digits}g}"  # with the zeros at the end
        return text if self.writes_text else float(text)


def differs(one, other):
    return np.shape(one) == np.shape(other) and np.max(
        np.abs(np.asarray(one) - np.asarray(other))
    ) > 1e-3 * (1e-6 + np.max(np.abs(other)))


def planted(kind, dice):
    """(student's sheet, graph, of, at, node) with one mistake of this kind, or None."""
    if kind == "transposed":
        return planted_transposed(dice)
    text, at, of = random_graph(dice)
    point = {name: float(Fraction(value)) for name, value in at.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.NotFiniteWarning)
        values = gc.parse(text).values(point).values()
    if any(not 1e-4 < abs(value) < 1e4 for value in values):
        return None  # nobody works that by hand
    student = Student(text, at, of)
    if kind.endswith("value"):
        return planted_value(student, kind, dice, at)
    truth = student.derivatives()
    nodes = [n for n in truth if n != of]
    chosen = dice.choice(nodes)

    def mistake(node, terms):
        return spoiled(kind, [t[1:] for t in terms], dice) if node == chosen else None

    wrong = student.derivatives(mistake)
    if not differs(wrong[chosen], truth[chosen]):
        return None
    return student.sheet(wrong), student.graph, of, at, chosen


def spoiled(kind, terms, dice):
    """A sum of products with one mistake."""
    parts = [back for _, _, back in terms]
    place = dice.randrange(len(terms))
    adjoint, z, back = terms[place]
    rest = sum(parts) - back
    if kind == "sign":
        return -sum(parts) if dice.random() < 0.5 else rest - back
    if kind == "missing path":
        return rest if len(parts) > 1 else None
    if kind == "forgotten chain factor":
        return rest + dice.choice([adjoint, z])
    return sum(parts) * dice.choice([1.1, 0.9, 2, 10]) + dice.choice([0, 0.3])


def planted_value(student, kind, dice, at):
    computed = [name for name in student.graph if student.graph[name].kind == "compute"]
    node = dice.choice(computed)
    true = student.values[node]
    wrong = -true if kind == "sign of a value" else true * dice.choice([1.1, 1.01]) + 0.2
    if not differs(wrong, true):
        return None
    student.wrong_value(node, iv.mpf(float(f"{wrong:.6g}")))
    return student.sheet(student.derivatives()), student.graph, student.of, at, node


def planted_transposed(dice):
    at = {
        "x": [dice.randint(-2, 2) for _ in range(3)],
        "W": [[f"{dice.randint(-4, 4)}/4" for _ in range(3)] for _ in range(3)],
        "V": [[f"{dice.randint(-4, 4)}/4" for _ in range(3)] for _ in range(3)],
    }
    student = Student(MATRICES, at, "L")
    truth = student.derivatives()
    chosen = dice.choice(["W", "V", "x", "a"])

    def mistake(node, terms):
        if node != chosen:
            return None
        if node in ("W", "V"):
            return np.transpose(truth[node])
        return terms[0][2] @ terms[0][1]  # W g instead of W^T g

    wrong = student.derivatives(mistake)
    if not differs(wrong[chosen], truth[chosen]):
        return None
    return student.sheet(wrong), student.graph, "L", at, chosen


PLANTED = (
    *[("sign", "sign")] * 20,
    *[("missing path", "missing path")] * 20,
    *[("forgotten chain factor", "forgotten chain factor")] * 25,
    *[("transposed", "transposed")] * 10,
    *[("arithmetic slip", "arithmetic slip")] * 10,
    *[("slip in a value", "arithmetic slip")] * 8,
    *[("sign of a value", "sign")] * 7,
)


def test_a_hundred_planted_mistakes(capsys):
    dice = random.Random(20240229)
    assert len(PLANTED) == 100
    first = kinds = 0
    missed = []
    for kind, told in PLANTED:
        case = None
        while case is None:
            case = planted(kind, dice)
        sheet, graph, of, at, node = case
        verdict = graph.grade(sheet, of, at)
        assert not verdict.ok
        assert verdict.kind in KINDS
        first += verdict.first_wrong == node
        kinds += verdict.kind == told
        if verdict.first_wrong != node or verdict.kind != told:
            missed.append((kind, node, verdict.first_wrong, verdict.kind))
    with capsys.disabled():
        print(f"\n100 planted mistakes: first wrong step {first}, kind {kinds}; {missed}")
    assert first == 100
    assert kinds >= 80


@pytest.mark.parametrize("digits", [2, 3, 6, 15])
def test_right_work_is_right_at_any_digits(digits):
    dice = random.Random(digits)
    for _ in range(25):
        text, at, of = random_graph(dice)
        student = Student(text, at, of, digits, writes_text=True)
        verdict = student.graph.grade(student.sheet(student.derivatives()), of, at)
        assert verdict.ok, (text, at, verdict.message)
        assert verdict.checked == len(student.graph) - 3 + len(student.derivatives())


def test_work_with_rounded_numbers_is_right(fig27):
    """Somebody who rounds every step to two digits and goes on with that is not wrong."""
    at = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
    values = {"y4": 0.3, "y5": 0.21, "y6": 0.27, "y7": 0.30, "y8": 0.98, "y9": 0.27}
    values["y10"] = round(0.30 * 0.98 * 0.27, 3)
    assert fig27.grade({"values": values}, "y10", at).ok
    s7 = round(0.98 * 0.27, 2)
    assert fig27.grade({"derivatives": {"y7": s7, "y4": round(s7 * 0.955, 3)}}, "y10", at).ok


@pytest.mark.parametrize(
    ("given", "number", "unit"),
    [
        ("0.3417", 0.3417, 1e-4),
        ("1/3", 1 / 3, 0),
        ("-2", -2, 0),
        ("−0.5", -0.5, 0.1),
        ("1.50e-3", 0.0015, 1e-5),
        (".5", 0.5, 0.1),
        (0.25, 0.25, 0.01),
        (0.1 + 0.2, 0.30000000000000004, 0),
        (Fraction(1, 7), 1 / 7, 0),
        ("sin(3/10)", 0.29552020666133955, 0),
        (1.5e-7, 1.5e-7, 1e-8),
    ],
)
def test_digits(given, number, unit):
    found = read(given, "x")
    assert float(found.value) == pytest.approx(number, rel=1e-15)
    assert float(found.unit) == pytest.approx(unit)


def test_whole_floats_have_the_digits_of_the_others():
    graph = gc.parse("input x\nc = cos(x)\ns = sin(x)\ny = c*s")
    values = graph.values({"x": "1/100"})
    work = {"c": 1.0, "s": 0.01, "y": 0.01}
    assert float(values["c"]) == pytest.approx(0.99995)
    assert graph.grade({"values": work}, "y", {"x": "1/100"}).ok
    assert not graph.grade({"values": {"c": 1.0}}, "y", {"x": "1/100"}).ok
    assert not graph.grade({"values": {**work, "c": 1}}, "y", {"x": "1/100"}).ok


def test_cut_digits_are_not_wrong():
    assert read("0.66", "x").matches(2 / 3)
    assert read("0.67", "x").matches(2 / 3)
    assert not read("0.68", "x").matches(2 / 3)
    assert not read("0.65", "x").matches(2 / 3)


POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}


def verdict(fig27, table, **entries):
    return fig27.grade({table: entries}, "y10", POINT)


def test_messages_say_what_happened(fig27):
    found = verdict(fig27, "derivatives", y2="0.3475")
    assert (found.first_wrong, found.kind, found.table) == ("y2", "missing path", "derivatives")
    assert found.message == (
        "d y10 / d y2: 0.3475 was given, 0.341704 is right; the part through y5 is missing"
    )
    assert verdict(fig27, "derivatives", y4="0.2609").message.endswith(
        "the factor z(y4, y7) is missing"
    )
    assert verdict(fig27, "values", y6="0.69").message.endswith("the sign of w3 is wrong")
    assert verdict(fig27, "values", y6="0.48").kind == "missing term"
    assert verdict(fig27, "values", y5="0.35").kind == "forgotten factor"
    assert verdict(fig27, "values", y1="0.7").kind == "arithmetic slip"


def test_the_inner_derivative_is_missed():
    graph = gc.parse("input x\ny = log(x**2 + 1)")
    found = graph.grade({"derivatives": {"x": "1/5"}}, at={"x": 2})
    assert found.kind == "forgotten chain factor"
    assert graph.grade({"derivatives": {"x": "4/5"}}, at={"x": 2}).ok


def test_vectors():
    graph = gc.parse("input x[2]\nparam W[2,2]\nh = W @ x\na = relu(h)\nL = sum(a)")
    at = {"x": [1, 2], "W": [[1, 1], [2, -3]]}
    assert graph.grade({"derivatives": {"h": [1, 0], "x": [1, 1]}}, at=at).ok
    assert graph.grade({"derivatives": {"h": [1, 1]}}, at=at).kind == "forgotten chain factor"
    assert graph.grade({"derivatives": {"x": [1, 2]}}, at=at).kind == "transposed"
    assert graph.grade({"derivatives": {"W": [[1, 0], [2, 0]]}}, at=at).kind == "transposed"
    assert graph.grade({"derivatives": {"x": [1, 2, 3]}}, at=at).kind == "wrong shape"


def test_no_path():
    graph = gc.parse("input a b\ny = a**2 + stop(b)")
    at = {"a": 3, "b": 4}
    assert graph.grade({"derivatives": {"a": 6, "b": 0}}, "y", at).ok
    assert graph.grade({"derivatives": {"b": 1}}, "y", at).kind == "no path"
    other = gc.parse("input a b\ny = a**2\nz = b")
    assert other.grade({"derivatives": {"z": 1}}, "y", {"a": 3}).kind == "no path"


def test_bare_edges():
    graph = gc.from_edges({("x", "a"): "3", ("x", "b"): "2", ("a", "o"): "5", ("b", "o"): "-1"})
    assert graph.grade({"derivatives": {"a": 5, "x": 13}}, "o").ok
    assert graph.grade({"derivatives": {"a": 5, "x": 15}}, "o").kind == "missing path"
    with pytest.raises(gc.GraphcError, match="only local derivatives"):
        graph.grade({"values": {"a": 5}}, "o")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "nothing to grade"),
        ({"values": {}}, "nothing to grade"),
        ({"value": {"y4": 1}}, "no table 'value'; did you mean 'values'"),
        ({"values": {"y44": 1}}, "there is no node 'y44'; did you mean"),
        ({"values": {"y4": "three"}}, "y4"),
        ({"values": {"y4": None}}, "None is not a number"),
        ({"values": {"y4": [[1, 2], [3]]}}, "different lengths"),
        ({"values": [1]}, "takes a dict"),
        ([1], "takes a dict"),
    ],
)
def test_errors(fig27, answer, message):
    with pytest.raises(gc.GraphcError, match=message):
        fig27.grade(answer, "y10", POINT)
