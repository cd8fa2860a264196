"""Random graphs for the checker: compositions, cancellations, saturations, true zeros, faults.

`python benchmarks/checker_graphs.py --graphs 1000 --seed 0` checks so many right graphs at drawn
points, then plants faults in them: a wrong claim, or a wrong own derivative of a node. It prints
what the checker said, and every graph that it got wrong.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import graphc as gc
from graphc.checking.points import drawn

UNARY = """
sin({}) | cos({}) | tanh({}) | sigmoid({}) | softplus({}) | exp(-abs({})) | exp({}/4) | atan({})
log(1 + ({})**2) | sqrt(1 + ({})**2) | relu({}) | gelu({}) | silu({}) | erf({}) | ({})**2 | ({})**3
abs({}) | -({}) | 1/(1 + ({})**2) | log_sigmoid({}) | elu({}) | selu({}) | hardtanh({})
leaky_relu({}) | asin(tanh({})) | acos(sin({})/2) | log(sigmoid({})) | sqrt(1 - tanh({})**2)
log1p(({})**2) | expm1(tanh({})) | sinh(tanh({})) | cosh(sin({})) | clip({}, -2, 2) | log({})
sqrt({}) | tan(tanh({})) | ({})**(3/2)
"""
BINARY = """
({}) + ({}) | ({}) - ({}) | ({})*({}) | ({})/(1 + ({})**2) | max({}, {}) | min({}, {})
logaddexp({}, {}) | atan2({}, {}) | where({} > {}, 1, 2)*x0 | ({})/({})
"""
CONSTANT = """
sigmoid({0}) + sigmoid(-({0})) | sin({0})**2 + cos({0})**2 | tanh({0}) + tanh(-({0}))
exp({0}/9)*exp(-({0})/9) | log(exp({0}/9)) - ({0})/9 | ({0}) - ({0}) | erf({0}) + erf(-({0}))
sigmoid({0}) - 1/(1 + exp(-({0}))) | softplus({0}) - softplus(-({0})) - ({0})
atan({0}) + atan(-({0})) | cosh({0}/9)**2 - sinh({0}/9)**2 | log(sigmoid({0})) - log_sigmoid({0})
relu({0}) - relu(-({0})) - ({0}) | ({0})**2 - ({0})*({0}) | silu({0}) - silu(-({0})) - ({0})
logaddexp({0}, 0) - softplus({0})
"""
ACTIVATIONS = ("tanh", "sigmoid", "relu", "gelu", "silu", "softplus")
LOSSES = """
sum({0}**2) | sum(tanh({0})) | logsumexp({0}) | mean({0}**3) | log(sum(softmax({0})))
sum(softmax({0})*{0}) | norm({0}) | var({0}) | sum(abs({0})) | max({0}) | sum({0})
"""
NODES = {  # formula of a scalar node, its right derivative, wrong ones
    "tanh(a)": ("1 - {s}**2", "1 - {s}", "1 + {s}**2", "(1 - {s}**2)*1.0001"),
    "sigmoid(a)": ("{s}*(1 - {s})", "{s}*(1 + {s})", "{s}", "-{s}*(1 - {s})"),
    "sin(a)": ("cos(a)", "-cos(a)", "sin(a)", "cos(a)*0.999999"),
    "exp(-a**2)": ("-2*a*{s}", "2*a*{s}", "-2*{s}", "-a*{s}"),
    "a**3": ("3*a**2", "3*a", "2*a**2", "3*a**2 + 1/100"),
    "sqrt(1 + a**2)": ("a/{s}", "1/{s}", "a/{s}/2", "a"),
    "softplus(a)": ("sigmoid(a)", "tanh(a)", "1 - sigmoid(a)", "sigmoid(a)*1.00001"),
}


def listed(text: str) -> list[str]:
    """The parts of a table of formulas."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def scalar(rng: Any) -> str:
    """A graph of scalars in which some nodes are constant without looking so."""
    inputs = [f"x{k}" for k in range(rng.integers(1, 4))]
    lines, names = ["input " + " ".join(inputs)], list(inputs)
    for k in range(rng.integers(1, 6)):
        table = rng.choice([UNARY, UNARY, UNARY, UNARY, UNARY, BINARY, BINARY, BINARY, CONSTANT])
        formula = rng.choice(listed(table)).format(rng.choice(names), rng.choice(names))
        if rng.random() < 0.3:
            factor, offset = rng.choice(["2", "1/3", "-5", "1/1000", "1000"]), rng.choice([1, -1e3])
            formula = f"{factor}*({formula}) + {int(offset)}"
        lines.append(f"h{k} = {formula}")
        names.append(f"h{k}")
    last = names[len(inputs) :][-2:]
    lines.append(f"L = {' + '.join(last)}" + rng.choice(["", f" + {inputs[0]}", f" - {last[-1]}"]))
    return "\n".join([*lines, "output L"])


def lstm(steps: int, size: int, width: int) -> list[str]:
    lines = [
        f"input x[{steps},{width}]",
        f"param W[{4 * size},{width}] U[{4 * size},{size}] b[{4 * size}]",
        f"h0 = zeros(({size},))",
        f"c0 = zeros(({size},))",
    ]
    for t in range(1, steps + 1):
        gate = [f"a{t}[{k * size}:{(k + 1) * size}]" for k in range(4)]
        lines += [
            f"a{t} = W @ x[{t - 1}] + U @ h{t - 1} + b",
            f"c{t} = sigmoid({gate[1]})*c{t - 1} + sigmoid({gate[0]})*tanh({gate[3]})",
            f"h{t} = sigmoid({gate[2]})*tanh(c{t})",
        ]
    return [*lines, f"Y = h{steps}"]


def gru(steps: int, size: int, width: int) -> list[str]:
    lines = [
        f"input x[{steps},{width}] h0[{size}]",
        f"param W[{size},{width}] U[{size},{size}] R[{size},{width}] S[{size},{size}]",
        f"param Z[{size},{width}] V[{size},{size}] b[{size}]",
    ]
    for t in range(1, steps + 1):
        lines += [
            f"z{t} = sigmoid(Z @ x[{t - 1}] + V @ h{t - 1} + b)",
            f"r{t} = sigmoid(R @ x[{t - 1}] + S @ h{t - 1})",
            f"n{t} = tanh(W @ x[{t - 1}] + U @ (r{t}*h{t - 1}))",
            f"h{t} = (1 - z{t})*n{t} + z{t}*h{t - 1}",
        ]
    return [*lines, f"Y = h{steps}"]


def tensor(rng: Any) -> str:
    """A layer, a cell or a block, and a loss."""
    n, d, m = (int(size) for size in rng.integers(2, 5, 3))
    act, other = rng.choice(ACTIVATIONS, 2)
    axis, keep = rng.choice([(0, "False"), (1, "True")])
    normal = [
        f"input X[{n + 2},{d}]",
        f"param W[{d},{m}] b[{m}] g[{m}] c[{m}]",
        "Z = X @ W + b",
        f"u = mean(Z, axis={axis}, keepdims={keep})",
        f"v = var(Z, axis={axis}, keepdims={keep})",
        "N = g*(Z - u)/sqrt(v + 1/100000) + c",
        f"Y = {act}(N)",
    ]
    attention = [
        f"input X[{n},{d}]",
        f"param A[{d},{m}] B[{d},{m}] C[{d},{m}] a[{m}] b[{m}] c[{m}]",
        "Q = X @ A + a",
        "K = X @ B + b",
        "V = X @ C + c",
        f"P = softmax(Q @ K.T/sqrt({m}))",
        "Y = P @ V",
    ]
    perceptron = [
        f"input X[{n},{d}]",
        f"param W[{d},{m}] b[{m}] V[{m},{d}]",
        f"H = {act}(X @ W + b)",
        f"Y = {other}(H @ V)",
    ]
    residual = [
        f"input x[{d}]",
        f"param W[{d},{d}] V[{d},{d}]",
        f"h = x + {act}(W @ x)",
        f"k = h - V @ {other}(h)",
        "Y = k - k*norm(h)/norm(h)" if rng.random() < 0.3 else "Y = k/norm(k)",
    ]
    shares = [
        f"input x[{d}] y[{d}]",
        "u = x*y/sum(x*y)",
        "v = softmax(x - y)",
        rng.choice(["Y = u - v*sum(u)", "Y = u*v", "Y = u + log(v)"]),
    ]
    matrix = [f"input X[{n},{d}]", f"S = X.T @ X/{n} + eye({d})", "Y = inv(S) @ S + S"]
    cells = [cell(int(rng.integers(1, 4)), m, d) for cell in (lstm, gru)]
    kinds = [normal, normal, attention, perceptron, residual, shares, matrix, *cells]
    lines = kinds[rng.integers(len(kinds))]
    loss = rng.choice(listed(LOSSES)).format("Y")
    if lines is matrix and rng.random() < 0.5:
        loss = rng.choice(["logdet(S)", "log(det(S)) - logdet(S)", "trace(inv(S) @ S)", "sum(Y)"])
    return "\n".join([*lines, f"L = {loss}", "output L"])


def graph_text(seed: int) -> str:
    """A random graph with one output, L."""
    rng = np.random.default_rng(seed)
    return scalar(rng) if rng.random() < 0.5 else tensor(rng)


def own_derivative_text(seed: int, right: bool) -> str:
    """A random graph whose node s has an own derivative, right or wrong."""
    rng = np.random.default_rng(seed)
    formula = rng.choice(list(NODES))
    slopes = NODES[formula]
    slope = slopes[0] if right else rng.choice(slopes[1:])
    before = rng.choice(["a = w*x", "a = sin(x) + w", "a = w*x - x/3"])
    after = rng.choice(["L = s*w", "L = s + sigmoid(x) + sigmoid(-x)", "L = exp(-s**2)*x", "L = s"])
    lines = ["input x", "param w", before, f"s = {formula}", f"d s / d a = {slope.format(s='s')}"]
    return "\n".join([*lines, after, "output L"])


@dataclass
class Tally:
    """What the checker said, and what it got wrong."""

    said: Counter[str]
    failures: list[str]

    def fail(self, seed: int, what: str, text: str) -> None:
        self.failures.append(f"seed {seed}: {what}\n{text}")


def check_right(seed: int, tally: Tally, points: int = 3) -> None:
    """Every derivative of a right graph passes."""
    for text in (graph_text(seed), own_derivative_text(seed, True)):
        try:
            report = gc.check(gc.parse(text), points=points, rng=seed)
        except gc.GraphcError as error:
            if "no point was found" not in str(error):
                tally.fail(seed, str(error), text)
            tally.said["no point"] += 1
            continue
        tally.said.update(f"right: {verdict}" for verdict in (r.verdict for r in report.rows))
        if not report.ok:
            tally.fail(seed, f"right, but called {report.verdict}", f"{text}\n{report}")


def check_wrong(seed: int, tally: Tally, faults: int = 3) -> None:
    """A wrong claim is noticed, unless it is off by less than the bound that the row tells."""
    rng, text = np.random.default_rng(seed), graph_text(seed)
    graph = gc.parse(text)
    try:
        point = drawn(graph, 1, seed, [graph.row("L")], None)[0][0]
    except gc.GraphcError:
        return
    at = {graph.names[row]: value for row, value in point.values.items()}
    right = {k: np.asarray(v, float) for k, v in graph.reverse("L", at).items() if k in at}
    true = {(r.name, r.index): r.measured for r in gc.check(graph, "L", at=at, claimed=right).rows}
    for _ in range(faults):
        name = rng.choice(list(right))
        claim = right[name].copy()
        place = tuple(int(i) for i in np.unravel_index(rng.integers(claim.size), claim.shape))
        old, largest = float(claim[place]), float(np.abs(claim).max())
        part = 10.0 ** -rng.integers(1, 8)
        wrong = [old * (1 + part), -old, 0.0, 7 * old, old + largest * part, old + 1]
        claim[place] = wrong[rng.integers(len(wrong))]
        report = gc.check(graph, "L", at=at, claimed={**right, name: claim})
        row = next(r for r in report.rows if (r.name, r.index) == (name, place))
        gap = abs(float(claim[place]) - true[name, place])
        told = row.bound if row.bound == row.bound else 0.0
        if gap <= max(told, 1.5e-8 * abs(true[name, place])):
            tally.said["wrong: below the bound"] += 1
            continue
        tally.said[f"wrong: {row.verdict}"] += 1
        if row.verdict in ("correct", "near-kink"):
            what = f"d L / d {row.element} claimed {claim[place]!r}, is {true[name, place]!r}"
            tally.fail(seed, f"{what}, bound {row.bound:.1e}", f"{text}\nat {at}")


def check_own(seed: int, tally: Tally) -> None:
    """A wrong own derivative is blamed."""
    text = own_derivative_text(seed, False)
    report = gc.check(gc.parse(text), points=3, rng=seed)
    tally.said[f"wrong own derivative: {report.verdict}"] += 1
    if report.verdict != "wrong" or report.blame != [("a", "s")]:
        tally.fail(seed, f"own derivative, blamed {report.blame}", text)


def run(graphs: int, seed: int) -> Tally:
    """The tally over so many graphs."""
    tally = Tally(Counter(), [])
    for number in range(seed, seed + graphs):
        check_right(number, tally)
        check_wrong(number, tally)
        check_own(number, tally)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # some graphs sit on kinks by construction
    tally = run(given.graphs, given.seed)
    for failure in tally.failures:
        print(failure, end="\n\n")
    for said, count in sorted(tally.said.items()):
        print(f"{count:8d}  {said}")
    print(f"{len(tally.failures):8d}  failures")


if __name__ == "__main__":
    main()
