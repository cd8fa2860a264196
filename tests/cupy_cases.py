"""Graphs and wants that exercise everything the CuPy printer can write."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from example_models import GRAPHS, models
from identities import IDENTITIES
from probes import Probe, inside

import graphc as gc
from graphc.program.wants import WANTS

SIZES = {"n": 4, "m": 3, "k": 2}
OPERATIONS = {  # tensor operations that neither the identities nor the models use
    "windows": "input x[7]\nparam w[3]\ny = sum(conv1d(x, w, stride=2, padding=1)**2)",
    "pooling": "input x[4,6]\nparam b\ny = sum(maxpool(x, 2)*b) + sum(avgpool(x, 3)**2)",
    "ties": 'input x[4]\nparam w[4]\ny = max(w*x) + max(x, kink="share")*sum(w)',
    "places": "input x[5]\nparam w[5]\ny = w[1]*x[4] + sum(take(x*w, [0, 2, 2], axis=0)**2)",
    "joined": "input x[3]\nparam w[3]\ny = sum(concat([x*w, w], axis=0)**3)*prod(stack([x, w]))",
    "padded": "input x[2,3]\nparam w[4,5]\ny = sum(pad(x, ((1, 1), (2, 0)))*w)",
    "softened": "input z[n,4]\nparam t[n,4]\ny = mean(softmax_cross_entropy(z, t)) + logsumexp(t)",
    "scaled": "input x[n]\nparam w[n]\ny = norm(x*w) + var(w) + sum(where(x > w, log(x), 0))",
    "constants": "input x\nparam w\nc = 3\nd = c*2\ny = where(d > 4, x, w)*where(1 > 2, c, w) + d",
    "solved": "input A[3,3] b[3]\nparam l\ny = b @ solve(A + l*outer(b, b), b) + det(A)",
}


def point(graph: gc.Graph, seed: int = 0) -> dict[str, Any]:
    """Positive numbers without pattern; square matrices are far from singular."""
    chance = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name in [*graph.input_names, *graph.param_names]:
        shape = [SIZES.get(size, size) for size in graph[name].shape]
        found[name] = chance.uniform(0.2, 0.9, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            found[name] += 2 * np.eye(shape[0])
    return found


def tensor_graphs() -> dict[str, gc.Graph]:
    """Identities, models and operations, by name."""
    found = {f"{i.group}-{i.title}": gc.parse(i.text) for i in IDENTITIES[::2]}
    found |= {model.name: model for model in models.MODELS}
    found |= {path.stem: gc.load(path) for path in GRAPHS}
    return found | {name: gc.parse(text) for name, text in OPERATIONS.items()}


def questions(graph: gc.Graph) -> Iterator[dict[str, Any]]:
    """What can be asked of a graph: every want that its output allows."""
    of = graph.output_names[0]
    small = all(size == 1 for size in graph[of].shape)
    leaves = graph.param_names or graph.input_names
    for want in WANTS:
        if small or want not in ("grad", "value_and_grad", "hessian", "hvp"):
            yield {"of": of, "want": want, "wrt": leaves}
    yield {"of": [of], "want": "jacobian", "wrt": leaves[0]}


def arguments(graph: gc.Graph, want: str, of: str, wrt: list[str], at: dict[str, Any]) -> dict:
    """The point, with the tangents and seeds that a want takes."""
    chance = np.random.default_rng(7)
    extra = {}
    if want in ("jvp", "hvp"):
        extra = {f"{name}_dot": chance.uniform(-1, 1, np.shape(at[name])) for name in wrt}
    if want == "vjp":
        extra = {f"{of}_bar": chance.uniform(-1, 1, np.shape(graph.values(at)[of]))}
    return at | extra


def batch(probe: Probe, count: int = 50) -> dict[str, np.ndarray]:
    """Points inside a function's domain."""
    domain = probe.record.domain
    many = [
        np.array([v for s in range(count) for v in inside(d, 100 * i + s)])
        for i, d in enumerate(domain)
    ]
    return dict(zip(probe.inputs, many, strict=True))


ANYWHERE = (
    *("sin", "cos", "tanh", "atan", "sigmoid", "softplus", "silu", "gelu", "erf", "abs", "sign"),
    *("relu", "elu", "selu", "hardtanh", "log_sigmoid", "square"),
)
UNARY = {  # how any number is brought into the domain of a function
    **dict.fromkeys(ANYWHERE, "{}"),
    **dict.fromkeys(("log", "sqrt", "log1p"), "({})**2 + 1/3"),
    **dict.fromkeys(("asin", "acos", "exp", "expm1", "tan", "sinh", "cosh"), "tanh({})/2"),
}


def random_graph(seed: int, nodes: int = 12) -> gc.Graph:
    """A graph of scalars over most of the function table."""
    chance = random.Random(seed)
    names = ["x", "y", "w"]
    lines = ["input x y", "param w"]
    for number in range(nodes):
        a, b, c = (chance.choice(names[-5:]) for _ in range(3))
        kind = chance.randrange(6)
        if kind <= 2:
            name = chance.choice(sorted(UNARY))
            formula = f"{name}({UNARY[name].format(a)})*{b} - {c}/(2 + {a}**2)"
        elif kind == 3:
            formula = f"where({a} > {b}, {a}*{c}, max({a}, {b}, {c}) - 1/3)"
        elif kind == 4:
            formula = f"atan2({a}, 1 + {b}**2) + logaddexp({b}, {c})/3 - min({a}, 0.7)"
        else:
            formula = (
                f"({a} + {b})*tanh({c}) - (1 + {a}**2)**({chance.choice(['0.3', '-3/2', '5/2'])})"
            )
        names.append(f"v{number}")
        lines.append(f"v{number} = tanh({formula}) + 0.1*{a}")  # values stay moderate
    lines.append(f"output {names[-1]}")
    return gc.parse("\n".join(lines), f"random_{seed}")


def used(source: str, namespace: str = "cp") -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """(name, number of positional arguments or -1, keywords) of every use of the namespace."""
    tree = ast.parse(source)
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or (id(node) in inner and id(node) not in called):
            continue
        words, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            words.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name) or root.id != namespace:
            continue
        name = ".".join(reversed(words))
        call = called.get(id(node))
        if call is None:
            yield name, -1, ()
        else:
            yield name, len(call.args), tuple(str(k.arg) for k in call.keywords)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("cupyx"):
            yield from ((f"{node.module}.{alias.name}", 1, ()) for alias in node.names)
