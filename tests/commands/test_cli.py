"""The command line: what it prints, in four formats, and how it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphc as gc
from graphc.cli import main
from graphc.table.letters import name_latex
from graphc.write.latex import expression_latex, formula_latex
from graphc.write.tables import Table, page_text, wrapped

ROOT = Path(__file__).parents[2]
FIG27 = str(ROOT / "examples" / "fig27.gc")
NEURON = str(ROOT / "examples" / "neuron.gc")
POINT = "y1=1/2,y2=3/5,y3=7/10,w2=4/5,w3=-3/10"


@pytest.fixture
def run(capsys):
    """Runs a command; gives its exit code, output and complaints."""

    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def printed(run):
    """Runs a command that must succeed silently; gives its output."""

    def command(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        return out

    return command


@pytest.fixture
def file(tmp_path):
    """Writes a graph, or anything else, into a file."""

    def write(content, name="graph.gc"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def process(*arguments, **options):
    """A separate process, for what only a process can show."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "graphc.cli", *arguments],
        capture_output=True,
        env=environment,
        **options,
    )


# show


def test_show_prints_nodes_edges_and_outputs(printed):
    out = printed("show", FIG27)
    assert "y6    compute  w2*y2 + w3*y3  w2, y2, w3, y3\n" in out
    assert "y5 -> y8   -sin(y5)\n" in out
    assert out.endswith("Outputs: y10\n")


def test_show_says_where_no_derivative_passes(printed, file):
    assert "x -> y  stopped\n" in printed("show", file("input x\ny = stop(x)\n"))


def test_show_gives_values_and_constants(printed, file):
    out = printed("show", file("input x = 1/3\nc = 2\np = pi\ny = c*p*x\n"))
    assert ["x", "input", "1/3"] in [line.split() for line in out.splitlines()]
    assert ["c", "const", "2"] in [line.split() for line in out.splitlines()]
    assert ["p", "const", "pi"] in [line.split() for line in out.splitlines()]


def test_show_as_json(printed):
    data = json.loads(printed("show", FIG27, "--format", "json"))
    assert data["outputs"] == ["y10"]
    assert {"source": "y5", "target": "y8", "local": "-sin(y5)"} in data["edges"]
    assert data["nodes"][5] == {
        "name": "y4",
        "kind": "compute",
        "formula": "y1*y2",
        "parents": ["y1", "y2"],
    }


def test_show_as_latex_and_markdown(printed):
    out = printed("show", FIG27, "--format", "latex")
    assert r"y_{6} &= w_{2} y_{2} + w_{3} y_{3} \\" in out
    assert r"\frac{\partial y_{8}}{\partial y_{5}} &= -\sin\left(y_{5}\right) \\" in out
    out = printed("show", FIG27, "--format", "markdown")
    assert r"| $y_{5} \to y_{8}$ | $-\sin\left(y_{5}\right)$ |" in out


def test_show_and_help_do_without_sympy():
    for arguments in (["--help"], ["show", FIG27], ["show", NEURON, "--format", "latex"]):
        code = "import sys; from graphc.cli import main; main(sys.argv[1:]); "
        code += "sys.exit('sympy' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        assert done.returncode == 0


# derive


def test_derive_in_symbols_when_values_are_missing(printed):
    out = printed("derive", FIG27, "--of", "y10", "--wrt", "y2")
    assert "y2    w2*y7*y8*cos(y6) - y1*y3*y7*y9*sin(y5) + y1*y8*y9*cos(y4)\n" in out


def test_derive_uses_given_values_unless_told_otherwise(printed):
    assert "w1    -1/4        -0.25\n" in printed("derive", NEURON, "--wrt", "w1")
    assert "x1*" in printed("derive", NEURON, "--wrt", "w1", "--symbolic")
    assert "a_bar*x1" in printed("derive", NEURON, "--wrt", "w1", "--form", "steps")
    assert "exp(" in printed("derive", NEURON, "--wrt", "w1", "--form", "inputs")


def test_values_that_the_question_does_not_need_may_be_missing(printed, file):
    graph = file("input x = 3\ninput unused\ny = x**2\nz = unused*x\noutput y z\n")
    assert "x     6           6\n" in printed("derive", graph, "--of", "y")


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward", "paths", "all-pairs"])
def test_every_mode_gives_the_same_exact_answer(printed, mode):
    arguments = ["--of", "y10", "--wrt", "y2,w2", "--mode", mode, "--at", POINT]
    data = json.loads(printed("derive", FIG27, *arguments, "--format", "json"))
    at = dict(pair.split("=") for pair in POINT.split(","))
    expected = gc.load(FIG27).reverse("y10", at)
    found = data["derivatives"]
    assert [(row["of"], row["wrt"]) for row in found] == [("y10", "y2"), ("y10", "w2")]
    assert [row["value"] for row in found] == [str(expected["y2"]), str(expected["w2"])]
    assert found[0]["float"] == pytest.approx(0.341704302310967459, rel=1e-15)
    assert data["at"] == at


def test_json_of_symbols(printed):
    data = json.loads(printed("derive", FIG27, "--wrt", "y9", "--format", "json"))
    row = {"of": "y10", "wrt": "y9", "value": "y7*y8", "float": None, "path": True}
    assert data["derivatives"] == [row]
    assert (data["mode"], data["form"], data["at"]) == ("reverse", "nodes", None)


def test_json_of_paths(printed):
    arguments = ["--wrt", "y1", "--mode", "paths", "--at", POINT, "--format", "json"]
    row = json.loads(printed("derive", FIG27, *arguments))["derivatives"][0]
    assert [term["path"] for term in row["terms"]] == [
        ["y1", "y4", "y7", "y10"],
        ["y1", "y5", "y8", "y10"],
    ]
    assert sum(term["float"] for term in row["terms"]) == pytest.approx(row["float"])


def test_no_path_is_said(printed, file):
    graph = file("input x z\nw = z**2\ny = x**2\noutput y\n")
    assert "z     0 (no path)\n" in printed("derive", graph, "--wrt", "x,z")
    assert r"0 \quad \text{(no path)}" in printed(
        "derive", graph, "--wrt", "z", "--format", "latex"
    )
    data = json.loads(printed("derive", graph, "--wrt", "z", "--format", "json"))
    assert data["derivatives"][0]["path"] is False
    assert "there is no path" in printed("derive", graph, "--wrt", "z", "--mode", "paths")


def test_seeds_weigh_the_outputs(printed, file):
    graph = file("input x = 2\ny = x**2\nz = x**3\n")
    out = printed("derive", graph, "--of", "y=5,z=1/2", "--wrt", "x")
    assert "d (5*y + (1/2)*z) / d node" in out
    assert "x     26          26\n" in out
    out = printed("derive", graph, "--of", "y=g", "--wrt", "x", "--symbolic", "--format", "latex")
    assert r"\bar{x} &= 2 g x" in out


def test_several_outputs_are_derived_one_by_one(printed):
    out = printed("derive", ROOT / "examples" / "two_outputs.gc")
    assert "d x / d node" in out and "d y / d node" in out
    assert "φ     sqrt(3)     1.73205080757\n" in out


def test_steps_forward(printed):
    arguments = ["--wrt", "y2", "--mode", "forward", "--form", "steps"]
    assert "y7_dot   y4_dot*cos(y4)\n" in printed("derive", FIG27, *arguments)


def test_members_of_families(printed, file):
    graph = file("input h[1..2,1..2]\ny = h[1,1]*h[2,2]\n")
    out = printed("derive", graph, "--at", "h[1,1]=2,h2_2=3", "--wrt", "h[1,1]")
    assert "At h1_1 = 2, h2_2 = 3\n" in out and "h1_1  3 " in out


def test_a_point_from_a_file_is_exact(printed, file):
    point = file('{"x": 0.3, "w": "1/3", "b": 2}', "point.json")
    graph = file("input x\nparam w b\ny = w*x**2 + b*x\n")
    assert "x     11/5        2.2\n" in printed("derive", graph, "--at", point)
    assert "x     8/3 " in printed("derive", graph, "--at", point, "--at", "x=1")


def test_kinks_are_noted_once(run, file):
    code, out, err = run("derive", file("input x = 0\nr = relu(x)\n"), "--mode", "paths")
    assert code == 0 and "0" in out
    assert err.startswith("note: node 'r' = relu(x) sits on its kink") and err.count("\n") == 1


def test_long_numbers_are_printed_as_digits(printed):
    out = printed("derive", ROOT / "examples" / "ladder5.gc", "--wrt", "x")
    assert "-0.0691856694576352289004893917623" in out


def test_standard_input():
    done = process("derive", "-", "--wrt", "x", input=b"input x = 3\ny = x**2\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"x     6           6\n" in done.stdout


# layout


def test_piped_output_is_plain_and_narrow(printed, file):
    lines = ["input x", *(f"a_rather_long_name_{i} = sin(x)*cos(x)*{i}" for i in range(1, 9))]
    lines.append("y = " + "*".join(f"a_rather_long_name_{i}" for i in range(1, 9)))
    lines.append("漢字 = y*x")
    graph = file("\n".join(lines) + "\noutput 漢字\n")
    for arguments in (
        ["show", graph],
        ["derive", graph],
        ["derive", graph, "--mode", "paths", "--wrt", "x"],
        ["derive", FIG27, "--at", POINT],
        ["demo"],
    ):
        out = printed(*arguments)
        assert max(map(len, out.splitlines())) <= 80
        assert "\x1b" not in out
        assert not any(line != line.rstrip() for line in out.splitlines())


def test_lines_break_between_terms_then_words_then_factors():
    assert wrapped("a*b + c*d - e", 8) == ["a*b", "+ c*d", "- e"]
    assert wrapped("one two three", 8) == ["one two", "three"]
    assert wrapped("aaa*bbb**2*ccc", 8) == ["aaa*", "bbb**2*", "ccc"]
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert "".join(wrapped("漢" * 9, 5)) == "漢" * 9


def test_the_widest_column_gives_way():
    table = Table("", ("a", "b"), [("x", "y" * 30), ("z", "w")])
    assert page_text([table], 14).splitlines()[2] == "x  " + "y" * 11


def test_a_terminal_gets_the_same_words(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["derive", FIG27, "--wrt", "y9"]) == 0
    out = capsys.readouterr().out
    assert "d y10 / d node" in out and "y7*y8" in out


def test_output_does_not_depend_on_the_hash_seed():
    for arguments in (
        ["demo"],
        ["derive", FIG27, "--format", "latex"],
        ["derive", FIG27, "--mode", "all-pairs", "--format", "json"],
    ):
        outputs = {process(*arguments, env={"PYTHONHASHSEED": seed}).stdout for seed in "123"}
        assert len(outputs) == 1


def test_the_demo_shows_four_modes_that_agree(printed):
    out = printed("demo")
    assert "y2   w2*y7*y8*cos(y6) - y1*y3*y7*y9*sin(y5) + y1*y8*y9*cos(y4)\n" in out
    assert "0.341704302311\n" in out
    assert "All 48 results agree." in out and "DIFFERENT" not in out


def test_version(printed):
    assert printed("--version") == f"graphc {gc.__version__}\n"


# refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: command"),
        (["explode", FIG27], "invalid choice: 'explode'"),
        (["show"], "required: FILE"),
        (["show", "missing.gc"], "cannot read 'missing.gc'"),
        (["show", str(ROOT)], "is a directory"),
        (["show", sys.executable], "is not a text file"),
        (["show", FIG27, "--format", "xml"], "invalid choice: 'xml'"),
        (["derive", FIG27, "--of", "y99"], "no node 'y99'"),
        (["derive", FIG27, "--wrt", "y1,,y2"], "empty name"),
        (["derive", FIG27, "--wrt", "nope"], "no node 'nope'"),
        (["derive", FIG27, "--mode", "sideways"], "invalid choice"),
        (["derive", FIG27, "--at", "y1=1"], "missing for y2, y3, w2, w3; give them in --at"),
        (["derive", FIG27, "--at", "y4=1"], "'y4' is computed by the graph"),
        (["derive", FIG27, "--at", "q=1"], "no input or param 'q'"),
        (["derive", FIG27, "--at", "y1=1/0"], "divides by 0"),
        (["derive", FIG27, "--at", "y1=1,y1=2"], "given twice"),
        (["derive", FIG27, "--at", "y1="], "has no value"),
        (["derive", FIG27, "--at", "y1=1,y2"], "has no value"),
        (["derive", FIG27, "--at", "y1=__import__('os')"], "no function '__import__'"),
        (["derive", FIG27, "--at", "missing.json"], "cannot read 'missing.json'"),
        (["derive", FIG27, "--at", POINT, "--symbolic"], "leave one out"),
        (["derive", FIG27, "--at", POINT, "--form", "steps"], "leave one out"),
        (["derive", FIG27, "--of", "y10=5", "--mode", "forward"], "belong to --mode reverse"),
        (["derive", FIG27, "--of", "y10=5,y9"], "mixes names"),
        (["derive", FIG27, "--of", "y10=5", "--symbolic", "--mode", "paths"], "--mode reverse"),
        (["derive", NEURON, "--of", "L=g"], "mentions the symbol 'g'"),
        (["derive", FIG27, "--form", "steps", "--mode", "paths"], "--form steps belongs to"),
        (["derive", FIG27, "--form", "inputs", "--mode", "all-pairs"], "leave --form out"),
        (["derive", FIG27, "--mode", "paths", "--limit", "1"], "pass --limit 2"),
        (["derive", FIG27, "--limit", "0"], "give at least 1"),
        (["demo", "extra"], "unrecognized arguments"),
    ],
)
def test_bad_usage_is_one_sentence(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("graphc: ") and message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"y1": NaN}', "give a finite number"),
        ('{"y1": -Infinity}', "give a finite number"),
        ('{"y1": 1e999999}', "over 4000 digits"),
        ('{"y1": 1', "is not JSON"),
        ("[1, 2]", "must hold an object"),
        ('{"y1": [1, 2]}', "give a finite number"),
        ('{"y1": true}', "give a finite number"),
        ('{"y1": null}', "give a finite number"),
        ('{"y1": 1, "y1": 2}', "given twice"),
        ('{"y1": "x); import os"}', "the value of 'y1'"),
        ("[" * 100_000, "nests too deep"),
        (b"\xff\xfe\x00", "is not a text file"),
    ],
)
def test_bad_point_files(run, file, content, message):
    code, out, err = run("derive", FIG27, "--at", file(content, "point.json"))
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err


@pytest.mark.parametrize(
    "content",
    [
        "input x\ny = x +\n",
        "input x\ny = z\n",
        "input lambda\n",
        "y = __import__('os').system('touch hacked')\n",
        "input x); import os\n",
        "input x\x00\n",
        "input x\u202e\n",
        "input x\ny = " + "(" * 10_000 + "x" + ")" * 10_000,
        "# " + "x" * 1_000_000,
        b"\xff\xfe\x00\x01",
        "for t in 1..3:\n",
    ],
)
def test_bad_files(run, file, content, tmp_path):
    for command in ("show", "derive"):
        code, out, err = run(command, file(content))
        assert (code, out) == (2, "")
        assert err.startswith("graphc: graph.gc, line") or "is not a text file" in err
        assert "Traceback" not in err
    assert not (tmp_path / "hacked").exists()


def test_nothing_to_derive(run, file):
    code, _, told = run("derive", file(""))
    assert code == 2 and told.startswith("graphc: ")


def test_a_value_that_does_not_exist(run, file):
    code, out, err = run("derive", file("input x = 0\ny = log(x)\n"))
    assert (code, out) == (2, "") and "log(0)" in err


def test_bad_standard_input():
    done = process("show", "-", input=b"\xff")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"graphc: standard input is not text in UTF-8\n"
    done = process("show", "-", input=b"y = q\n")
    assert done.returncode == 2 and done.stderr.startswith(b"graphc: standard input, line 1")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_reader_that_leaves_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "graphc.cli", "show", FIG27],
            stdout=closed,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert (done.returncode, done.stderr) == (141, b"")


# The signal comes while the graph is read, whether or not this process was told to ignore it.
INTERRUPTED = """
import io, runpy, signal, sys

class Interrupting(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, buffer):
        signal.raise_signal(signal.SIGINT)
        return 0

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdin = io.TextIOWrapper(io.BufferedReader(Interrupting()))
sys.argv[1:] = ["show", "-"]
runpy.run_module("graphc.cli", run_name="__main__")
"""


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_an_interrupt_is_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (130, b"graphc: interrupted\n")


# LaTeX


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("y", "y"),
        ("y10", "y_{10}"),
        ("w_2", "w_{2}"),
        ("h2_1", "h_{2,1}"),
        ("alpha", r"\alpha"),
        ("theta_x", r"\theta_{x}"),
        ("ψ", r"\psi"),
        ("λ1", r"\lambda_{1}"),
        ("Ω", r"\Omega"),
        ("lambda_", r"\lambda"),
        ("h_bar", r"\bar{h}"),
        ("h2_1_bar", r"\bar{h}_{2,1}"),
        ("x_dot", r"\dot{x}"),
        ("x_bar_2", r"\bar{x}_{2}"),
        ("x_bar_dot", r"\dot{\bar{x}}"),
        ("loss", r"\mathrm{loss}"),
        ("W_in", r"W_{\mathrm{in}}"),
        ("a1b", r"\mathtt{a1b}"),
        ("_x", r"\mathtt{\_x}"),
        ("漢字", r"\text{漢字}"),
        (
            r"x}\input{a}$%#&^~",
            r"\mathtt{x\}\textbackslash{}input\{a\}\$\%\#\&"
            r"\textasciicircum{}\textasciitilde{}}",
        ),
    ],
)
def test_names_in_latex(name, latex):
    assert name_latex(name) == latex


@pytest.mark.parametrize(
    ("formula", "latex"),
    [
        ("a*(b + 1)", r"a \left(b + 1\right)"),
        ("a - (b - 1)", r"a - \left(b - 1\right)"),
        ("a/(b + 1)*2", r"\frac{a}{b + 1} \cdot 2"),
        ("(a/b)**2", r"\left(\frac{a}{b}\right)^{2}"),
        ("exp(a)**2", r"\left(e^{a}\right)^{2}"),
        ("a**(b + 1)", r"a^{b + 1}"),
        ("-a*b", r"-a b"),
        ("a*(-b)", r"a \left(-b\right)"),
        ("(a + b)**0.5", r"\left(a + b\right)^{0.5}"),
        ("max(a, b, 3)", r"\max\left(a, b, 3\right)"),
        ("leaky_relu(a)", r"\operatorname{leaky\_relu}\left(a\right)"),
        ("leaky_relu(a, 0.2)", r"\operatorname{leaky\_relu}\left(a, 0.2\right)"),
        ("abs(a)", r"\left|a\right|"),
        ("pi*a", r"\pi a"),
        ("sigmoid(a)", r"\sigma\left(a\right)"),
        ("where(a > 0, a, b)", r"\begin{cases} a & a > 0 \\ b & \text{otherwise} \end{cases}"),
    ],
)
def test_formulas_in_latex(formula, latex):
    graph = gc.parse(f"input a b\ny = {formula}\n")
    assert formula_latex(graph, graph.row("y")) == latex


def test_every_function_has_a_formula_in_latex():
    from graphc.table.functions import FUNCTIONS

    for name, record in FUNCTIONS.items():
        internal = name in ("taken", "untaken", "pi", "where", "identity")
        if record.infix or internal or record.origin == "user":
            continue
        operands = ", ".join("abc"[: len(record.parameters)])
        graph = gc.parse(f"input a b c\ny = {name}({operands})\n")
        latex = formula_latex(graph, graph.row("y"))
        assert latex.count("{") == latex.count("}"), name
        assert latex.count(r"\left") == latex.count(r"\right"), name
        assert all(operand in latex for operand in operands.split(", ")), name


def test_results_in_latex_use_the_same_names():
    graph = gc.parse("input x1\nparam alpha\nh_bar = relu(alpha*x1)\n")
    assert expression_latex(graph.derivative("h_bar", "x1")) == (
        r"\alpha \left[\alpha x_{1} > 0\right]"
    )
