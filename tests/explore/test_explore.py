"""The interactive page, in a real browser: its numbers, its steps, and that nothing gets out."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
import warnings
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hostile import HOSTILE
from node import MLP, close

import graphc as gc
from graphc.cli import main
from graphc.explore.exploring import page
from graphc.explore.start import start

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTBOOK = ["fig27", "ladder5", "neuron", "logistic", "xor", "recurrence"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
REQUIRED = "GRAPHC_REQUIRE_BROWSER" in os.environ  # on CI a missing browser is a failure
ORDINARY = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


def load(name: str) -> gc.Graph:
    return gc.parse(MLP, "mlp") if name == "mlp" else gc.load(EXAMPLES / f"{name}.gc")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if REQUIRED:
            raise
        pytest.skip("playwright is not installed")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        except Exception as error:
            if REQUIRED:
                raise
            pytest.skip(f"no browser: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Pages of examples, each written once."""
    folder = tmp_path_factory.mktemp("pages")
    known = {}

    def write(name, settings):
        key = (name, repr(settings))
        if key not in known:
            known[key] = load(name).explore(folder / f"{len(known)}.html", **settings)
        return known[key]

    return write


@pytest.fixture
def opened(browser, written, tmp_path):
    """Opens the page of a graph; complains about errors and requests when the test is over."""
    contexts, complaints = [], []

    def open_page(graph, viewport=ORDINARY, context=None, **settings):
        if isinstance(graph, str):
            file = written(graph, settings)
        else:
            file = graph.explore(tmp_path / f"page{len(contexts)}.html", **settings)
        made = browser.new_context(viewport=viewport, **(context or {}))
        contexts.append(made)
        tab = made.new_page()
        tab.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        tab.on("console", lambda message: complaints.append(f"console: {message.text}"))
        tab.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        address = file.as_uri()
        tab.on("request", lambda r: r.url == address or complaints.append(f"request: {r.url}"))
        tab.goto(address)
        return tab

    open_page.complaints = complaints
    yield open_page
    for made in contexts:
        made.close()
    assert not complaints


READ = """(name) => Object.fromEntries([...document.querySelectorAll("[data-node]")].map(
    (e) => [e.dataset.node, e.dataset[name] ?? null]))"""


def read(tab, name: str) -> dict[str, np.ndarray]:
    """The numbers that the nodes carry."""
    found = tab.evaluate(READ, name)
    return {node: np.array(json.loads(text)) for node, text in found.items() if text is not None}


def same(found, expected) -> None:
    assert set(found) == set(expected)
    for name, value in expected.items():
        close(found[name], value, name)


def agree(graph, tab, of, wrt, at) -> None:
    """Values and derivatives of the page are those of the graph, and of the compiled module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(read(tab, "value"), graph.values(at))
        same(read(tab, "adjoint"), graph.reverse(of, at))
        if not np.shape(at.get(wrt, 0.0)):
            same(read(tab, "tangent"), graph.forward(wrt, at))
    value, grads = graph.compile(of, [wrt])(**at)
    close(read(tab, "value")[of], value)
    close(read(tab, "adjoint")[wrt], grads[wrt])
    close(json.loads(tab.get_attribute("#result", "data-result")), grads[wrt])


# Moving inputs.


@pytest.mark.parametrize("name", [*TEXTBOOK, "mlp"])
def test_moving_an_input_moves_values_and_derivatives(opened, name):
    graph = load(name)
    of, wrt = graph.output_names[0], (graph.param_names or graph.input_names)[0]
    tab = opened(graph, of=of, wrt=wrt)
    at = dict(start(graph, None).given)
    agree(graph, tab, of, wrt, at)
    rng = np.random.default_rng(1)
    for _ in range(2):
        for leaf, value in list(at.items()):
            if np.shape(value):
                place = tuple(int(rng.integers(size)) for size in value.shape)
                field = f"{leaf}[{','.join(map(str, place))}]"
                at[leaf] = value.copy()
                moved = at[leaf][place] = float(rng.normal())
            else:
                field, moved = leaf, float(rng.normal())
                at[leaf] = moved
            tab.fill(f'[data-input="{field}"]', repr(moved))
        agree(graph, tab, of, wrt, at)
    tab.click("#restart")
    agree(graph, tab, of, wrt, start(graph, None).given)


def test_the_slider_and_the_keys_of_a_field(opened, fig27):
    tab = opened(fig27, at={"y1": "1/2"})
    slider, field = tab.locator("[aria-label='slider of y1']"), tab.locator("[data-input=y1]")
    slider.focus()
    tab.keyboard.press("ArrowRight")
    moved = float(field.input_value())
    assert moved > 0.5 and float(read(tab, "value")["y1"]) == moved
    field.focus()
    tab.keyboard.press("ArrowUp")
    assert float(field.input_value()) == pytest.approx(moved + 0.1)
    field.fill("1/3")
    assert float(read(tab, "value")["y1"]) == 1 / 3
    field.fill("99")
    assert float(slider.input_value()) == 99
    assert field.get_attribute("aria-invalid") is None
    for wrong in ("abc", "", "1/0", "1/2/3", "NaN"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
        assert "not a number" in tab.inner_text("#complaint")
        assert float(read(tab, "value")["y1"]) == 99
    field.fill("-2e-3")
    assert tab.inner_text("#complaint") == "" and float(read(tab, "value")["y1"]) == -0.002


def test_a_point_without_a_value_recovers(opened):
    graph = gc.parse("input x = 2\ny = log(x)\nz = y**2")
    tab = opened(graph)
    tab.fill("[data-input=x]", "-1")
    assert tab.get_attribute("[data-node=y]", "data-value") == "NaN"
    assert tab.get_attribute("[data-node=x]", "data-adjoint") == "NaN"
    assert "undefined" in tab.text_content("[data-node=y]")
    tab.fill("[data-input=x]", "3")
    same(read(tab, "value"), graph.values({"x": 3.0}))


def test_a_kink_is_told(opened):
    tab = opened("xor")
    assert "on a kink: h2;" in tab.inner_text("#kinks")
    tab.hover("[data-node=h2]")
    assert "on a kink" in tab.inner_text("#detail")
    tab.fill("[data-input=x2]", "0.25")
    assert tab.inner_text("#kinks") == ""
    graph = gc.parse(
        "input x[3] = [1, 0, -1]\nh = relu(x)\ny = where(sum(h) > 1, 2, 3)\nz = y + sum(h)"
    )
    tab = opened(graph)
    assert "on a kink: h, y;" in tab.inner_text("#kinks")


# Steps.


WALK = """() => {
    const found = [];
    for (;;) {
        document.getElementById("next").click();
        if (document.body.dataset.step === "0" || found.length > 500) return found;
        const current = [...document.querySelectorAll("svg .node.current")];
        const node = current.map((e) => e.dataset.node).join(" ") || null;
        found.push([node, document.getElementById("equation").textContent.trim()]);
    }
}"""


def walked(tab):
    """(current node, equation) of every step until everything is shown again."""
    return [tuple(step) for step in tab.evaluate(WALK)]


def test_steps_go_through_every_node(opened, fig27):
    point = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
    tab = opened(fig27, of="y10", at=point)
    steps = walked(tab)
    names = list(fig27)
    assert [node for node, _ in steps] == [*names, *reversed(names)]
    told = [equation for _, equation in steps]
    assert told[names.index("y4")] == "y₄ = y₁·y₂ = 0.5·0.6 = 0.3"
    assert told[names.index("y6")] == "y₆ = w₂·y₂ + w₃·y₃ = 0.8·0.6 + (−0.3)·0.7 = 0.27"
    assert told[len(names)] == "ȳ₁₀ = 1"
    assert told[len(names) + 3] == "ȳ₇ = ȳ₁₀·y₈·y₉ = 1·0.2609 = 0.2609"
    # a value that has not been reached is not shown, but carried
    tab.click("#first")
    assert "0.3" not in tab.text_content("[data-node=y4]")
    assert tab.get_attribute("[data-node=y4]", "data-value") == "0.3"
    tab.click("#back")
    assert "0.3" in tab.text_content("[data-node=y4]")


@pytest.mark.parametrize("name", ["recurrence", "mlp"])
def test_steps_in_the_other_modes(opened, name):
    graph = load(name)
    tab = opened(graph, mode="forward")
    assert {node for node, _ in walked(tab)} == set(graph)
    tab.check("input[value=paths]")
    equations = [equation for node, equation in walked(tab) if node is None]
    wrt = graph.param_names[0]
    assert len(equations) == graph.count_paths(wrt, graph.output_names[0])
    assert all("→" in equation for equation in equations)


def test_keys_step(opened):
    tab = opened("fig27")
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 24)):
        tab.keyboard.press(key)
        assert tab.get_attribute("body", "data-step") == str(step)
    tab.keyboard.press("Escape")
    assert tab.get_attribute("body", "data-step") == "0"
    tab.keyboard.press("p")
    assert tab.get_attribute("#play", "aria-pressed") == "true"
    tab.wait_for_selector("body[data-step='1']")
    tab.keyboard.press("p")
    tab.focus("[data-input=y1]")
    before = tab.get_attribute("body", "data-step")
    tab.keyboard.press("ArrowRight")  # moves within the field
    assert tab.get_attribute("body", "data-step") == before


# Pointing and choosing.


def test_pointing_tells_the_formula(opened, fig27):
    tab = opened(fig27, of="y10", wrt="y2", at={})
    detail = tab.locator("#detail")
    assert detail.is_hidden()
    tab.hover("[data-node=y5]")
    told = detail.inner_text()
    value = fig27.values(start(fig27, None).given)["y5"]
    assert "y5 = y1*y2*y3" in told and f"value = {value!r}" in told and "∂y10/∂y5" in told
    line = tab.locator("[data-edge='y4->y7'] .near")
    place = line.evaluate(
        "e => [e.getBoundingClientRect()].map((r) => [r.x + r.width / 3, r.y])[0]"
    )
    tab.mouse.move(*place)
    local = fig27.local("y4", "y7", start(fig27, None).given)
    assert f"∂y7/∂y4 = cos(y4) = {local!r}" in detail.inner_text()
    tab.mouse.move(1, 1)
    assert detail.is_hidden()
    tab.focus("[data-node=y9]")
    assert "sin(y6)" in detail.inner_text()
    tab.keyboard.press("ArrowDown")
    assert "y10 = y7*y8*y9" in detail.inner_text()
    tab.keyboard.press("ArrowUp")
    assert tab.locator("svg [tabindex='0']").count() == 1
    label = tab.get_attribute("[data-node=y9]", "aria-label")
    assert "sin(y6)" in label and "value = " in label
    tab.fill("[data-input=y2]", "0.25")
    assert "0.25" in tab.get_attribute("[data-node=y2]", "aria-label")


def test_choosing_what_is_derived_by_what(opened, fig27):
    tab = opened("fig27")
    at = start(fig27, None).given
    tab.select_option("#of", label="y7")
    tab.select_option("#wrt", label="y1")
    same(read(tab, "adjoint"), fig27.reverse("y7", at))
    same(read(tab, "tangent"), fig27.forward("y1", at))
    assert "∂y7/∂y1" in tab.inner_text("#result")
    tab.select_option("#of", label="y9")
    assert tab.inner_text("#result") == "∂y9/∂y1 = no path"
    assert tab.get_attribute("[data-node=y1]", "data-adjoint") is None


def test_paths_are_listed_and_highlighted(opened, fig27):
    tab = opened(fig27, of="y10", wrt="y2", mode="paths")
    terms = fig27.pathwise("y10", "y2", start(fig27, None).given).terms
    buttons = tab.locator("#paths li button")
    assert buttons.count() == len(terms) == 3
    for place, (path, product) in enumerate(terms):
        button = buttons.nth(place)
        close(float(button.get_attribute("data-contribution")), product)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        chosen = tab.eval_on_selector_all("svg .node.chosen", "all => all.map(e => e.dataset.node)")
        assert sorted(chosen) == sorted(path)
        edges = tab.eval_on_selector_all("svg .edge.chosen", "all => all.map(e => e.dataset.edge)")
        assert sorted(edges) == sorted(f"{a}->{b}" for a, b in pairwise(path))
    tab.fill("[data-input=y1]", "1.25")
    moved = fig27.pathwise("y10", "y2", {**start(fig27, None).given, "y1": 1.25}).terms
    found = tab.eval_on_selector_all(
        "#paths li button", "all => all.map(e => Number(e.dataset.contribution))"
    )
    close(found, [product for _, product in moved])


def test_an_element_of_a_tensor_in_forward_mode(opened):
    graph = load("mlp")
    tab = opened(graph, wrt="W1", mode="forward")
    tab.select_option("#element", label="2,1")
    at = start(graph, None).given
    unit = np.zeros((3, 4))
    unit[2, 1] = 1
    same(read(tab, "tangent"), graph.forward({"W1": unit}, at))


def test_elements_of_a_tensor_output(opened):
    graph = gc.parse(
        "input x[3] = [1, 2, 4]\nparam W[2, 3] = [[1, 0, 2], [3, 1, -1]]\ny = tanh(W @ x/9)"
    )
    at = start(graph, None).given
    tab = opened(graph)
    for element in range(2):
        tab.select_option("#of", label=f"y[{element}]")
        same(read(tab, "adjoint"), graph.reverse({"y": np.eye(2)[element]}, at))


def test_seeds(opened):
    graph = gc.load(EXAMPLES / "two_outputs.gc")
    tab = opened(graph, of={"x": 3, "y": "4"})
    at = start(graph, None).given
    same(read(tab, "adjoint"), graph.reverse({"x": 3, "y": 4}, at))
    tab.select_option("#of", label="y")
    same(read(tab, "adjoint"), graph.reverse("y", at))


def test_only_local_derivatives(opened):
    graph = gc.from_edges({("x", "a"): "3/10", ("x", "b"): "z", ("a", "o"): 2, ("b", "o"): "z*z"})
    tab = opened(graph)
    tab.fill("[data-input=z]", "0.7")
    same(read(tab, "adjoint"), graph.reverse("o", {"z": 0.7}))
    assert read(tab, "value") == {}
    assert [node for node, _ in walked(tab)] == ["o", "b", "a", "x"]


# Looks.


def test_light_dark_print_and_phone(opened):
    colours = {}
    for scheme in ("light", "dark"):
        for viewport in (ORDINARY, PHONE):
            tab = opened("fig27", viewport, {"color_scheme": scheme})
            colours[scheme] = tab.evaluate("getComputedStyle(document.documentElement).background")
            wide = tab.evaluate("document.documentElement.scrollWidth")
            assert wide <= viewport["width"]
            # what can be pressed is large enough for a finger
            for button in tab.locator(".buttons button").all():
                assert button.bounding_box()["height"] >= 34
    assert colours["light"] != colours["dark"]
    tab.emulate_media(media="print")
    assert tab.locator("#next").is_hidden() and tab.locator("svg .node").first.is_visible()


def test_a_finger(opened):
    tab = opened("fig27", PHONE, {"has_touch": True, "is_mobile": True})
    tab.tap("[data-node=y1]")
    assert tab.locator("#detail").is_visible() and "y1" in tab.inner_text("#detail")
    tab.tap("#next")
    assert tab.get_attribute("body", "data-step") == "1"
    box = tab.locator("#detail").bounding_box()
    assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"])


def test_every_control_has_a_name(opened):
    tab = opened("mlp")
    unnamed = tab.evaluate(
        """() => [...document.querySelectorAll("input, select, button, [tabindex]")].filter(
            (e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim()))
            .map((e) => e.outerHTML)"""
    )
    assert unnamed == []


def test_labels_do_not_leave_their_boxes(opened):
    """At the start and after a move, the lines of a node are inside its shape."""
    tab = opened("fig27")
    tab.fill("[data-input=y1]", "-1.2345")
    outside = tab.evaluate(
        """() => [...document.querySelectorAll("svg .node")].flatMap((node) => {
            const box = node.querySelector(".filled").getBoundingClientRect();
            return [...node.querySelectorAll("text")].filter((text) => {
                const at = text.getBoundingClientRect();
                return at.left < box.left - 1 || at.right > box.right + 1;
            }).map((text) => text.textContent);
        })"""
    )
    assert outside == []


# Nothing gets in or out.


def forced(texts: list[str]) -> gc.Graph:
    """A graph whose name and names are these texts, past every check."""
    inputs = "".join(f"input x{place} = 1/2\n" for place in range(len(texts)))
    terms = " + ".join(f"sin(x{place})" for place in range(len(texts)))
    graph = gc.parse(f"{inputs}h = {terms}\ny = h**2\n", "".join(texts)[:150])
    for row, text in enumerate(texts):
        row = graph.rows.pop(f"x{row}")
        graph.names[row] = f"{text} {row}"
        graph.rows[f"{text} {row}"] = row
    return graph


INJECTED = [
    '<img src=x onerror="window.ran=1">',
    "</script><script>window.ran=1</script>",
    '"><svg onload=window.ran=1>',
    "{{script}} ${window.ran=1} `",
    "<!--<script>",
]


def test_hostile_names_are_only_text(opened):
    texts = [text for text in HOSTILE if unicodedata.is_normalized("NFKC", text)]
    assert len(texts) > 12
    for names in (texts, INJECTED):
        graph = forced(names)
        tab = opened(graph)
        assert tab.locator("script").count() == 2
        assert tab.locator("img, iframe, a, object, b b, noscript img").count() == 0
        for mode in ("forward", "paths"):
            tab.check(f"input[value={mode}]")
            walked(tab)
        for place in range(len(names)):
            tab.focus(f"#node-{place}")
            assert tab.locator("#detail p").count() in (3, 4)
        tab.fill("#given-0", "2")
        assert float(tab.get_attribute("#node-0", "data-value")) == 2
        tab.fill("#given-0", names[0][:50])
        assert tab.evaluate("window.ran") is None
        assert tab.locator("script").count() == 2


def test_the_policy_stops_what_is_added(opened):
    tab = opened("fig27")
    tab.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onclick=1></b>')")
    tab.evaluate(
        """() => { const s = document.createElement("script"); s.textContent = "window.ran = 1";
        document.body.append(s); }"""
    )
    assert tab.evaluate("window.ran") is None
    assert tab.evaluate("fetch('https://example.org').then(() => false, () => true)")
    told = opened.complaints[:]
    assert told and all("Content Security Policy" in line for line in told)
    opened.complaints.clear()


# Without a browser.


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", [*TEXTBOOK, "mlp"])
def test_the_file_is_small_and_carries_its_numbers(name):
    graph = load(name)
    text = page(graph)
    assert len(text.encode()) < 1 << 20
    assert (
        "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    )
    elements = Elements(text).found
    at = start(graph, None).given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, adjoints = graph.values(at), graph.reverse(None, at)
    carried = {a["data-node"]: a for _, a in elements if "data-node" in a}
    for node, value in values.items():
        close(json.loads(carried[node]["data-value"]), value)
        if node in adjoints:
            close(json.loads(carried[node]["data-adjoint"]), adjoints[node])
    assert sorted(a["data-edge"] for _, a in elements if "data-edge" in a) == sorted(
        f"{source}->{target}" for source, target in graph.edges()
    )
    fields = {a["data-input"] for _, a in elements if "data-input" in a}
    scalars = {leaf for leaf, value in at.items() if not np.shape(value)}
    assert fields >= scalars and len(fields) == sum(np.size(value) for value in at.values())
    assert page(graph) == text


def test_a_page_starts_where_everything_is_finite():
    graph = gc.parse("input x y\nz = log(x - 1) + sqrt(y)\nw = z**2")
    given = start(graph, None).given
    assert np.isfinite(graph.values(given)["w"])
    given = start(graph, {"y": "1/4"}).given
    assert given["y"] == 0.25 and np.isfinite(graph.values(given)["w"])


def test_large_tensors_have_a_summary():
    graph = gc.parse("input x[100]\nparam w[100]\ny = x @ w")
    text = page(graph, at={"x": np.ones(100), "w": np.ones(100)})
    assert (
        "too large for fields" in text
        and "norm 10" in text
        and "data-input" not in text.split("<script")[0]
    )


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("input x\ny = x", {"of": "q"}, "no node 'q'"),
        ("input x\ny = x", {"wrt": "q"}, "no node 'q'"),
        ("input x\ny = x", {"mode": "sideways"}, "mode='sideways'"),
        ("input x\ny = x", {"at": {"q": 1}}, "no input or param 'q'"),
        ("input x\ny = x", {"at": {"x": [1.0, 2.0]}}, "one point at a time"),
        ("input x[n]\ny = sum(x)", {}, "the size 'n' of 'x' is not known"),
        ("input x[3]\ny = 2*x", {"of": {"y": [1, 2]}}, "seed of 'y'"),
        ("input x[200,200]\ny = sum(x)", {}, "at most 20000"),
        ("input x[1..301]\ny = sum(x[1..301])", {}, "at most 300 nodes"),
    ],
)
def test_what_cannot_be_explored_is_told(text, settings, words):
    with pytest.raises(gc.GraphcError, match=words.replace("[", r"\[")) as told:
        page(gc.parse(text), **settings)
    assert "\n" not in str(told.value)


def test_files(fig27, tmp_path):
    with pytest.raises(gc.GraphcError, match=r"\.html"):
        fig27.explore(tmp_path / "page.svg")
    with pytest.raises(gc.GraphcError, match="cannot write"):
        fig27.explore(tmp_path / "none" / "page.html")
    assert fig27.explore(tmp_path / "page.html") == tmp_path / "page.html"
    with pytest.raises(gc.GraphcError, match="nothing to explore"):
        gc.Graph("empty").explore(tmp_path / "page.html")


def test_command_line(tmp_path, capsys):
    file = str(EXAMPLES / "fig27.gc")
    out = tmp_path / "page.html"
    given = ["--at", "y1=1/2,y2=3/5", "--of", "y10", "--wrt", "y2", "--mode", "paths"]
    assert main(["explore", file, "-o", str(out), *given]) == 0
    assert out.read_text(encoding="utf-8") == page(
        gc.load(file), "y10", {"y1": "1/2", "y2": "3/5"}, "y2", "paths"
    )
    assert main(["explore", file, "-o", "-"]) == 0
    assert capsys.readouterr().out == page(gc.load(file))
    assert main(["explore", file, "-o", str(out), "--of", "y11"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["explore", file, "-o", "-", "--open"]) == 2
    assert main(["explore", file]) == 2
