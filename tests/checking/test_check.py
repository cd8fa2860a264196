"""Checking graphs: every verdict, blame by edges and by claims, points, reports, the command."""

import json
import math

import numpy as np
import pytest

import graphc as gc
from graphc import cli
from graphc.checking.neighbourhood import Neighbourhood
from graphc.checking.verdicts import SEVERITY, Index, rho

NEURON = """
input x1 = 1
input x2 = -2
param w1 = 1/2
param w2 = 1/4
param b = 1/3
a = w1*x1 + w2*x2 + b
o = sigmoid(a)
"""


def only(report):
    """The only row of a report."""
    (row,) = report.rows
    return row


def of_x(formula, x, claim=None, **options):
    """The report on y = formula(x) at one x, of graphc's derivative or of a claim."""
    graph = gc.parse(f"input x\ny = {formula}")
    claimed = None if claim is None else {"x": claim}
    return gc.check(graph, at={"x": x}, claimed=claimed, **options)


# Verdicts.


def test_a_right_graph_is_correct_everywhere():
    report = gc.check(gc.parse(NEURON))
    assert report.ok and report.verdict == "correct" and not report.blame
    assert {row.name for row in report.rows} == {"x1", "x2", "w1", "w2", "b"}
    for row in report.rows:
        assert row.rho < 1e-9 and row.index == () and row.evidence


@pytest.mark.parametrize("power", range(1, 7))
@pytest.mark.parametrize("formula", ["sin(x)*exp(x)", "sigmoid(3*x)", "relu(x) + x**2", "gelu(x)"])
def test_a_factor_that_is_off_is_wrong(formula, power):
    graph = gc.parse(f"input x\ny = {formula}")
    right = graph.derivative("y", "x", {"x": 0.7})
    assert of_x(formula, 0.7, right).verdict == "correct"
    report = of_x(formula, 0.7, right * (1 + 10.0**-power))
    assert report.verdict == "wrong" and report.blame == [("x", "y")]


@pytest.mark.parametrize(
    ("formula", "x", "verdict"),
    [
        ("abs(x)", 0.0, "at-kink"),
        ("relu(x)", 0.0, "at-kink"),
        ("max(x, 2*x)", 0.0, "at-kink"),
        ("max(x, 2*x, 3*x)", 0.0, "at-kink"),
        ("max(x, -x, x**2)", 1e-5, "near-kink"),
        ("where(x > 1, x, 1)", 1.0, "at-kink"),
        ("hardtanh(x)", 1.0, "at-kink"),
        ("heaviside(x)", 0.0, "at-kink"),  # the slopes agree, the value jumps
        ("sign(x)*x**2", 0.0, "correct"),
        ("where(x > 1, 2*x, 2*x + 1e-6)", 1.0, "at-kink"),
        ("1e6 + 0*sign(x)", 0.0, "correct"),
        ("clip(x, -1, 1)", -1 + 1e-6, "near-kink"),
        ("relu(x)**2", 0.0, "correct"),  # on the switch, but both slopes are 0
        ("abs(x)**3", 0.0, "correct"),  # the step of a one-sided difference is no kink
        ("max(x, x**3)**2 + x**3", -0.0, "correct"),
        ("relu(x) - relu(-x)", 0.0, "at-kink"),  # two kinks meet: their conventions give 0, not 1
        ("relu(x)", 1e-4, "near-kink"),
        ("relu(x)", 1e-9, "near-kink"),
        ("relu(x)", 0.1, "correct"),
        ("sqrt(x)", 0.0, "not-finite"),
        ("log(x)", 0.0, "not-finite"),
        ("log(x)", -1.0, "not-finite"),
        ("1/x", 0.0, "not-finite"),
        ("exp(x)", 1e300, "not-finite"),
        ("exp(x)", 709.0, "correct"),  # near overflow
        ("sigmoid(x)", -1e300, "correct"),
        ("3*x", 1e300, "correct"),
        ("x**2", 1e300, "not-finite"),
        ("x**1.5", 0.0, "correct"),  # one side only
        ("sin(1e6*x)", 0.3, "correct"),
        ("(1 - cos(x))/x**2", 1e-7, "ill-conditioned"),
        ("exp(x) - exp(x) + 3", 1.0, "correct"),
    ],
)
def test_verdicts_of_graphs(formula, x, verdict):
    report = of_x(formula, x)
    assert only(report).verdict == verdict, str(report)
    assert report.ok == (verdict not in ("wrong", "not-finite"))
    assert of_x(formula, x, strict=True).ok == (verdict == "correct")


def test_a_slope_between_the_sides_of_a_kink_is_a_convention_and_one_outside_is_wrong():
    for slope in (-1, -0.5, 0, 1):
        assert of_x("abs(x)", 0.0, slope).verdict == "at-kink"
    for slope in (-1.001, 1.001, 7):
        assert of_x("abs(x)", 0.0, slope).verdict == "wrong"


def test_kinks_are_named_with_their_distance():
    graph = gc.parse("input x\na = 3*x - 6\nh = relu(a)\ny = h*x")
    row = only(gc.check(graph, at={"x": 2 + 1e-6}))
    assert row.verdict == "near-kink" and row.kink == "h"
    assert "h = relu(a)" in row.evidence and "1.0e-06" in row.evidence
    row = only(gc.check(graph, at={"x": 2}))
    assert row.verdict == "at-kink" and "one-sided slopes 0 and 6" in row.evidence


def test_a_wrong_side_near_a_kink_is_wrong():
    for distance in (1e-3, 1e-6, 1e-9):
        assert of_x("relu(x)", distance, 0.0).verdict == "wrong"
        assert of_x("relu(x)", -distance, 1.0).verdict == "wrong"


def test_rho_is_defined_everywhere():
    assert rho(0.0, 0.0) == 0.0
    assert rho(1.0, -1.0) == math.inf
    assert rho(3.0, 1.0) == 0.5
    assert rho(1e308, -1e308) == math.inf
    assert math.isnan(rho(math.nan, 1.0)) and math.isnan(rho(1.0, math.inf))


def test_an_index_of_one_axis_equals_its_number():
    assert Index((3,)) == 3 and Index((3,)) == (3,) and Index((3,)) != 4 and Index((1, 2)) == (1, 2)
    assert Index(()) == () and Index((1, 2)) != 1 and [("x", Index((1,)))] == [("x", 1)]


def test_constants_zero_sizes_and_unreached_inputs():
    assert only(of_x("0*x + 3", 2.0)).verdict == "correct"
    graph = gc.parse("input x[0]\ninput z\ny = sum(x) + z")
    report = gc.check(graph, at={"x": np.zeros(0), "z": 1.0})
    assert [row.name for row in report.rows] == ["z"] and report.ok
    graph = gc.parse("input x u\ny = x**2")
    assert [row.name for row in gc.check(graph, at={"x": 1.0, "u": 2.0}).rows] == ["x"]
    report = gc.check(graph, wrt=["x", "u"], at={"x": 1.0, "u": 2.0})
    assert [row.derived for row in report.rows] == [2, 0] and report.ok


def test_stop_is_held_while_measuring():
    graph = gc.parse("input x = 2\ny = x*stop(x) + stop(x**3)")
    row = only(gc.check(graph))
    assert (row.derived, row.verdict) == (2, "correct")


def test_float32_is_judged_by_its_own_rounding():
    graph = gc.parse("input x\ny = exp(sin(x))")
    assert gc.check(graph, at={"x": 0.3}, dtype="float32").ok
    right = graph.derivative("y", "x", {"x": float(np.float32(0.3))})
    off = {"x": np.float32(right) * (1 + 1e-5)}
    assert gc.check(graph, at={"x": 0.3}, claimed=off, dtype="float32").ok
    off = {"x": right * (1 + 1e-3)}
    assert not gc.check(graph, at={"x": 0.3}, claimed=off, dtype="float32").ok


@pytest.mark.parametrize("method", ["central", "ridders", "complex", "digits"])
def test_every_method_tells_right_from_wrong(method):
    graph = gc.parse("input x[3]\nparam W[2,3]\nh = tanh(W @ x)\ny = sum(h**2)")
    at = {"x": np.array([0.3, -0.5, 1.2]), "W": np.arange(6.0).reshape(2, 3) / 5}
    assert gc.check(graph, at=at, method=method).verdict == "correct"
    claim = np.array(graph.reverse("y", at)["x"], float)
    claim[1] *= 1 + 1e-4
    report = gc.check(graph, at=at, method=method, claimed={"x": claim})
    assert [row.verdict for row in report.rows] == ["correct", "wrong", "correct"]


TENSORS = {
    "matmul": "input A[2,3] B[3,2]\ny = sum((A @ B)**2)",
    "solve": "input A[2,2] b[2]\ny = sum(solve(A + 3*eye(2), b))",
    "logdet": "input A[2,2]\ny = logdet(A @ A.T + eye(2))",
    "softmax": "input z[4]\ny = softmax_cross_entropy(z, onehot(2, 4))",
    "conv": "input x[1,4,4]\nparam w[2,1,3,3]\nh = relu(conv2d(x, w))\ny = sum(maxpool(h, 2)**2)",
    "norms": "input x[3]\ny = norm(x) + max(x) + var(x) + prod(x)",
    "broadcast": "input X[3,2] b[2] c\nh = tanh(X*c + b)\ny = mean(h)",
}


@pytest.mark.parametrize("text", TENSORS.values(), ids=TENSORS)
def test_tensor_graphs_are_correct_at_drawn_points(text):
    report = gc.check(gc.parse(text), points=4, rng=1)
    assert report.ok and report.counts()["correct"] >= 0.8 * len(report.rows), str(report)


def test_jacobians_have_a_row_per_entry():
    graph = gc.parse("input x[2]\nh = x*x[0]")
    report = gc.check(graph, at={"x": np.array([1.5, 2.0])})
    assert [(row.of, row.index, round(row.derived, 9)) for row in report.rows] == [
        ("h[0]", (0,), 3.0),
        ("h[0]", (1,), 0.0),
        ("h[1]", (0,), 2.0),
        ("h[1]", (1,), 1.5),
    ]
    assert report.verdict == "correct"


# Blame.


def test_a_wrong_partial_is_blamed_with_both_formulas_and_its_line():
    text = NEURON + "d o / d a = o*(1 + o)\nL = o**2\n"
    report = gc.check(gc.parse(text))
    assert not report.ok and report.blame == [("a", "o")]
    (edge,) = report.edges
    assert (edge.found, edge.expected, edge.line) == ("o*(1 + o)", "o*(1 - o)", 9)
    assert "found:    o*(1 + o)" in str(report) and "line 9" in str(report)


def test_a_right_partial_is_not_blamed():
    report = gc.check(gc.parse(NEURON + "d o / d a = o - o**2\nL = o**2\n"))
    assert report.ok and report.blame == []


def test_a_wrong_partial_is_found_even_where_nothing_of_it_arrives():
    graph = gc.parse("input x = 1\ns = x**2\nd s / d x = 3*x\ny = 0*s + x")
    report = gc.check(graph)
    assert not report.ok and report.blame == [("x", "s")]
    assert [row.verdict for row in report.rows] == ["correct"]


def test_a_wrong_function_of_the_user_is_blamed_where_it_is_used(own_functions):
    gc.declare("swish", lambda x: x * gc.sigmoid(x), derivative=lambda x: gc.sigmoid(x))
    graph = gc.parse("input x\nh = swish(x)\ny = h*x")
    report = gc.check(graph, at={"x": 0.4})
    assert report.blame == [("x", "h")] and report.verdict == "wrong"


def test_a_wrong_tensor_partial_is_blamed():
    graph = gc.parse("input x[3]\nh = tanh(x)\nd h / d x = 1 + h**2\ny = sum(h)")
    report = gc.check(graph, at={"x": np.array([0.1, 0.2, 0.3])})
    assert report.blame == [("x", "h")]


def test_two_wrong_edges_are_both_blamed():
    graph = gc.parse(
        "input x = 1/2\na = sin(x)\nd a / d x = cos(x) + 1/100\nb = a**2\nd b / d a = a\ny = b*a"
    )
    assert gc.check(graph).blame == [("x", "a"), ("a", "b")]


CHAIN = "input x = 1/2\nparam w = 2\nparam c = 3\nh = tanh(w*x + c)\nk = sin(h)\nL = k*h"


def claims(graph, **wrong):
    right = {name: float(value) for name, value in graph.reverse("L", {}).items()}
    return {**right, **wrong}


def test_claims_are_judged_from_the_output_backwards():
    graph = gc.parse(CHAIN)
    assert gc.check(graph, "L", claimed=claims(graph)).ok
    right = claims(graph)
    wrong_k = claims(graph, k=2 * right["k"], h=right["h"] + 1, w=9.0, x=9.0, c=9.0)
    report = gc.check(graph, "L", claimed=wrong_k)
    assert report.blame == [("k", "L")]  # what it hands on is not the fault of the others
    assert gc.check(graph, "L", claimed=claims(graph, w=9.0)).blame == [("w", "h")]
    # h has two edges, to k and to L: its claim cannot tell them apart
    assert gc.check(graph, "L", claimed=claims(graph, h=9.0)).blame == [("h", None)]


def test_claims_vouch_for_and_accuse_nodes_that_were_not_claimed():
    graph = gc.parse(
        "input x1 = 1\ninput x2 = 2\nparam b = 1/3\na = x1*x2 + b\no = sigmoid(a)\nL = o**2"
    )
    right = {name: float(v) for name, v in graph.reverse("L", {}).items()}
    inputs = {name: right[name] for name in ("x1", "x2", "b")}
    assert gc.check(graph, claimed=inputs).ok
    assert gc.check(graph, claimed={**inputs, "x1": 5.0}).blame == [("x1", "a")]
    doubled = {name: 2 * value for name, value in inputs.items()}
    assert gc.check(graph, claimed=doubled).blame == [("a", "o")]


def test_claims_are_checked_against_shapes_and_names():
    graph = gc.parse("input W[2,3]\ny = sum(W**2)")
    at = {"W": np.ones((2, 3))}
    with pytest.raises(
        gc.GraphcError, match=r"'W' has shape \(2, 3\), but its claim has shape \(3, 2\)"
    ):
        gc.check(graph, at=at, claimed={"W": np.ones((3, 2))})
    with pytest.raises(gc.GraphcError, match="no node 'V'"):
        gc.check(graph, at=at, claimed={"V": np.ones((2, 3))})
    wrong = 2 * np.ones((2, 3))
    wrong[1, 2] = 3
    report = gc.check(graph, at=at, claimed={"W": wrong})
    assert [row.index for row in report.rows if row.verdict == "wrong"] == [(1, 2)]


# Points.


def test_points_are_drawn_from_the_domains_and_reproducible():
    graph = gc.parse("input x y\nz = log(x)*sqrt(y) + asin(x/(1 + x)) + y**-2")
    first, again = (gc.check(graph, points=8, rng=3) for _ in range(2))
    assert first.ok and first.points == again.points and len(first.points) == 8
    assert gc.check(graph, points=8, rng=4).points != first.points


def test_points_reach_saturated_parts():
    graph = gc.parse("input x\ny = tanh(x)")
    values = [abs(point["x"]) for point in gc.check(graph, points=20).points]
    assert min(values) < 0.1 and max(values) > 10


def test_a_graph_without_a_point_says_so():
    with pytest.raises(gc.GraphcError, match="no point was found"):
        gc.check(gc.parse("input x\ny = log(-x**2 - 1)"), points=3)
    with pytest.raises(gc.GraphcError, match="whole number"):
        gc.check(gc.parse("input x\ny = x"), points=0)


def test_scalars_given_as_arrays_are_points():
    report = gc.check(gc.parse("input x\ny = x**2"), at={"x": np.array([1.0, 2.0, 3.0])})
    assert [row.derived for row in report.rows] == [2, 4, 6] and len(report.points) == 3


# Errors, report, command line.


def test_misuse_is_explained():
    graph = gc.parse("input x\ny = x**2")
    with pytest.raises(gc.GraphcError, match="use check_function"):
        gc.check(lambda x: x)
    with pytest.raises(gc.GraphcError, match="method='best' is not known"):
        gc.check(graph, at={"x": 1.0}, method="best")
    with pytest.raises(gc.GraphcError, match="dtype"):
        gc.check(graph, at={"x": 1.0}, dtype="int8")
    with pytest.raises(gc.GraphcError, match="a value is missing for x"):
        gc.check(graph, at={})
    with pytest.raises(gc.GraphcError, match="made from local derivatives alone"):
        gc.check(gc.from_edges({("x", "y"): 2}), at={})


def test_the_report_is_json_markdown_text_and_an_error():
    report = gc.check(gc.parse("input x = 2\ns = x**2\nd s / d x = 3*x"))
    data = json.loads(report.to_json())
    assert data["ok"] is False and data["verdict"] == "wrong" and data["blame"] == [["x", "s"]]
    assert data["rows"][0]["derived"] == 6 and data["rows"][0]["verdict"] in SEVERITY
    assert "| derivative |" in report.to_markdown()
    with pytest.raises(AssertionError, match="NOT OK"):
        report.raise_if_failed()
    with pytest.raises(gc.GraphcError):
        report.raise_if_failed()
    good = gc.check(gc.parse("input x = 2\ny = x**2"))
    assert good.raise_if_failed() is good
    json.loads(gc.check(gc.parse("input x = 0\ny = log(x)")).to_json())  # NaN is text


def test_the_v_curve_is_drawn(tmp_path):
    report = of_x("sin(x)", 1.0)
    report.plot(str(tmp_path / "curve.svg"))
    assert "<polyline" in (tmp_path / "curve.svg").read_text(encoding="utf-8")
    steps = dict(report.curve(report.rows[0]))
    best = min(steps, key=steps.get)
    assert 1e-8 < best < 1e-3  # the bottom of the V
    with pytest.raises(gc.GraphcError, match="SVG"):
        report.plot(str(tmp_path / "curve.png"))


def test_a_failing_graph_is_shrunk_to_one_node_and_a_simple_point():
    text = NEURON.replace("output", "") + "s = tanh(o*a)\nd s / d o = a\nL = s*w1 + b\n"
    report = gc.check(gc.parse(text), shrink=True)
    assert "def test_s():" in report.shrunk and "d s / d o = a" in report.shrunk
    assert "input o = 1\n    input a = 1" in report.shrunk
    with pytest.raises(AssertionError):  # pasted, it fails as promised
        namespace = {}
        exec(report.shrunk.partition("\n\n")[2], namespace)
        namespace["test_s"]()


def test_a_shrunk_graph_keeps_the_bits_of_its_floats():
    graph = gc.Graph("line")
    x = graph.input("x", value=1)
    graph.node("h", 0.1 * gc.sin(x), partials={"x": 0.3 * x})
    report = gc.check(graph, shrink=True)
    assert "h = float(0.1)*sin(x)" in report.shrunk and "d h / d x = float(0.3)*x" in report.shrunk


@pytest.mark.parametrize("rng", ["a", -1, 0.5, {}])
def test_a_seed_that_is_none_is_refused(rng):
    with pytest.raises(gc.GraphcError, match=r"whole number or a numpy\.random"):
        gc.check(gc.parse("input x\ny = sin(x)"), at={"x": 1}, rng=rng)
    with pytest.raises(gc.GraphcError, match=r"whole number or a numpy\.random"):
        gc.check_function(np.sin, np.cos, 1.0, rng=rng)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "graph.gc"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_the_command_exits_with_the_verdict(file, capsys):
    assert cli.main(["check", file(NEURON)]) == 0
    assert capsys.readouterr().out.startswith("ok: 5 derivatives (5 correct)")
    assert cli.main(["check", file(NEURON + "d o / d a = o*(1 + o)\n")]) == 1
    out = capsys.readouterr().out
    assert "to blame: d o / d a (line 9)" in out and "expected: o*(1 - o) = " in out
    assert cli.main(["check", file("input x\ny = relu(x)"), "--at", "x=0"]) == 0
    assert cli.main(["check", file("input x\ny = relu(x)"), "--at", "x=0", "--strict"]) == 1
    assert cli.main(["check", file("input x\ny = ("), "--at", "x=0"]) == 2
    assert cli.main(["check", "no-such-file.gc"]) == 2
    assert cli.main(["check", file(NEURON), "--points", "3", "--at", "x1=1"]) == 2
    assert cli.main(["check", file(NEURON), "--point", "3"]) == 2


def test_the_command_prints_json(file, capsys):
    assert cli.main(["check", file("input x y\nz = x*log(y)"), "--points", "3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["ok"] and len(data["rows"]) == 6 and len(data["points"]) == 3


# Second derivatives, tangents and adjoints.


def test_hessians_are_checked():
    graph = gc.parse("input x y\nz = sin(x*y) + x**3*y")
    report = gc.check(graph, at={"x": 0.7, "y": -1.2}, want="hessian")
    assert report.verdict == "correct" and len(report.rows) == 4
    assert {row.of for row in report.rows} == {"(d z / d x)", "(d z / d y)"}
    graph = gc.parse("input x[3]\nparam W[2,3]\nz = sum(tanh(W @ x)**2)")
    report = gc.check(graph, points=2, want="hessian")
    assert report.ok and len(report.rows) == 2 * 81


TIES = {
    "max": "input x[2]\nL = max(x)**2",
    "min": "input x[2]\nL = min(x)**2",
    "along an axis": "input x[2,3]\nL = sum(max(x, axis=0)*x[0])",
    "maxpool": "input x[4]\nL = sum(maxpool(x, 2)**2)",
    "one by one": "input x[2]\nL = max(x[0], x[1])**2",
}


@pytest.mark.parametrize("at", [0.0, 1.0])
@pytest.mark.parametrize("text", TIES.values(), ids=TIES)
def test_a_tie_is_a_kink_of_second_derivatives(text, at):
    graph = gc.parse(text)
    report = gc.check(graph, "L", {"x": np.full(graph["x"].shape, at)}, want="hessian")
    assert report.verdict == "at-kink" and report.kinks == ["L"], str(report)
    assert {row.verdict for row in report.rows} <= {"at-kink", "correct"}


def test_many_kinks_that_meet_allow_the_slope_that_the_graph_declares():
    graph = gc.parse("param x\nh1 = selu(x)\nh2 = elu(h1)\nh3 = abs(h1)\nL = h2 + h3")
    report = gc.check(graph, "L", {"x": 0.0}, want="hessian")
    assert report.verdict == "at-kink", str(report)
    assert "the conventions there allow" in report.rows[0].evidence


@pytest.mark.parametrize("formula", ["abs(x**2)", "relu(x**2)", "where(x**2 > 0, x**2, 0)"])
def test_a_branch_that_neither_side_takes_is_a_kink_of_second_derivatives(formula):
    graph = gc.parse(f"input x\nL = {formula}")
    row = only(gc.check(graph, "L", {"x": 0.0}, want="hessian"))
    assert row.verdict == "at-kink" and "neither side takes its branch" in row.evidence
    assert of_x("relu(x)**2 + x", 0.0, 0.9).verdict == "wrong"
    assert of_x("abs(x)*x + x", 0.0, 0.9).verdict == "wrong"


def test_a_tie_that_neither_side_wins_is_a_kink_of_second_derivatives():
    graph = gc.parse('input x[4]\nL = sum(max(einsum("i,j->ji", x, x), axis=-2))')
    report = gc.check(graph, "L", {"x": np.array([-1.0, 0.0, 2.0, -2.0])}, want="hessian")
    assert report.verdict == "at-kink" and report.ok, str(report)


@pytest.mark.parametrize("want", ["grad", "hessian"])
@pytest.mark.parametrize("matrices", ["det(A)", "sum(inv(A))", "logdet(A)", "sum(solve(A, A[0]))"])
@pytest.mark.parametrize("kink", ["max(A)**2", "relu(A[0,0] - 2)", "abs(A[1,1] - 2)*A[0,0]"])
def test_matrices_hide_no_kinks(matrices, kink, want):
    graph = gc.parse(f"input A[2,2]\nk = {kink}\nL = {matrices}*k")
    report = gc.check(graph, "L", {"A": np.array([[2.0, 0.5], [0.3, 2.0]])}, want=want)
    assert report.verdict == "at-kink" and report.kinks == ["k"], str(report)


def test_a_slope_at_a_jump_is_that_of_the_value_there():
    graph = gc.parse("input x\nh = sign(x)\nL = tanh(x - 2*h)")  # its slopes on both sides: 0.07
    (row,) = gc.check(graph, "L", {"x": 0.0}).rows
    assert row.verdict == "at-kink" and "jumps by" in row.evidence and row.derived == 1
    (row,) = gc.check(graph, "L", {"x": 0.0}, claimed={"x": 2.0}).rows
    assert row.verdict == "wrong"


def test_a_number_has_no_second_derivatives():
    assert gc.check(gc.parse("input x[2]\nL = sum([1, 2])"), at={"x": [1, 2]}, want="hessian").ok


def test_a_size_may_be_told_by_what_is_not_needed():
    graph = gc.parse("input y[n]\ninput x[n]\nL = sum(x)\nk = sum(y)")
    report = gc.check(graph, "L", {"x": [1, 2], "y": [3, 4]}, want="hessian")
    assert report.ok and len(report.rows) == 4


def test_the_sides_of_a_kink_are_measured_for_all_outputs_at_once():
    graph = gc.parse("input x[16]\nL = sum(max(reshape(x, (8, 2)), axis=1)**2)")
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        original = Neighbourhood.digital
        patch.setattr(
            Neighbourhood, "digital", lambda *given: calls.append(given) or original(*given)
        )
        report = gc.check(graph, "L", {"x": np.zeros(16)}, want="hessian")
    assert report.verdict == "at-kink" and len(report.rows) == 256
    assert len(calls) <= 12 * 16  # not 12 for each of the rows


def test_a_wrong_partial_spoils_the_hessian():
    graph = gc.parse("input x = 1/2\ns = sin(x)\nd s / d x = cos(x) + x\nz = s**2")
    report = gc.check(graph, want="hessian")
    assert report.blame == [("x", "s")] and not report.ok


@pytest.mark.parametrize("text", TENSORS.values(), ids=TENSORS)
def test_tangents_and_adjoints_are_consistent(text):
    report = gc.check(gc.parse(text), points=2, rng=2, want="jvp")
    assert report.ok and len(report.rows) == 4, str(report)


def test_wants_are_explained():
    graph = gc.parse("input x = 1\ny = x**2\nz = x**3")
    with pytest.raises(gc.GraphcError, match="want='hvp' is not known"):
        gc.check(graph, want="hvp")
    with pytest.raises(gc.GraphcError, match="want='hessian' needs one output"):
        gc.check(graph, want="hessian")
    with pytest.raises(gc.GraphcError, match="leave out want='jvp'"):
        gc.check(graph, "y", claimed={"x": 2}, want="jvp")


# What is checked is what is shipped.


def test_a_bug_in_the_emitted_code_is_found(monkeypatch):
    from graphc.checking import emitted

    class Wrong:
        """A compiled function whose gradient is a little off."""

        def __init__(self, compiled):
            self.compiled, self.arguments = compiled, compiled.arguments

        def __call__(self, **at):
            value, gradient = self.compiled(**at)
            return value, {name: part * (1 + 1e-5) for name, part in gradient.items()}

    real = emitted.compile_graph
    monkeypatch.setattr(emitted, "compile_graph", lambda *a, **k: Wrong(real(*a, **k)))
    report = gc.check(gc.parse("input x = 2\ny = x**3"))
    assert report.verdict == "wrong" and not report.edges  # the rules are right, the code is not

    def broken(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(emitted, "compile_graph", broken)
    report = gc.check(gc.parse("input x = 2\ny = x**3"))
    assert not report.ok and "raised ZeroDivisionError: oh" in str(report)


def test_emitted_code_puts_a_plain_number_into_zeros():
    graph = gc.parse("input x[3]\nparam V[4,3]\nz = V @ x\ny = logsumexp(z) - z[0]")
    for dtype in ("float64", "float32"):
        report = gc.check(graph, points=2, dtype=dtype)
        assert report.verdict == "correct", str(report)


def test_the_branch_not_taken_may_have_no_value():
    graph = gc.parse("input x\ny = where(x > 0, log(x), x**2)")
    assert [only(gc.check(graph, at={"x": x})).verdict for x in (-1.0, 2.0)] == ["correct"] * 2


def test_points_are_drawn_for_given_values_too():
    graph = gc.parse("input x = 1\ny = x**3\nd y / d x = 3*x")
    assert gc.check(graph).ok  # at 1, where both slopes are 3
    assert not gc.check(graph, points=5, rng=0).ok


COARSE_OR_STILL = """
input x[15,15] y[15,15]
h = ({large} + x) - {large}
L = sum(h*y) + 3*sum(y**2)
"""


def still(large: float) -> tuple[gc.Graph, dict[str, np.ndarray]]:
    """A graph whose value does not move with x: too coarse to, or because it is constant in x."""
    graph = gc.parse(COARSE_OR_STILL.format(large=f"{large:.0f}"))
    rng = np.random.default_rng(0)
    return graph, {name: rng.uniform(0.5, 1, (15, 15)) for name in ("x", "y")}


def test_a_value_too_coarse_to_move_is_no_evidence_for_a_claim_of_0():
    graph, at = still(1e20)
    right = graph.compile("L", want="grad")(**at)
    report = gc.check(graph, "L", at, claimed={**right, "x": np.zeros((15, 15))})
    assert not report.ok
    assert {row.verdict for row in report.rows if row.name == "x"} == {"wrong"}


def test_what_stands_still_is_cleared_by_the_rules_whatever_its_place_in_a_batch():
    text = "input X[9,20]\nparam W[20,16] v[16]\nL = mean((relu(X @ W) @ v)**2)"
    rng = np.random.default_rng(1)
    at = {"X": rng.normal(size=(9, 20)), "W": rng.normal(size=(20, 16)), "v": rng.normal(size=16)}
    at["W"][:, 3] = -np.abs(at["W"][:, 3])
    at["X"][:] = np.abs(at["X"])  # unit 3 is dead at every point
    report = gc.check(gc.parse(text), "L", at, ["W", "v"])
    dead = [row for row in report.rows if row.name == "W" and row.index[1] == 3]
    assert report.verdict == "correct"
    assert {row.derived for row in dead} == {0.0}
    assert report.evaluations < 5 * len(report.rows)  # no closer look at any of them
