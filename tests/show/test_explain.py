"""Worked solutions: every line is true, every format is well formed, hostile names do no harm."""

import ast
import html.parser
import re
import shutil
import subprocess
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import solution_latex
from effort import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from solution_text import Referee, check, check_equations, equations

import graphc as gc
from graphc.cli import main
from graphc.show.solution_latex import PREAMBLE, declarations
from graphc.table.phrases import leaf
from graphc.write.mathml import mathml
from graphc.write.tables import cell_len

EXAMPLES = Path(__file__).parents[2] / "examples"
FIG27 = (EXAMPLES / "fig27.gc").read_text(encoding="utf-8")
POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
LADDER = "input x\na1 = sin(x)\nb1 = cos(x)\n" + "".join(
    f"a{t} = sin(a{t - 1} + b{t - 1})\nb{t} = cos(a{t - 1} + b{t - 1})\n" for t in range(2, 6)
)
LAYERS = """
input x[3]
param W[3,3] W2[1,3]
h1 = W @ x
h2 = relu(h1)
h3 = W2 @ h2
o = sigmoid(h3)
L = sum(-log(o))
"""
SIX = """
input x
f1 = exp(x)
f2 = f1**2
f3 = f1 + f2
f4 = exp(f3)
f5 = sin(f3)
y = f4 + f5
"""
NEURON = """
input x1 x2
param w1 w2 b
a = w1*x1 + w2*x2 + b
h = relu(a)
o = sigmoid(h)
L = (o - 1)**2/2
"""
# item: (graph, point, of, modes, {wrt: digits of the answer})
TEXTBOOK = {
    "aggarwal-fig2.7": (
        FIG27,
        POINT,
        "y10",
        ("reverse", "forward", "paths"),
        {
            "y3": "-0.0884965289553336847816058280616",
            "y2": "0.341704302310967459218559241385",
        },
    ),
    "aggarwal-2.3.3": (
        FIG27.replace("output y10", "L = log(y10**2)"),
        POINT,
        "L",
        ("reverse", "paths"),
        {
            "w2": "4.33591589351453413463271743469",
            "w3": "5.05856854243362315707150367381",
        },
    ),
    "aggarwal-2.16": (
        LADDER + "o = a5*b5\n",
        {"x": "1"},
        "o",
        ("reverse", "forward", "paths"),
        {"x": "-0.0691856694576352289004893917623"},
    ),
    "aggarwal-2.5.3": (
        LAYERS,
        {"x": [2, 1, 2], "W": [[2, -2, 0], [-1, 5, -1], [0, 3, -2]], "W2": [[-1, 1, -3]]},
        "L",
        ("reverse", "paths"),
        {},
    ),
    "prince-7.12": (
        SIX,
        {"x": "1/2"},
        "y",
        ("reverse",),
        {"x": "555.971967901508140749543876629"},
    ),
    "prince-7.13": (
        SIX,
        {"x": "1/2"},
        "y",
        ("forward",),
        {"x": "555.971967901508140749543876629"},
    ),
    "neuron": (
        NEURON,
        {"x1": "1", "x2": "-2", "w1": "3/2", "w2": "1/4", "b": "0"},
        "L",
        ("reverse", "forward", "paths"),
        {},
    ),
}
CASES = [(item, mode) for item, case in TEXTBOOK.items() for mode in case[3]]
pdflatex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


@cache
def solved(item, mode, symbolic=False):
    text, at, of, _, _ = TEXTBOOK[item]
    return gc.parse(text, item).explain(of, at=None if symbolic else at, mode=mode)


@pytest.mark.parametrize("symbolic", [False, True], ids=["point", "symbols"])
@pytest.mark.parametrize(("item", "mode"), CASES)
def test_every_line_is_true(item, mode, symbolic):
    text, at, _, _, _ = TEXTBOOK[item]
    solution = solved(item, mode, symbolic)
    lines = equations(solution.text)
    assert [left for left, _ in lines] == [step.left.text for step in solution.equations]
    assert [sides for _, sides in lines] == [
        [(relation, side.text) for relation, side in step.sides] for step in solution.equations
    ]
    assert check(solution.text, Referee(text, at)) >= len(lines)


@pytest.mark.parametrize("symbolic", [False, True], ids=["point", "symbols"])
@pytest.mark.parametrize(
    ("item", "mode"), [case for case in CASES if case[0] not in ("aggarwal-2.5.3", "neuron")]
)
def test_every_line_of_markdown_is_true(item, mode, symbolic):
    text, at, _, _, _ = TEXTBOOK[item]
    solution = solved(item, mode, symbolic)
    lines = solution_latex.equations(solution.markdown)
    assert [len(sides) for _, sides in lines] == [len(e.sides) for e in solution.equations]
    referee = Referee(text, at)
    assert check_equations(lines, referee) >= len(lines)
    if item == "aggarwal-fig2.7" and mode == "reverse":
        false = solution.markdown.replace(r"w_{2} y_{2} + w_{3}", r"w_{2} y_{2} - w_{3}")
        with pytest.raises(AssertionError):
            check_equations(solution_latex.equations(false), referee)


@pytest.mark.parametrize(("item", "mode"), CASES)
def test_the_results_are_the_book_s(item, mode):
    solution = solved(item, mode)
    for wrt, digits in TEXTBOOK[item][4].items():
        assert abs(mp.mpf(str(solution.results[wrt].evalf(30))) - mp.mpf(digits)) < mp.mpf("1e-25")


def test_the_vector_example_is_the_book_s():
    results = solved("aggarwal-2.5.3", "reverse").results
    assert [f"{float(v):.12f}" for v in results["x"]] == [
        "2.193175735890",
        "-5.117410050410",
        "0.731058578630",
    ]
    assert "S(h2, L) = W2.T @ S(h3, L)" in solved("aggarwal-2.5.3", "reverse").text
    assert "S(W, L) = outer(S(h1, L), x)" in solved("aggarwal-2.5.3", "reverse").text


def test_a_false_line_is_found():
    text = solved("aggarwal-fig2.7", "reverse").text
    referee = Referee(FIG27, POINT)
    for true, false in (
        ("= 21/100", "= 22/100"),
        ("≈ 0.295520", "≈ 0.295521"),
        ("S(y4, y10)*z(y2, y4) +", "S(y4, y10)*z(y1, y4) +"),
        ("= y1*y3", "= y2*y3"),
        ("-0.0164318)*(7/20)", "0.0164318)*(7/20)"),
    ):
        assert true in text
        with pytest.raises(AssertionError):
            check(text.replace(true, false), referee)


def test_the_values_are_those_of_the_sweep(fig27):
    solution = fig27.explain("y10", at=POINT)
    reverse, values = fig27.reverse("y10", POINT), fig27.values(POINT)
    known = {step.left.text: step.value for step in solution.equations}
    for name in fig27:
        assert known[name] == values[name]
        assert known[f"S({name}, y10)"] == reverse[name]
    for source, target in fig27.edges():
        assert known[f"z({source}, {target})"] == fig27.local(source, target, POINT)


@pytest.mark.parametrize("item", ["aggarwal-fig2.7", "prince-7.12", "neuron"])
def test_all_pairs(item):
    text, at, _, _, _ = TEXTBOOK[item]
    graph = gc.parse(text)
    solution = graph.explain_all_pairs(at)
    assert check(solution.text, Referee(text, at)) > 60
    assert solution.results == graph.all_pairs(at)
    assert check(graph.explain_all_pairs().text, Referee(text, at)) > 40
    assert "Row i, column j" in solution.text


def test_modes_agree_and_no_path_is_told():
    graph = gc.load(EXAMPLES / "unreached.gc")
    for mode in ("reverse", "forward", "paths"):
        solution = graph.explain("y", ["a", "b"], {}, mode)
        assert solution.results == {"a": 12, "b": 0}
        assert "(no path leads from b to y)" in solution.text
        assert r"\text{(no path leads from } b \text{ to } y \text{)}" in solution.markdown


def test_kinks_are_told():
    solution = gc.load(EXAMPLES / "kinks.gc").explain(at={})
    assert set(solution.kinks) == {"r", "half", "m"}
    assert "(relu: slope 0 at 0)" in solution.text
    assert "kink=share, as declared" in solution.text


def test_floats_say_their_digits():
    graph = gc.parse("input x\ny = x*x\nz = sin(y)")
    text = graph.explain("z", at={"x": 0.1}, digits=4).text
    assert "rounded to\n4 significant digits" in text
    assert "  x = 0.1000\n" in text
    assert "  z = sin(y) ≈ sin(0.01000) ≈ 0.01000" in text
    with pytest.raises(gc.GraphcError, match="1 to 15 digits"):
        graph.explain("z", at={"x": 0.1}, digits=40)


def test_bare_edges():
    graph = gc.from_edges({("x", "a"): "3/10", ("x", "b"): "2", ("a", "o"): "5", ("b", "o"): "-1"})
    text = graph.explain("o", at={}).text
    assert "z(x, a) = 3/10   (given)" in text
    assert "S(x, o) = S(a, o)*z(x, a) + S(b, o)*z(x, b)" in text
    assert (
        "d o / d x = S(x, o) = -1/2" in text or graph.explain("o", "x", {}).results["x"] * 2 == -1
    )


def test_parallel_edges_are_numbered():
    graph = gc.parse("input x\ny = x*x").expand()
    text = graph.explain("y", at={"x": 3}).text
    assert "S(x, y) = S(y, y)*z(x, y, 1) + S(y, y)*z(x, y, 2) = 1*3 + 1*3 = 6" in text


def test_own_derivatives_and_stops():
    text = gc.load(EXAMPLES / "own_derivative.gc").explain(at={}).text
    assert "(as declared)" in text
    stopped = gc.parse("input x\nh = x**2\nL = stop(h)*x").explain("L", at={"x": 3})
    assert stopped.results["x"] == 9
    assert "z(h, L)" not in stopped.text


def test_a_branch_not_taken():
    graph = gc.parse("input x\nu = log(x)\ny = where(x > 0, u, x)")
    solution = graph.explain("y", "x", {"x": 2})
    assert solution.results["x"] == gc.parse("input x\nu = log(x)\ny = u").derivative(
        "y", "x", {"x": 2}
    )


# Bounds.


def test_a_long_chain_is_cut_and_says_so():
    lines = ["input x0", *(f"x{i} = x{i - 1}*1.5" for i in range(1, 5001))]
    graph = gc.parse("\n".join(lines))
    assert calls(lambda: graph.explain("x5000", at={"x0": 1.0}).text) < 5_000_000
    text = graph.explain("x5000", at={"x0": 1.0}).text
    assert len(text) < 60_000
    assert "4900 of 5000 nodes are left out" in text
    symbolic = graph.explain("x5000").text
    assert "too long to be read" in symbolic


def test_many_paths_are_counted_not_listed(ladder):
    graph = ladder(40)
    text = graph.explain("o", "x", {"x": 0.5}, mode="paths").text
    assert f"There are {2**40} paths" in text
    assert f"The other {2**40 - 64} paths are left out" in text
    assert len(text) < 120_000  # 64 paths of forty factors


def test_many_terms_and_large_arrays_are_told_not_written():
    lines = ["input x", *(f"h{i} = x*{i}" for i in range(1, 61))]
    graph = gc.parse("\n".join([*lines, "L = sum(h[1..60])"]))
    assert "(a sum over 60 edges)" in graph.explain("L", at={"x": 1}).text
    wide = gc.parse("input x[100]\nL = sum(x**2)")
    assert "an array of shape (100,)" in wide.explain("L", at={"x": [0.5] * 100}).text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.explain("y10", mode="backwards"), "mode='backwards' is not known"),
        (lambda g: g.explain("y11"), "there is no node 'y11'; did you mean"),
        (lambda g: g.explain({"y10": 2}), "one node"),
        (lambda g: g.explain("y10", []), "wrt= is empty"),
        (lambda g: g.explain("y10", at={"y1": 1}), "values are missing"),
        (lambda g: g.explain("y10", at=dict.fromkeys(POINT, np.ones(2))), "about one point"),
    ],
)
def test_errors(fig27, call, message):
    with pytest.raises(gc.GraphcError, match=message):
        call(fig27)


def test_vectors_that_cannot_be_explained_are_refused():
    graph = gc.parse("input x[3]\nh = 2*x\nL = sum(h**2)")
    with pytest.raises(gc.GraphcError, match="a node of one element"):
        graph.explain("h")
    with pytest.raises(gc.GraphcError, match="graph of scalars"):
        graph.explain_all_pairs()
    with pytest.raises(gc.GraphcError, match="use mode='reverse'"):
        graph.explain("L", "x", {"x": [1, 2, 3]}, mode="forward")


# Formats.


@pytest.mark.parametrize(("item", "mode"), CASES)
def test_text_fits_80_columns(item, mode):
    for symbolic in (False, True):
        for line in solved(item, mode, symbolic).text.splitlines():
            assert cell_len(line) <= 80


def test_markdown_reads_like_a_book():
    page = solved("aggarwal-fig2.7", "reverse").markdown
    assert r"y_{6} &= w_{2} y_{2} + w_{3} y_{3}" in page
    assert r"z(y_{5}, y_{8}) &= -\sin\left(y_{5}\right)" in page
    assert r"S(i, y_{10}) = \sum_{j} S(j, y_{10}) \, z(i, j)" in page
    assert page.count("$$") == 2 * 5


class Tags(html.parser.HTMLParser):
    """Checks that tags are closed, and remembers them with their attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.attributes, self.text = [], set(), set(), ""

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


HTML = {
    *("html", "head", "meta", "title", "body", "style", "div", "h1", "h2", "p"),
    *("table", "tr", "td", "th", "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "code"),
    *("msub", "msup", "msubsup", "mfrac", "msqrt", "mroot", "mover", "mtable", "mtr", "mtd"),
}
SAFE = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "stretchy", "form", "width"),
    *("style", "mathvariant"),
}


def parsed(page):
    reader = Tags()
    reader.feed(page)
    assert reader.open == []
    assert reader.seen <= HTML
    assert reader.attributes <= SAFE
    return reader


@pytest.mark.parametrize(("item", "mode"), CASES)
def test_html_is_well_formed_mathml(item, mode):
    for symbolic in (False, True):
        reader = parsed(solved(item, mode, symbolic).html)
        assert "math" in reader.seen
        assert "code" not in reader.seen, "LaTeX that the reader of MathML does not know"


def test_mathml():
    assert mathml(leaf(r"\frac{1}{2} y_{10}^{2}")) == (
        "<math><mrow><mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac><msubsup>"
        "<mi>y</mi><mrow><mn>10</mn></mrow><mrow><mn>2</mn></mrow></msubsup></mrow></math>"
    )
    assert mathml(leaf(r"\href{javascript:x}{<b>}")).startswith("<code>")
    assert mathml(leaf("{" * 200 + "}" * 200)).startswith("<code>")
    told = "<math><mrow><mtext>&lt;script&gt;</mtext></mrow></math>"
    assert mathml(leaf(r"\text{<script>}")) == told


def test_notebooks(fig27):
    solution = fig27.explain("y10")
    assert solution._repr_markdown_() == solution.markdown
    assert "<html" not in solution._repr_html_()
    assert str(solution) == repr(solution) == solution.text


def compiled(tex, folder):
    """The number of pages that pdflatex made of a document."""
    file = folder / "solution.tex"
    file.write_text(tex, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", file.name],
        cwd=folder,
        capture_output=True,
    )
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    found = re.search(r"Output written on solution.pdf \((\d+) page", log)
    return int(found[1])


def together(solutions):
    """One document, so that TeX starts once."""
    body = "\n".join(solution.latex_body for solution in solutions)
    return f"{PREAMBLE}{declarations(body)}\\begin{{document}}\n{body}\\end{{document}}\n"


@pdflatex
def test_latex_compiles(tmp_path):
    one = solved("aggarwal-fig2.7", "reverse")
    assert together([one]) == one.latex
    assert compiled(one.latex, tmp_path) >= 2
    every = [solved(item, mode, s) for item, mode in CASES for s in (False, True)]
    every += [gc.parse(FIG27).explain_all_pairs(POINT), gc.parse(FIG27).explain_all_pairs()]
    every += [gc.load(EXAMPLES / "kinks.gc").explain(at={})]
    assert compiled(together(every), tmp_path) > 20


# Hostile names.

HOSTILE = [
    "<script>alert(1)</script>",
    '"]; node [',
    "javascript:alert(1)",
    r"\input{/etc/passwd}",
    r"\end{document}\write18{ls}",
    "a" * 10_000,
    "\u202egnp.exe",
    "line\n\n# break\r\n\x00\x1b[31m",
    "$x$ $$ & % # _ ^ ~ { } [a](http://b) ![c](d) `e` | * @f &amp; &lt;",
    "名前 é ß Ω ﷺ 😀",
]
letters = st.characters(categories=["Ll", "Lu", "Lo", "Lt", "Nd", "Pc", "Mn"])
names = st.text(letters, min_size=1, max_size=8).filter(
    lambda n: unicodedata.normalize("NFKC", n).isidentifier()
)


def hostile_graph(title, first, second):
    graph = gc.Graph(title)
    x = graph.input(first)
    graph.output(graph.node(second, gc.sin(x) * x + x / 3))
    return graph


def check_harmless(solution):
    reader = parsed(solution.html)
    assert "script" not in reader.seen
    for forbidden in (r"\input", r"\write", r"\end{document}", r"\include", r"\catcode"):
        assert forbidden not in solution.latex_body.replace(r"\textbackslash{}", "")
    prose = re.sub(r"\$\$.*?\$\$|(?<!\\)\$.*?(?<!\\)\$", "", solution.markdown, flags=re.DOTALL)
    assert not re.search(r"[<>~$]|(?<!\\)[`|\[\]]", prose)  # some readers know no \<
    assert "javascript:" not in prose
    for text in (solution.text, solution.markdown, solution.latex, solution.html):
        assert "\x00" not in text and "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize("title", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_titles_do_no_harm(title):
    for at in (None, {"x": "1/2"}):
        check_harmless(hostile_graph(title, "x", "y").explain("y", at=at))


def test_a_tag_in_a_title_is_text_in_every_markdown():
    title = "<img src=x onerror=alert(1)> &lt;b&gt; $x$ ~~y~~ a_b"
    solution = hostile_graph(title, "x", "y").explain("y", at={"x": "1/2"})
    first = solution.markdown.splitlines()[0]
    assert first.startswith("# &#60;img src=x onerror=alert(1)&#62; &#38;lt;b&#38;gt; &#36;x&#36; ")
    assert r"a\_b" in first


@pytest.mark.parametrize("title", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_titles_do_no_harm_elsewhere(title):
    graph = hostile_graph(title, "x", "y")
    for style in ("fast", "readable"):
        source = graph.emit(of="y", wrt="x", style=style)
        tree = ast.parse(source)
        assert [type(part) for part in tree.body[:2]] == [ast.Expr, ast.Import]
    assert repr(graph).isprintable() and len(repr(graph)) < 200


@settings(max_examples=60)
@given(title=st.text(max_size=30), first=names, second=names)
def test_hostile_names_do_no_harm(title, first, second):
    try:
        graph = hostile_graph(title, first, second)
    except gc.GraphcError:
        return  # not a name after all
    check_harmless(graph.explain(second, at={first: "1/2"}))


@pdflatex
def test_hostile_latex_compiles(tmp_path):
    odd = ["λ", "Ωmega", "é", "ł", "ß", "名前", "ǆ", "x_̈", "a__b", "_u", "ﬁ", "ʰ", "ø1", "д_2", "ا"]
    solutions = [hostile_graph(title, "x", "y").explain("y", at={"x": "1/2"}) for title in HOSTILE]
    for name in odd:
        try:
            graph = hostile_graph(name, name, "long_name_" * 19)
        except gc.GraphcError:
            continue
        solutions.append(graph.explain(graph.output_names[0], at={name: "1/2"}))
    assert len(solutions) > 20
    assert compiled(together(solutions), tmp_path) > 10


# The command line.


def run(capsys, *arguments):
    code = main(["explain", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_the_command_writes_every_format(capsys, tmp_path):
    file, at = EXAMPLES / "fig27.gc", ",".join(f"{k}={v}" for k, v in POINT.items())
    solution = gc.load(file).explain("y10", ["y2"], POINT)
    for kind in ("text", "markdown", "latex", "html"):
        arguments = (file, "--of", "y10", "--wrt", "y2", "--at", at, "--format", kind)
        assert run(capsys, *arguments) == (0, getattr(solution, kind), "")
    for suffix, kind in ((".md", "markdown"), (".tex", "latex"), (".html", "html")):
        page = tmp_path / f"page{suffix}"
        assert run(capsys, file, "--wrt", "y2", "--at", at, "-o", page) == (0, "", "")
        assert page.read_text(encoding="utf-8") == getattr(solution, kind)


def test_the_command_uses_given_values_and_modes(capsys):
    neuron = EXAMPLES / "neuron.gc"
    graph = gc.load(neuron)
    assert run(capsys, neuron)[1] == graph.explain(at={}).text
    assert run(capsys, neuron, "--symbolic")[1] == graph.explain().text
    assert run(capsys, neuron, "--mode", "all-pairs")[1] == graph.explain_all_pairs({}).text
    assert run(capsys, neuron, "--mode", "paths", "--digits", 3)[1] == (
        graph.explain(at={}, mode="paths", digits=3).text
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--of", "y11"), "did you mean"),
        (("--symbolic", "--at", "y1=1"), "leave one out"),
        (("--mode", "all-pairs", "--of", "y10"), "leave --of and --wrt out"),
        (("-o", "/no/such/folder/page.md"), "cannot write"),
        (("--digits", "0"), "1 to 15 digits"),
        (("--at", "y1=1/2"), "values are missing"),
    ],
)
def test_the_command_complains_in_one_sentence(capsys, arguments, message):
    code, out, err = run(capsys, EXAMPLES / "fig27.gc", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("graphc: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_reciprocal_gets_its_brackets():
    graph = gc.parse("input h = -1\no = sigmoid(h)\nM = 2/o\nN = o*M")
    text = graph.explain("N", "h", at={}).text
    assert "M = 2/o = 2/(1/(1 + E)) = 2 + 2*E" in text
    assert "z(h, o) = o*(1 - o)" in text


# What random graphs found.


def test_the_norm_of_several_scalars_in_latex():
    solution = gc.parse("input x y\nL = norm(x, y)").explain("L")
    assert r"\left\lVert x, y \right\rVert" in solution.latex


def test_a_node_that_only_a_condition_mentions_beside_tensors():
    g = gc.parse("input x y z\nparam w\nu = where(y == norm(z, z)/w, 1, x)\nL = relu(u)")
    assert "u" in g.explain("L").text
    assert "u" in g.explain("L", at={"x": 1, "y": 2, "z": 3, "w": 4}).text


def test_a_path_beside_one_that_has_no_number_is_told_in_one_sentence():
    g = gc.parse("input x y\nn = sign(abs(y))\nm = asin((y/x)*relu(n))\nL = leaky_relu(m)")
    with pytest.raises(gc.GraphcError, match="not a finite real number"):
        g.explain("L", "y", at={"x": -1, "y": 1}, mode="paths")
