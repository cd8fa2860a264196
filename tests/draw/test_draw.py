"""Drawings: what they say and how they look; nothing overlaps, and no name breaks out."""

import importlib.util
import os
import re
import stat
import subprocess
import sys
import unicodedata
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from effort import calls
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

import graphc as gc
from graphc.cli import main
from graphc.draw.drawing import mimebundle, picture, planned
from graphc.draw.frames import steps
from graphc.draw.mathematics import number_phrase, value_phrase
from graphc.draw.render import TooSlow, rendered
from graphc.draw.themes import SHAPES, THEMES
from graphc.table.letters import name_math
from graphc.table.phrases import drawn as unicode_of
from graphc.write.formula import formula_line

ROOT = Path(__file__).parents[2]
POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def fig27():
    return gc.load(ROOT / "examples" / "fig27.gc")


@pytest.fixture(scope="module")
def making():
    file = ROOT / "docs" / "make_pictures.py"
    spec = importlib.util.spec_from_file_location("make_pictures", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(svg):
    return ElementTree.fromstring(svg)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """A notebook's patience with Graphviz is a matter of the machine, not of these tests."""
    monkeypatch.setattr("graphc.draw.drawing.NOTEBOOK_SECONDS", 3600.0)


# What is drawn.


def test_every_node_and_edge_is_there(fig27):
    import pygraphviz

    parsed = pygraphviz.AGraph(string=fig27.to_dot().source)
    assert sorted(parsed.nodes()) == sorted(fig27)
    assert sorted(parsed.edges()) == sorted(fig27.edges())


def test_numbers_are_those_of_the_verbs(fig27):
    sheet = planned(fig27, at=POINT, of="y10").sheet()
    values, adjoints = fig27.values(POINT), fig27.reverse("y10", POINT)
    for name in fig27:
        title = sheet.titles[sheet.nodes[name]]
        assert _number(title, "value = ") == float(values[name].evalf(30))
        assert _number(title, "adjoint = ") == float(adjoints[name].evalf(30))
    for source, target in fig27.edges():
        title = sheet.titles[sheet.edges[source, target, 0]]
        assert title.startswith(f"d {target} / d {source} = ")
        assert _number(title, " = ") == float(fig27.local(source, target, POINT).evalf(30))


def _number(title, mark):
    from sympy import Rational

    return float(Rational(re.split(r", [a-z]", title.split(mark, 1)[1])[0]))


def test_labels_say_what_is_known(fig27):
    source = fig27.to_dot(at=POINT, of="y10").source
    for text in ("y₁₀ = y₇·y₈·y₉", "= 0.2955", "ȳ₇ = 0.2609", "−0.2085", "w₃ = −"):
        assert text.replace(" ", "\u00a0") in source
    theme = THEMES["light"]
    assert f'COLOR="{theme.local}" POINT-SIZE="12">0.9553<' in source
    assert f'<B><FONT COLOR="{theme.adjoint}" POINT-SIZE="14">ȳ₇' in source
    symbols = fig27.to_dot(of="y10").source
    for text in ("cos(y₄)", "ȳ₄ = ȳ₇·cos(y₄)", "ȳ₁₀ = 1"):
        assert text.replace(" ", "\u00a0") in symbols


def test_show_chooses(fig27):
    everything = fig27.to_dot(at=POINT, of="y10").source
    for show, absent in (
        (("values", "local"), "ȳ"),
        (("values", "adjoint"), "0.9553"),
        ("adjoint", "0.2955"),
    ):
        assert absent in everything
        assert absent not in fig27.to_dot(at=POINT, of="y10", show=show).source.split("label=<")[0]
        drawn = planned(fig27, at=POINT, of="y10", show=show).known
        assert bool(drawn.values) == ("values" in show)
        assert bool(drawn.local) == ("local" in show)
        assert bool(drawn.adjoint) == ("adjoint" in show)


def test_kinds_have_colours_and_shapes():
    graph = gc.parse("input x\nparam w\nc = 3\ny = w*x + c\n")
    found = {
        element.get("class").split()[1]: element
        for element in tree(picture(graph).svg).iter(f"{SVG}g")
        if element.get("class", "").startswith("node")
    }
    assert list(found) == ["input", "param", "const", "compute"] or len(found) == 4
    for kind, element in found.items():
        fills = [part.get("fill") for part in element if part.get("fill")]
        assert THEMES["light"].nodes[kind].fill in fills
    assert found["input"].find(f"{SVG}ellipse") is not None
    assert "loss" in found["compute"].get("class")
    assert len({tuple(shape.values()) for shape in SHAPES.values()}) == len(SHAPES)


def test_parallel_edges_are_kept():
    graph = gc.parse("input x\ny = x*x\n").expand()
    sheet = planned(graph, at={"x": 3}).sheet()
    assert set(sheet.edges) == {("x", "y", 0), ("x", "y", 1)}
    assert sheet.dot.source.count("\tx -> y ") == 2
    assert len(set(sheet.edges.values())) == 2


def test_tensors_say_their_shapes():
    graph = gc.parse("input x[3]\nparam W[n,3]\nh = tanh(W @ x)\nL = sum(h**2)\n")
    source = graph.to_dot().source.replace("\u00a0", " ")
    for text in ("W (n×3)", "h (n) = tanh(W x)", "diag(1 − h²)", "x̄ = Wᵀ (h̄·(1 − h²))"):
        assert text in source, text


def test_each_use_of_a_shared_weight_shows_what_it_adds():
    graph = gc.parse("input x = 2\nparam w = 3\nparam v = 5\na = w*x\nb = w*a\nL = v*b\noutput L")
    source = planned(graph, at={}, of="L", weights="edges").sheet().dot.source
    source = source.replace("\u00a0", " ")
    assert source.count("w̄ += 30") == 2  # 30 from either use, which makes 60
    assert "w̄ = " not in source and "v̄ = 18" in source
    symbols = planned(graph, of="L", weights="edges").sheet().dot.source.replace("\u00a0", " ")
    assert "w̄ += ā·x" in symbols
    twice = gc.parse("input x y\nparam w\na = w*x + w*y")
    assert "w" in planned(twice, weights="edges").sheet().nodes


def test_weights_on_edges():
    graph = gc.parse("input x\nparam w b\nz = w*x + b\ny = w*sin(z)\n")
    sheet = planned(graph, weights="edges").sheet()
    assert set(sheet.nodes) == {"x", "w", "b", "z", "y"}  # w multiplies no node in y: it stays
    graph = gc.parse("input x = 2\nparam w = 1/2\nparam b = 1\nz = w*x + b\n")
    sheet = planned(graph, at={}, weights="edges").sheet()
    assert set(sheet.nodes) == {"x", "b", "z"}
    source = sheet.dot.source.replace("\u00a0", " ")
    assert "w = " in source and "w̄ = 2" in source
    matrix = gc.parse("input x[3]\nparam W[2,3]\nh = W @ x\n")
    assert set(planned(matrix, weights="edges", show=()).sheet().nodes) == {"x", "h"}


def test_highlight(fig27):
    path = ("y2", "y4", "y7", "y10")
    plan = planned(fig27, highlight=path)
    names = {fig27.names[row] for row in plan.look.highlight.nodes}
    assert names == set(path)
    assert len(plan.look.highlight.edges) == 3
    best = fig27.top_paths("y10", "y2", POINT, k=2)
    widths = planned(fig27, highlight=best).look.highlight
    rows = [fig27.row(name) for name in best.terms[1].path]
    assert widths.edges[rows[0], rows[1]] < max(widths.edges.values())
    assert planned(fig27, highlight=[path, ("y2", "y5")]).look.highlight.edges
    assert planned(fig27, highlight="y4").look.highlight.nodes
    with pytest.raises(gc.GraphcError, match="no edge from 'y1' to 'y10'"):
        fig27.to_dot(highlight=("y1", "y10"))
    with pytest.raises(gc.GraphcError, match="no node 'q'"):
        fig27.to_dot(highlight="q")


def test_a_stopped_edge_is_dashed():
    graph = gc.load(ROOT / "examples" / "stop.gc")
    line = next(x for x in graph.to_dot().source.splitlines() if x.startswith("\tw -> target"))
    assert "style=dashed" in line


def test_both_passes_of_a_derivative_graph():
    graph = gc.load(ROOT / "examples" / "neuron.gc").differentiate("L")
    plan = planned(graph)
    layer = {box.key: box.layer for box in plan.outline.boxes}
    cluster = {box.key: box.cluster for box in plan.outline.boxes}
    for name in ("a", "o", "L", "w1", "w2", "b"):
        assert layer[f"{name}_bar"] == layer[name]
        assert (cluster[name], cluster[f"{name}_bar"]) == ("forward", "backward")
    assert "dir=back" in plan.sheet().dot.source
    mean = gc.parse("input x\nx_bar = x/2\n")  # a name alone makes nobody an adjoint
    assert not planned(mean).outline.clusters


def test_second_derivatives_and_extended_graphs_are_drawn():
    graph = gc.parse("input x\ny = x**3\n").differentiate("y", "x")
    again = graph.differentiate("x_bar", "x")
    again.node("step", "x - x_bar")
    assert picture(again).nodes.keys() == set(again)


def test_graphs_of_which_only_edges_are_known():
    graph = gc.from_edges([("x", "a", "3/10"), ("x", "a", "z"), ("a", "o", 2)])
    source = graph.to_dot().source
    assert source.count("\tx -> a ") == 2 and ">z<" in source
    assert "<B>" in graph.to_dot(at={"z": 1}).source


def test_what_does_not_exist_is_said():
    graph = gc.parse("input x\nl = log(x)\ny = where(x > 0, l, 0)\n")
    plan = planned(graph, at={"x": -1})
    assert plan.known.values[graph.row("l")].drawn == "undefined"
    several = gc.load(ROOT / "examples" / "two_outputs.gc")
    assert not planned(several).known.adjoint
    with pytest.raises(gc.GraphcError, match="2 outputs"):
        planned(several, show="adjoint")


def test_only_what_is_derived_needs_values():
    graph = gc.parse("input x z\ny = x**2\nu = z*2\noutput y u\n")
    plan = planned(graph, at={"x": 3}, of="y")
    assert graph.row("u") not in plan.known.values
    assert plan.known.adjoint[graph.row("x")].drawn == "6"


def test_tensors_without_a_seed_and_batches_of_points():
    import numpy as np

    graph = gc.parse("input x[2]\nparam W[3,2]\nh = tanh(W @ x)\n")
    point = {"x": [1, 2], "W": [[1, 0], [0, 1], [1, 1]]}
    assert not planned(graph, at=point).known.adjoint
    assert planned(graph).known.adjoint[graph.row("h")].drawn == "h̄"
    with pytest.raises(gc.GraphcError, match="the seed of 'h' is missing"):
        planned(graph, at=point, of="h")
    seeded = planned(graph, at=point, of={"h": [1, 1, 1]}).known
    assert seeded.adjoint[graph.row("x")].drawn.startswith("[")
    points = gc.parse("input x\ny = x**2\n")
    known = planned(points, at={"x": np.arange(5.0)}).known
    assert known.adjoint[0].drawn == "∈ [0, 8]"


def test_long_products_are_derived_in_time():
    names = [f"x{number}" for number in range(1, 200)]
    graph = gc.parse(f"input x[1..199]\ny = {'*'.join(names)}\n")
    assert calls(lambda: planned(graph)) < 30_000_000
    largest = gc.parse("input x[1..6]\no = maximum(x[1..6])\n")
    assert calls(lambda: planned(largest)) < 100_000
    huge = gc.parse("input a b c d\no = (a + b + c + d)**9\nf = exp(o)*o\n")
    assert planned(huge).known.adjoint


def test_tangled_graphs_are_folded():
    lines, names = ["input x"], ["x"]
    for number in range(60):
        lines.append(f"n{number} = {' + '.join(names[-30:])}")
        names.append(f"n{number}")
    graph = gc.parse("\n".join(lines))
    assert planned(graph).outline.folded
    assert calls(lambda: picture(graph)) < 200_000


def test_long_formulas_end_in_an_ellipsis_and_go_on_in_the_title():
    terms = " + ".join(f"x{i}**{i}" for i in range(1, 40))
    graph = gc.parse(f"input x[1..39]\ny = {terms}\n")
    found = picture(graph)
    assert "…" in found.svg
    assert "x39**39" in next(
        element.find(f"{SVG}title").text
        for element in tree(found.svg).iter()
        if element.get("id") == found.nodes["y"]
    )


# Mathematics.


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("y10", "y₁₀"),
        ("h2_1", "h₂,₁"),
        ("alpha", "α"),
        ("Sigma_2", "Σ₂"),
        ("lambda_", "λ"),
        ("h1_bar", "h̄₁"),
        ("x_dot", "ẋ"),
        ("w_out", "w_out"),
        ("loss_bar", "l̅o̅s̅s̅"),
        ("x_", "x_"),
    ],
)
def test_names(name, drawn):
    assert name_math(name) == drawn


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("w2*y2 - x**2", "w₂·y₂ − x²"),
        ("sigmoid(a) + sqrt(pi)", "σ(a) + √π"),
        ("W.T @ h3_bar", "Wᵀ h̄₃"),
        ("outer(a_bar, v)", "ā vᵀ"),
        ("outer(a_bar + v, v)", "outer(ā + v, v)"),
        ("sqrt(x*y2)/(1 + a)", "√(x·y₂)/(1 + a)"),
        ("x**-1 + x**10.5 + x**y2", "x⁻¹ + x^10.5 + x^y₂"),
        ("where(x >= 0, a, b)", "where(x ≥ 0, a, b)"),
    ],
)
def test_formulas(text, drawn):
    leaves = "input x a b w2 y2\nparam W[3,3] h3_bar[3] a_bar[3] v[3]\n"
    graph = gc.parse(f"{leaves}o = {text}\n")
    assert unicode_of(formula_line(graph, graph.row("o"))) == drawn


def test_numbers():
    from fractions import Fraction

    import numpy as np

    def number_math(value):
        return unicode_of(number_phrase(value))

    def value_math(value):
        relation, shown = value_phrase(value)
        return f"{relation} {unicode_of(shown)}"

    assert number_math(Fraction(-3, 10)) == "−3/10"
    assert number_math(Fraction(12345, 6789)) == "1.818"
    assert number_math(1.5e-7) == "1.5·10⁻⁷"
    assert number_math(10**400) == "10⁴⁰⁰"
    assert number_math(-0.0) == "0"
    assert number_math(float("inf")) == "∞"
    assert value_math(np.array([1.0, 0.5])) == "= [1, 0.5]"
    assert value_math(np.arange(6.0)) == "∈ [0, 5]"
    assert value_math(np.zeros((2, 5))) == "= all 0"


def test_fractions_are_drawn_as_fractions():
    graph = gc.parse("input x\ny = x**2/(1 + x)\n")
    source = graph.to_dot().source.replace("\u00a0", " ")
    assert 'SIDES="B"' in source and ">x²</FONT>" in source and ">1 + x</FONT>" in source


# How it looks.


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_themes_are_legible(name):
    theme = THEMES[name]
    grounds = [colours.fill for colours in theme.nodes.values()] + [theme.background]
    for ground in grounds:
        assert contrast(theme.ink, ground) >= 4.5
        assert contrast(theme.adjoint, ground) >= 4.5
    assert contrast(theme.local, theme.background) >= 4.5
    for colours in theme.nodes.values():
        assert contrast(colours.border, theme.background) >= 3


def test_print_has_no_colours():
    theme = THEMES["print"]
    colours = [theme.ink, theme.local, theme.adjoint, theme.edge, theme.faint, theme.highlight]
    colours += [part for kind in theme.nodes.values() for part in (kind.fill, kind.border)]
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in colours)


def em(character):
    """The width of a character of the font, roughly, in units of its size."""
    if unicodedata.combining(character):
        return 0.0
    return 0.33 if character in "\u00a0 ()[].,·ijlt" else 0.4 if character in "₀₁₂₃₄₅₆₇₈₉" else 0.6


def boxes_of(root):
    """({id: box of each node}, {id: [box of each line of its label]}, size of the page)."""
    shapes, texts = {}, {}
    for element in root.iter(f"{SVG}g"):
        if element.get("class", "").split()[0] not in ("node", "edge"):
            continue
        identity = element.get("id")
        for part in element:
            kind = part.tag.removeprefix(SVG)
            if kind == "text":
                size = float(part.get("font-size"))
                x, y = float(part.get("x")), float(part.get("y"))
                width = size * sum(map(em, part.text))
                left = x if part.get("text-anchor") == "start" else x - width / 2
                texts.setdefault(identity, []).append((left, y - size * 0.7, left + width, y))
            elif identity.startswith(("node", "group")):
                if kind == "ellipse":
                    cx, cy, rx, ry = (float(part.get(key)) for key in ("cx", "cy", "rx", "ry"))
                    box = (cx - rx, cy - ry, cx + rx, cy + ry)
                elif kind in ("polygon", "path"):
                    text = part.get("points") or part.get("d")
                    numbers = [float(n) for n in re.findall(r"-?[\d.]+", text)]
                    xs, ys = numbers[::2], numbers[1::2]
                    box = (min(xs), min(ys), max(xs), max(ys))
                else:
                    continue
                shapes.setdefault(identity, box)
    return shapes, texts


def overlap(one, other, slack=1.0):
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > slack
        and min(one[3], other[3]) - max(one[1], other[1]) > slack
    )


PICTURES = [
    *("fig27", "fig27-symbols", "fig27-paths", "fig27-dark", "fig27-print", "ladder", "logistic"),
    *("mlp", "quotient", "rnn", "rnn500", "large", "backward"),
]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_current_and_nothing_overlaps(name, making):
    graph, settings = making.pictures()[name]
    source = graph.to_dot(**settings).source
    assert source == (making.PICTURES / f"{name}.dot").read_text(encoding="utf-8")
    root = tree(picture(graph, **settings).svg)
    shapes, texts = boxes_of(root)
    width, height = (float(n) for n in root.get("viewBox").split()[2:])
    assert len(shapes) == len(planned(graph, **settings).outline.boxes)
    for one, other in combinations(shapes.values(), 2):
        assert not overlap(one, other)
    for identity, lines in texts.items():
        for line in lines:
            assert line[0] > -8 and line[2] < width and line[1] > -height and line[3] < 8
            if identity in shapes:
                outer = shapes[identity]
                assert line[0] >= outer[0] - 1 and line[2] <= outer[2] + 1
                assert line[1] >= outer[1] - 1 and line[3] <= outer[3] + 1
            else:
                assert not any(overlap(line, box) for box in shapes.values()), identity
    labels = [line for key, lines in texts.items() if key not in shapes for line in lines]
    assert not any(overlap(*pair) for pair in combinations(labels, 2))


def test_layers_are_aligned(fig27):
    shapes, _ = boxes_of(tree(picture(fig27, at=POINT).svg))
    ids = picture(fig27, at=POINT).nodes
    for layer in (("y1", "y2", "y3", "w2", "w3"), ("y4", "y5", "y6"), ("y7", "y8", "y9")):
        centres = [(shapes[ids[n]][0] + shapes[ids[n]][2]) / 2 for n in layer]
        assert max(centres) - min(centres) < 2


# SVG.


def test_ids_lead_to_elements(fig27):
    found = picture(fig27, at=POINT, of="y10")
    by_id = {element.get("id"): element for element in tree(found.svg).iter() if element.get("id")}
    assert found.nodes == {name: f"node-{place}" for place, name in enumerate(fig27)}
    assert list(found.edges) == [(s, t, 0) for s, t in fig27.edges()]
    for name, identity in found.nodes.items():
        assert by_id[identity].find(f"{SVG}title").text.startswith(name)
        assert by_id[identity].get("class").split()[0] == "node"
    for (source, target, _), identity in found.edges.items():
        title = by_id[identity].find(f"{SVG}title").text
        assert title.startswith(f"d {target} / d {source}")
    assert len(by_id) == len(fig27) + len(fig27.edges()) + 1


ALLOWED = {"svg", "g", "title", "text", "polygon", "polyline", "path", "ellipse", "animate"}


def harmless(svg):
    """The texts of a drawing that has nothing in it that could run."""
    root = tree(svg)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ALLOWED
        for key, value in element.attrib.items():
            assert not key.startswith("on") and "href" not in key and key != "style"
            if key != "aria-label":  # which is text
                assert "url(" not in value and "javascript" not in value.lower()
    return "".join(root.itertext())


def test_hostile_names_and_labels():
    """Forced into a graph past every check: what is drawn is the text, and nothing else."""
    import pygraphviz

    from graphc.draw.svg import cleaned, text_of

    sheets = []
    for hostile in HOSTILE:
        graph = gc.parse("input x = 1\nparam w = 1/2\nh = w*x\ny = sin(h)/x\n", hostile)
        sheets.append(planned(graph).sheet())
        for row, suffix in ((0, "a"), (1, "b"), (2, "c")):
            del graph.rows[graph.names[row]]
            graph.names[row] = hostile + suffix
            graph.rows[hostile + suffix] = row
        for look in ({"at": {}}, {"fold": True}):
            sheets.append(planned(graph, **look).sheet())
    for sheet in sheets:
        parsed = pygraphviz.AGraph(string=sheet.dot.source)
        assert len(parsed.nodes()) == 4 and len(parsed.edges()) == 4
    pictures = rendered([sheet.dot.source for sheet in sheets], "svg")
    for sheet, found in zip(sheets, pictures, strict=True):
        text = harmless(text_of(cleaned(found, sheet.name, sheet.titles, sheet.roles)))
        assert "\u202e" not in text and "\u200f" not in text


@settings(max_examples=6, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=10, max_size=10))
def test_any_text_is_only_text(texts):
    from graphc.draw.svg import cleaned, text_of

    sheets = []
    for text in texts:
        graph = gc.parse("input x = 1\nparam w = 1/2\nh = w*x\ny = h**2/2\n", text)
        for row, name in enumerate((text + "a", text + "b")):
            del graph.rows[graph.names[row]]
            graph.names[row], graph.rows[name] = name, row
        sheets.append(planned(graph, at={}).sheet())
    for sheet, found in zip(
        sheets, rendered([sheet.dot.source for sheet in sheets], "svg"), strict=True
    ):
        svg = text_of(cleaned(found, sheet.name, sheet.titles, sheet.roles))
        harmless(svg)
        ids = {element.get("id") for element in tree(svg).iter()}
        assert {*sheet.nodes.values(), *sheet.edges.values()} <= ids


def test_a_hostile_graph_name_is_kept_as_text(tmp_path):
    graph = gc.parse("input x\ny = x**2\n", "<script>alert('x')</script>")
    graph.draw(tmp_path / "a.svg")
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "<script" not in svg and "<script>alert('x')</script>" in harmless(svg)
    assert tree(svg).get("aria-label") == "<script>alert('x')</script>"


def test_names_of_other_scripts_and_of_full_length():
    graph = gc.parse(f"input שלום مرحبا\n{'y' * 200} = שלום*مرحبا\n")
    assert "שלום" in harmless(picture(graph).svg)
    assert "y" * 200 not in re.sub(r"<title>.*?</title>", "", picture(graph).svg)


def test_huge_numbers_are_drawn():
    graph = gc.parse("input x\ny = x**64\nz = 1/y\n")
    source = graph.to_dot(at={"x": 10**12}).source
    assert "10⁷⁶⁸" in source and "10⁻⁷⁶⁸" in source


# Files, notebooks, programs.


def test_formats(fig27, tmp_path):
    for suffix, start in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("dot", b"di")):
        path = tmp_path / f"fig.{suffix.upper() if suffix == 'png' else suffix}"
        assert fig27.draw(path, at=POINT) == path
        assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("path", "settings", "message"),
    [
        ("fig.jpeg", {}, "one of .svg, .pdf, .png, .dot"),
        ("fig", {}, "the suffix says the format"),
        ("missing/fig.svg", {}, "cannot write .*no such file"),
        ("fig.svg", {"theme": "blue"}, "theme='blue' is not known; use one of light, dark, print"),
        ("fig.svg", {"weights": "lines"}, "weights='lines'.*nodes, edges"),
        ("fig.svg", {"show": ("value",)}, "show='value'.*values, local, adjoint"),
        ("fig.svg", {"direction": "up"}, "direction='up'.*right, down"),
        ("fig.svg", {"of": "y99"}, "no node 'y99'"),
        ("fig.svg", {"at": {"y1": 1}}, "values are missing for y2"),
        ("fig.svg", {"frames": "film"}, "frames='film'"),
        ("fig.png", {"frames": "animated"}, "call it fig.svg"),
        ("fig.svg", {"frames": True, "fold": True}, "folded"),
    ],
)
def test_refusals(fig27, tmp_path, path, settings, message):
    with pytest.raises(gc.GraphcError, match=message):
        fig27.draw(tmp_path / path, **settings)
    assert not list(tmp_path.iterdir())


def test_nothing_to_draw():
    with pytest.raises(gc.GraphcError, match="has no nodes"):
        gc.Graph("empty").to_dot()


def test_notebooks_get_a_picture_and_never_an_error(fig27, monkeypatch):
    bundle = fig27._repr_mimebundle_()
    assert bundle["text/plain"] == repr(fig27)
    assert bundle["image/svg+xml"].startswith("<svg")
    given = gc.load(ROOT / "examples" / "neuron.gc")
    assert "−" in given._repr_mimebundle_()["image/svg+xml"]
    assert set(gc.Graph("empty")._repr_mimebundle_()) == {"text/plain"}
    monkeypatch.setattr("graphc.draw.drawing.rendered", lambda *_: 1 / 0)
    assert set(mimebundle(fig27)) == {"text/plain"}


def test_a_layout_that_takes_too_long_is_ended(fig27):
    with pytest.raises(TooSlow, match=r"more than 0[.]01 seconds"):
        rendered([fig27.to_dot().source], "svg", 0.01)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fontconfig")
def test_a_machine_without_fonts_makes_the_same_picture(fig27, tmp_path, monkeypatch):
    usual = picture(fig27, at=POINT).svg
    empty = tmp_path / "fonts.conf"
    empty.write_text('<?xml version="1.0"?><fontconfig></fontconfig>', encoding="utf-8")
    monkeypatch.setenv("FONTCONFIG_FILE", str(empty))
    assert picture(fig27, at=POINT).svg == usual


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for dot")
@pytest.mark.parametrize("works", [True, False])
def test_a_system_dot_comes_first(fig27, tmp_path, monkeypatch, works):
    dot = tmp_path / "dot"
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><g class="graph"/></svg>'
    dot.write_text(
        f"#!/bin/sh\ncat > /dev/null\necho '{svg}'\n" if works else "#!/bin/sh\nexit 1\n"
    )
    dot.chmod(dot.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert len(picture(fig27).svg) < 200 if works else len(picture(fig27).svg) > 5000


def test_the_text_does_not_depend_on_the_hash_seed(fig27):
    program = (
        "import graphc as gc; g = gc.load('examples/fig27.gc');"
        "print(g.to_dot().source, g.to_dot(weights='edges', of='y9').source,"
        " g.expand().to_dot(fold=True).source, g.differentiate('y10').to_dot().source)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "012"
    }
    assert len(printed) == 1 and len(printed.pop()) > 10_000


# Large graphs.


def test_a_large_graph_is_a_summary_in_time(making, tmp_path):
    graph = making.large()
    assert calls(lambda: graph.draw(tmp_path / "a.svg")) < 1_000_000
    plan = planned(graph)
    assert plan.outline.folded and len(plan.outline.boxes) < 20
    assert sum(len(box.rows) for box in plan.outline.boxes) == len(graph) == 2010
    drawn = [edge for arrow in plan.outline.arrows for edge in arrow.edges]
    drawn += [edge for box in plan.outline.boxes for edge in box.inner]
    assert len(drawn) == len(set(drawn)) == len(graph.edges())
    assert set(plan.sheet().nodes) == set(graph)


def test_a_long_chain_is_one_block():
    graph = gc.Graph("chain")
    value = graph.input("x")
    for number in range(100_000):
        value = graph.node(f"n{number}", gc.sin(value))
    assert calls(lambda: graph._repr_mimebundle_()) < 30_000_000
    outline = planned(graph).outline
    assert list(outline.clusters.values()) == ["repeated 100000 times"]
    assert len(outline.boxes) == 2


def test_repeated_blocks_fold(making):
    graph = gc.parse(making.RNN.replace("5", "50"), "rnn50")
    assert not planned(gc.parse(making.RNN, "rnn")).outline.folded
    outline = planned(graph).outline
    assert "repeated 48 times" in outline.clusters.values()
    assert len(outline.boxes) < 15
    dense = ["input x[1..20]", "param w[1..400]"]
    for unit in range(20):
        terms = " + ".join(f"w{20 * unit + k}*x{k}" for k in range(1, 21))
        dense.append(f"h{unit} = tanh({terms})")
    layer = planned(gc.parse("\n".join(dense))).outline
    assert sorted(len(box.rows) for box in layer.boxes) == [20, 20, 400]


def test_drawing_every_node_of_a_huge_graph_is_refused():
    graph = gc.parse("input x[1..2001]\ny = sum(x[1..2001])\n")
    with pytest.raises(gc.GraphcError, match="at most 2000 are drawn"):
        graph.to_dot(fold=False)


# Frames.


def test_frames_go_through_both_passes(fig27, tmp_path):
    plan = planned(fig27, at=POINT, of="y10")
    reveals = steps(plan)
    assert [fig27.names[r.current] for r in reveals if r.current is not None] == [
        *("y4", "y5", "y6", "y7", "y8", "y9", "y10"),
        *reversed(list(fig27)),
    ]
    for before, after in pairwise(reveals):
        assert before.values <= after.values and before.adjoints <= after.adjoints
        assert before.edges <= after.edges
    files = fig27.draw(tmp_path / "f.svg", at=POINT, of="y10", frames=True)
    assert [file.name for file in files] == [f"f-{n:02d}.svg" for n in range(1, len(reveals) + 1)]
    first, last = (file.read_text(encoding="utf-8") for file in (files[0], files[-1]))
    assert "0.2955" not in first and "ȳ" not in first.split("adjoint,")[0]
    assert boxes_of(tree(first))[0] == boxes_of(tree(last))[0]
    assert last == picture(fig27, at=POINT, of="y10").svg


def test_an_animated_file(fig27, tmp_path):
    (file,) = fig27.draw(tmp_path / "f.svg", of="y10", frames="animated")
    root = tree(file.read_text(encoding="utf-8"))
    harmless(file.read_text(encoding="utf-8"))
    groups = root.findall(f"{SVG}g")
    assert len(groups) == len(steps(planned(fig27, of="y10")))
    assert [group.get("visibility") for group in groups].count("visible") == 1
    for group in groups:
        motion = group.find(f"{SVG}animate")
        times = [float(text) for text in motion.get("keyTimes").split(";")]
        states = motion.get("values").split(";")
        assert times[0] == 0 and times == sorted(set(times)) and len(times) == len(states)
        assert "visible" in states
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))


# Command line.


def test_the_command_writes_every_format(tmp_path, capsys):
    point = ",".join(f"{name}={value}" for name, value in POINT.items())
    for suffix in ("svg", "pdf", "png", "dot"):
        path = tmp_path / f"fig.{suffix}"
        command = ["draw", str(ROOT / "examples/fig27.gc"), "--at", point, "--of", "y10"]
        assert main([*command, "-o", str(path)]) == 0
        assert path.stat().st_size > 1000
    assert capsys.readouterr() == ("", "")


def test_the_command_writes_to_standard_output(capfdbinary):
    file = str(ROOT / "examples/neuron.gc")
    assert main(["draw", file, "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<svg")
    assert main(["draw", file, "-o", "-", "--format", "dot", "--symbolic"]) == 0
    assert "ā·x₁".encode() in capfdbinary.readouterr().out


def test_the_options_of_the_command(tmp_path):
    file, path = str(ROOT / "examples/neuron.gc"), tmp_path / "a.dot"
    command = ["draw", file, "-o", str(path), "--weights", "edges", "--theme", "dark"]
    options = ["--show", "values,local", "--highlight", "x1->a,o", "--direction", "down"]
    assert main([*command, *options, "--no-legend", "--of", "o=5"]) == 0
    text = path.read_text(encoding="utf-8")
    assert THEMES["dark"].background in text and "rankdir=TB" in text
    assert THEMES["dark"].highlight in text and "parameter" not in text
    assert "w1 [" not in text
    frames = ["draw", file, "-o", str(tmp_path / "f.svg"), "--frames", "numbered"]
    assert main(frames) == 0
    assert len(list(tmp_path.glob("f-*.svg"))) == 13


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "required: -o"),
        (["-o", "a.gif"], "the suffix says the format"),
        (["-o", "a.svg", "--format", "png"], "--format png does not fit a.svg"),
        (["-o", "-", "--frames", "numbered"], "need a file"),
        (["-o", "a.svg", "--at", "y1=1", "--symbolic"], "leave one out"),
        (["-o", "a.svg", "--theme", "blue"], "invalid choice: 'blue'"),
        (["-o", "a.svg", "--highlight", "y1,y10"], "no edge from 'y1' to 'y10'"),
    ],
)
def test_bad_usage(options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", str(ROOT / "examples/fig27.gc"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())
