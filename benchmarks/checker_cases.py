"""Labelled cases for gradient checkers: generated graphs, points and claimed gradients.

A case is right, wrong in a way that is known, or on or near a kink with a claim that is right. What
makes it so is built in: claims come from the graph's own derivative, which the tests hold exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import graphc as gc

UNARY = (
    *("sin({})", "cos({})", "tanh({})", "sigmoid({})", "exp({}/3)", "log(1 + {}**2)", "atan({})"),
    *("sqrt(1 + {}**2)", "{}**2/2", "softplus({})", "gelu({})", "silu({})", "1/(2 + {}**2)"),
)
BINARY = (
    "{0}*{1}",
    "{0} + 2*{1}",
    "{0} - {1}",
    "{0}/(2 + {1}**2)",
    "{0}*sin({1})",
    "{0}*{1} + {0}",
)
KINKED = (
    "relu({})",
    "abs({})",
    "max({}, 0)",
    "leaky_relu({})",
    "clip({}, 0, 9)",
    "hardtanh({} + 1)",
)


@dataclass(frozen=True)
class Case:
    """One question for a checker, and the answer."""

    family: str
    label: str  # right, wrong, at-kink (right, on a kink), near-kink (right, the stencil straddles)
    text: str
    at: dict[str, Any]
    claimed: dict[str, Any]
    dtype: str = "float64"
    kink: str = ""  # the node whose kink has to be named

    @cached_property
    def graph(self) -> gc.Graph:
        return gc.parse(self.text)

    @property
    def names(self) -> list[str]:
        return list(self.claimed)

    def packed(self) -> tuple[Any, Any]:
        """The point and the claim as flat vectors, for checkers that know only those."""
        x = np.concatenate([np.ravel(self.at[name]) for name in self.names])
        g = np.concatenate([np.ravel(self.claimed[name]) for name in self.names])
        return x.astype(self.dtype), g.astype(self.dtype)

    def function(self) -> Callable[[Any], float]:
        """The function of the flat vector."""
        compiled = self.graph.compile("y", want="value", dtype=self.dtype)
        shapes = [np.shape(self.at[name]) for name in self.names]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        rest = {name: value for name, value in self.at.items() if name not in self.claimed}

        def f(x: Any) -> Any:
            parts = np.split(np.asarray(x), ends)
            at = {n: p.reshape(s) for n, p, s in zip(self.names, parts, shapes, strict=True)}
            return compiled(**{n: v for n, v in {**rest, **at}.items() if n in compiled.arguments})

        return f


def gradient(text: str, at: dict[str, Any], dtype: str = "float64") -> dict[str, Any]:
    """The right gradient, in floats."""
    graph = gc.parse(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype == "float32":
            found = graph.compile("y", list(at), "grad", dtype=dtype)(**at)
        else:
            found = graph.reverse("y", at)
    return {
        name: np.asarray(found.get(name, 0.0), float) * np.ones(np.shape(at[name])) for name in at
    }


def scalar_graph(rng: Any) -> tuple[str, dict[str, float]]:
    """A random graph of scalars with shared sub-expressions, and a point."""
    inputs = [f"x{i}" for i in range(1, rng.integers(2, 5))]
    names, lines = list(inputs), [f"input {' '.join(inputs)}"]
    for number in range(1, rng.integers(4, 10)):
        recent = [*names, *names[-3:], *names[-3:]]
        first, second = rng.choice(recent), rng.choice(recent)
        if rng.random() < 0.5:
            formula = rng.choice(UNARY).replace("{}", str(first))
        else:
            formula = rng.choice(BINARY).format(first, second)
        names.append(f"n{number}")
        lines.append(f"n{number} = {formula}")
    lines.append(f"y = {' + '.join([names[-1], *inputs])}*{names[-2]}")
    return "\n".join(lines), {name: float(rng.uniform(-2, 2)) for name in inputs}


def tensor_graph(rng: Any) -> tuple[str, dict[str, Any]]:
    """A random small network or matrix expression, and a point."""
    n, m, k = (int(size) for size in rng.integers(2, 5, 3))
    texts = {
        "layer": f"input x[{n}]\nparam W[{m},{n}] b[{m}]\nh = tanh(W @ x + b)\ny = sum(h**2)",
        "deep": f"input x[{n}]\nparam W[{m},{n}] V[{k},{m}]\nh = sigmoid(W @ x)\nz = V @ h\n"
        "y = logsumexp(z) - z[0]",
        "product": f"input A[{n},{m}] B[{m},{k}]\nC = A @ B\ny = sum(sin(C))",
        "broadcast": f"input X[{n},{m}] b[{m}] c[{n},1]\nh = exp(-(X*c + b)**2)\ny = mean(h)",
        "quadratic": f"input A[{n},{n}] x[{n}]\ny = x @ A @ x + norm(x)",
    }
    text = texts[str(rng.choice(list(texts)))]
    graph = gc.parse(text)
    names = [*graph.input_names, *graph.param_names]
    return text, {name: rng.standard_normal(graph[name].shape) for name in names}


def any_graph(rng: Any) -> tuple[str, dict[str, Any]]:
    return ordinary_graph(rng) if rng.random() < 0.7 else tensor_graph(rng)


def ordinary_graph(rng: Any) -> tuple[str, dict[str, float]]:
    """A random graph of scalars whose values and derivatives have ordinary sizes."""
    while True:
        text, at = scalar_graph(rng)
        graph = gc.parse(text)
        sizes = [*graph.values(at).values(), *graph.reverse("y", at).values()]
        slopes = [abs(graph.derivative("y", name, at)) for name in at]
        if all(abs(size) < 1e6 for size in sizes) and max(slopes) > 1e-3:
            return text, at


def spoilt(rng: Any, claims: dict[str, Any], how: Callable[[Any], Any]) -> dict[str, Any]:
    """The claims with one coordinate, not the smallest, made wrong."""
    sizes = {name: float(np.abs(value).max(initial=0.0)) for name, value in claims.items()}
    largest = max(sizes.values())
    name = str(rng.choice([n for n, size in sizes.items() if size > 1e-3 * largest]))
    changed = np.array(claims[name], float)
    places = np.argwhere(np.abs(changed) > 1e-3 * largest) if changed.shape else [()]
    place = tuple(places[rng.integers(len(places))])
    changed[place] = how(changed[place])
    return {**claims, name: changed}


def differs(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two gradients differ by more than a part in a million somewhere that matters."""
    scale = max(float(np.abs(value).max(initial=0.0)) for value in first.values())
    gaps = [np.abs(first[n] - second[n]) - 1e-6 * np.abs(first[n]) for n in first]
    return any(float(gap.max(initial=0.0)) > 1e-6 * scale for gap in gaps)


# The families.


def right(rng: Any) -> Iterator[Case]:
    for _ in range(150):
        text, at = any_graph(rng)
        yield Case("right", "right", text, at, gradient(text, at))


def factors(rng: Any) -> Iterator[Case]:
    for power in range(1, 7):
        for _ in range(30):
            text, at = any_graph(rng)
            wrong = spoilt(rng, gradient(text, at), lambda g, p=power: g * (1 + 10.0**-p))
            yield Case(f"factor 1+1e-{power}", "wrong", text, at, wrong)


def signs(rng: Any) -> Iterator[Case]:
    for _ in range(30):
        text, at = any_graph(rng)
        yield Case("sign", "wrong", text, at, spoilt(rng, gradient(text, at), lambda g: -g))


def missing_terms(rng: Any) -> Iterator[Case]:
    """One term of the path sum is left out."""
    count = 0
    while count < 40:
        text, at = ordinary_graph(rng)
        graph, claims = gc.parse(text), gradient(text, at)
        name = str(rng.choice(list(at)))
        if not 2 <= graph.count_paths(name, "y") <= 200:
            continue
        terms = graph.pathwise("y", name, at).terms
        left_out = float(terms[rng.integers(len(terms))][1])
        wrong = {**claims, name: claims[name] - left_out}
        if differs(claims, wrong):
            count += 1
            yield Case("missing term", "wrong", text, at, wrong)


def missing_paths(rng: Any) -> Iterator[Case]:
    """A whole edge is forgotten, as if its source had been detached."""
    count = 0
    while count < 40:
        text, at = ordinary_graph(rng)
        lines = text.split("\n")
        place = int(rng.integers(1, len(lines)))
        target = lines[place].partition(" = ")[0]
        graph = gc.parse(text)
        source = str(rng.choice(graph[target].parents))
        cut = gc.parse(text)
        row = cut.row(target)
        number = list(cut.formula(row).sources).index(cut.row(source))
        cut.partials[row, number] = cut.constant(0)
        claims = gradient(text, at)
        found = cut.reverse("y", at)
        wrong = {name: np.asarray(found.get(name, 0.0), float) for name in at}
        if differs(claims, wrong):
            count += 1
            yield Case("missing path", "wrong", text, at, wrong)


def transposes(rng: Any) -> Iterator[Case]:
    for _ in range(25):
        n = int(rng.integers(2, 5))
        text = f"input A[{n},{n}] B[{n},{n}]\nC = A @ B\ny = sum(C*sin(C))"
        at = {name: rng.standard_normal((n, n)) for name in "AB"}
        claims = gradient(text, at)
        name = str(rng.choice(["A", "B"]))
        yield Case("transposed", "wrong", text, at, {**claims, name: claims[name].T})


def broadcasts(rng: Any) -> Iterator[Case]:
    """The gradient of a broadcast bias: averaged, or taken from one row, instead of summed."""
    for number in range(25):
        n, m = (int(size) for size in rng.integers(2, 5, 2))
        text = f"input X[{n},{m}] b[{m}]\nh = tanh(X + b)\ny = sum(h**2)"
        at = {"X": rng.standard_normal((n, m)), "b": rng.standard_normal(m)}
        claims = gradient(text, at)
        wrong = claims["b"] / n if number % 2 else claims["X"][0]
        yield Case("broadcast", "wrong", text, at, {**claims, "b": wrong})


def kinked(rng: Any, offset: float, scale: float = 1.0) -> tuple[str, dict[str, float]]:
    """A graph with one kinked node `k`, its argument so far from the kink."""
    function = str(rng.choice(KINKED)).replace("{}", "a")
    whole = float(rng.integers(1, 5))
    w = float(rng.choice([0.5, 1.0, 2.0, -1.0, -2.0]))
    c = float(rng.choice([0.25, 0.5, 1.5, 3.0]))
    text = (
        f"input x w c\na = w*x - {int(whole * 4)}/4\nk = {function}\n"
        f"u = {rng.choice(UNARY).replace('{}', 'c')}\n"
        f"y = {rng.choice(['u*k + x*c', 'sin(k*c) + u', 'k*u + k**2 + w', 'exp(k/4)*c'])}"
    )
    return text, {"x": (whole + offset * scale) / w, "w": w, "c": c}


def at_kinks(rng: Any) -> Iterator[Case]:
    for _ in range(60):
        text, at = kinked(rng, 0.0)
        yield Case("at a kink", "at-kink", text, at, gradient(text, at), kink="k")
    count = 0
    while count < 20:  # a slope that neither side has, nor anything between
        text, at = kinked(rng, 0.0)
        claims = gradient(text, at)
        wrong = {**claims, "x": claims["x"] + float(rng.choice([-7.0, 9.0]))}
        count += 1
        yield Case("at a kink, outside", "wrong", text, at, wrong)


def near_kinks(rng: Any) -> Iterator[Case]:
    for power in range(1, 10):
        for _ in range(12):
            offset = float(rng.choice([-1, 1])) * 10.0**-power
            text, at = kinked(rng, offset)
            reach = 10.0**-power / abs(at["w"]) <= 1e-3
            label = "near-kink" if reach else "right"
            family = f"1e-{power} from a kink"
            yield Case(family, label, text, at, gradient(text, at), kink="k" if reach else "")
        for _ in range(3):  # the slope of the other side
            while True:
                offset = float(rng.choice([-1, 1])) * 10.0**-power
                text, at = kinked(rng, offset)
                claims = gradient(text, at)
                wrong = gradient(text, {**at, "x": at["x"] - 2 * offset / at["w"]})
                if differs(claims, wrong) and _jumps(claims, wrong):
                    break
            yield Case(f"1e-{power} from a kink, other side", "wrong", text, at, wrong)


def _jumps(claims: dict[str, Any], wrong: dict[str, Any]) -> bool:
    return bool(abs(claims["x"] - wrong["x"]) > 1e-3 * abs(claims["x"]) + 1e-3)


def singles(rng: Any) -> Iterator[Case]:
    for number in range(60):
        text, at = any_graph(rng)
        at = {name: np.asarray(value, np.float32) for name, value in at.items()}
        at = {name: value if value.shape else float(value) for name, value in at.items()}
        claims = gradient(text, at, "float32")
        if number < 30:
            yield Case("float32", "right", text, at, claims, "float32")
        else:
            power = number % 3 + 1
            wrong = spoilt(rng, claims, lambda g, p=power: g * (1 + 10.0**-p) if p < 3 else -g)
            yield Case("float32, wrong", "wrong", text, at, wrong, "float32")


def scaled(rng: Any) -> Iterator[Case]:
    """Inputs and outputs many orders of magnitude from 1."""
    for number in range(60):
        small, large = 10.0 ** rng.uniform(-9, -5), 10.0 ** rng.uniform(5, 9)
        p, q = (float(10.0 ** rng.uniform(-12, 12)) for _ in range(2))
        first, second = (str(rng.choice(UNARY)).replace("{}", name) for name in "ab")
        text = (
            f"input s l\na = s*{1 / small!r}\nb = l*{1 / large!r}\nu = {first}\nv = {second}\n"
            f"y = {p!r}*u*v + {q!r}*a*b"
        )
        at = {"s": small * float(rng.uniform(0.5, 2)), "l": large * float(rng.uniform(0.5, 2))}
        claims = gradient(text, at)
        if number < 30:
            yield Case("badly scaled", "right", text, at, claims)
        else:
            name, power = str(rng.choice(["s", "l"])), number % 6 + 1
            wrong = {**claims, name: claims[name] * (1 + 10.0**-power)}
            yield Case("badly scaled, wrong", "wrong", text, at, wrong)


def overflowing(rng: Any) -> Iterator[Case]:
    """Values up to 1e300, just below what a float can hold."""
    formulas = ("exp(x)", "x**5*exp(x/2)", "exp(x)/(1 + x)", "cosh(x)", "exp(x - 3)*sin(x)")
    for number in range(30):
        text = f"input x\ny = {rng.choice(formulas)}"
        at = {"x": float(rng.uniform(600, 700))}
        claims = gradient(text, at)
        if number < 15:
            yield Case("near overflow", "right", text, at, claims)
        else:
            wrong = {"x": claims["x"] * (1 + 10.0 ** -(number % 6 + 1))}
            yield Case("near overflow, wrong", "wrong", text, at, wrong)


def narrow(rng: Any) -> Iterator[Case]:
    """A narrow feature on a smooth function: with it, and forgotten."""
    features = ("exp(-u**2)", "u*exp(-u**2)", "tanh(u)", "1/(1 + u**2)")
    for power in range(1, 9):
        for feature in features:
            smooth = str(rng.choice(UNARY)).replace("{}", "x")
            text = f"input x\nu = (x - 1)*1{'0' * power}\nv = {smooth}\ny = v + {feature}/8"
            at = {"x": 1 + 10.0**-power * float(rng.choice([0.3, -0.5, 1.1]))}
            claims = gradient(text, at)
            yield Case(f"feature of 1e-{power}", "right", text, at, claims)
            without = gradient(f"input x\ny = {smooth}", at)
            yield Case(f"feature of 1e-{power}, forgotten", "wrong", text, at, without)


def offsets(rng: Any) -> Iterator[Case]:
    """A constant that takes the digits of the values."""
    for power in range(2, 17, 2):
        for number in range(6):
            text, at = ordinary_graph(rng)
            text = text.replace("\ny = ", f"\nz = 1{'0' * power}\ny = z + ")
            claims = gradient(text, at)
            if number < 3:
                yield Case(f"offset 1e{power}", "right", text, at, claims)
            else:
                how = (lambda g: -g, lambda g: 1.01 * g, lambda g: 1.0001 * g)[number - 3]
                yield Case(f"offset 1e{power}", "wrong", text, at, spoilt(rng, claims, how))


VANISHING = (  # what does not depend on x (or b) after all, and something that does
    "input x w\ny = sigmoid(x) + sigmoid(-x) + w**2",
    "input x w\ny = sin(x)**2 + cos(x)**2 + w**2",
    "input x w\ny = log(exp(x)) - x + w**2",
    "input x w\ny = tanh(x) - (exp(x) - exp(-x))/(exp(x) + exp(-x)) + w**2",
    "input x[4]\nparam w\ny = log(sum(softmax(x))) + w**2",
    "input x[4] w[4]\nparam b\ny = sum(w*softmax(x + b))",
    "input x[4] w[4]\nparam b\nh = sin(x) + b\nc = h - mean(h)\n"
    "y = sum(w*c/sqrt(mean(c**2) + 1/1000))",
    "input x[3,4] w[4]\nparam b[4]\nh = x*2 + b\nc = h - mean(h, axis=0)\n"
    "y = sum((w*c/sqrt(mean(c**2, axis=0) + 1/1000))**3)",
)


def vanishing(rng: Any) -> Iterator[Case]:
    """Derivatives that are 0, or the crumbs that rounding leaves of 0; and some that are not."""
    for text in VANISHING:
        for number in range(16):
            graph = gc.parse(text)
            names = [*graph.input_names, *graph.param_names]
            at = {name: rng.standard_normal(graph[name].shape) for name in names}
            at = {name: value if np.shape(value) else float(value) for name, value in at.items()}
            claims = gradient(text, at)
            if number < 10:
                yield Case("vanishing", "right", text, at, claims)
                continue
            name = names[0] if names[0] == "x" and "b" not in names else "b"
            wrong = np.array(claims[name], float)
            wrong[(0,) * wrong.ndim] += float(rng.choice([-1, 1]) * 10.0 ** -rng.integers(0, 6))
            yield Case("vanishing, wrong", "wrong", text, at, {**claims, name: wrong})


LSTM = "\n".join(
    [
        "input x1[2] x2[2] h0[2] c0[2]",
        "param W[8,2] U[8,2] b[8]",
        *(
            f"a{t} = W @ x{t} + U @ h{t - 1} + b\n"
            f"i{t} = sigmoid(a{t}[0:2])\nf{t} = sigmoid(a{t}[2:4])\no{t} = sigmoid(a{t}[4:6])\n"
            f"g{t} = tanh(a{t}[6:8])\nc{t} = f{t}*c{t - 1} + i{t}*g{t}\nh{t} = o{t}*tanh(c{t})"
            for t in (1, 2)
        ),
        "y = sum(h2**2)",
    ]
)


def recurrent(rng: Any) -> Iterator[Case]:
    """Two steps of a long short-term memory at points of all sizes, saturated ones too."""
    graph = gc.parse(LSTM)
    names = [*graph.input_names, *graph.param_names]
    for number in range(24):
        size = 10.0 ** rng.uniform(-2, 1.5)
        at = {name: size * rng.standard_normal(graph[name].shape) for name in names}
        claims = gradient(LSTM, at)
        if number < 16:
            yield Case("recurrent", "right", LSTM, at, claims)
        else:
            wrong = spoilt(rng, claims, lambda g: 1.01 * g)
            yield Case("recurrent, wrong", "wrong", LSTM, at, wrong)


def exponentials(rng: Any) -> Iterator[Case]:
    """Terms of a sum that are hundreds of orders apart."""
    text = "input t[3]\ny = sum(exp(t))"
    for number in range(30):
        at = {"t": np.array([-1.0, 0.0, 1.0]) * rng.uniform(20, 300) + rng.standard_normal(3)}
        claims = gradient(text, at)
        if number < 15:
            yield Case("exponentials", "right", text, at, claims)
        else:
            wrong = claims["t"].copy()
            wrong[rng.integers(3)] *= float(rng.choice([0.0, 7.0, -1.0]))
            yield Case("exponentials, wrong", "wrong", text, at, {"t": wrong})


FAMILIES = (
    *(right, factors, signs, missing_terms, missing_paths, transposes, broadcasts, at_kinks),
    *(near_kinks, singles, scaled, overflowing),
    *(narrow, offsets, vanishing, recurrent, exponentials),
)


def cases(seed: int = 0) -> list[Case]:
    """All cases, the same for the same seed."""
    found = []
    for number, family in enumerate(FAMILIES):
        found.extend(family(np.random.default_rng([seed, number])))
    return found
