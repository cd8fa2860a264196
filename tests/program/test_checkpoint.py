"""Checkpoints: the same bits with less memory, and the plan tells the price."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.program.options import Options
from graphc.program.scheduling import schedule

CHAIN = "input x\nparam w\nh0 = w*x\nfor t in 1..60:\n    h[t] = tanh(w*h[t-1] + sin(h[t-1]))\n"
LADDER = "input x\na0 = x\nb0 = 2*x\nfor t in 1..20:\n    a[t] = sin(a[t-1] + b[t-1])\n"
LADDER += "    b[t] = cos(a[t-1]*b[t-1])\no = a20*b20 + a3\n"
NETWORK = "input X[7,5]\nparam W[5,5]\nh0 = X\n" + "".join(
    f"h{t} = relu(h{t - 1} @ W)\n" for t in range(1, 13)
)
NETWORK += "L = sum(h12**2)\n"


def same_bits(one, other) -> bool:
    value, grads = one
    again, slopes = other
    return np.array_equal(value, again) and all(
        np.array_equal(grads[name], slopes[name]) for name in grads
    )


@pytest.mark.parametrize("checkpoint", [1, 3, 10, 1000, "100kB", "700kB", "2GB"])
@pytest.mark.parametrize("text", [CHAIN, LADDER])
def test_bits_do_not_change(text, checkpoint):
    graph = gc.parse(text)
    of = graph.output_names[-1]
    wrt = graph.param_names or graph.input_names
    points = {"x": np.linspace(-1, 1, 50), "w": 1.3}
    at = {name: points[name] for name in [*graph.input_names, *graph.param_names]}
    plain = graph.compile(of, wrt, mode="reverse")
    kept = graph.compile(of, wrt, mode="reverse", checkpoint=checkpoint)
    assert same_bits(plain(at), kept(at))


def test_memory_falls_and_the_plan_tells():
    graph = gc.parse(CHAIN)
    plain = graph.compile("h60", "w", mode="reverse", backend="numpy").plan
    kept = graph.compile("h60", "w", mode="reverse", backend="numpy", checkpoint=8).plan
    assert kept.memory < 0.5 * plain.memory
    assert plain.recomputed == 0 < kept.recomputed <= plain.operations
    assert "run twice" in str(kept)


def test_a_budget_is_kept():
    graph = gc.parse(CHAIN)
    plain = graph.compile("h60", "w", mode="reverse", backend="numpy").plan.memory
    for share in (0.5, 0.25, 0.12, 0.03):
        budget = int(plain * share)
        plan = graph.compile(
            "h60", "w", mode="reverse", backend="numpy", checkpoint=f"{budget}B"
        ).plan
        assert plan.memory <= budget
    with pytest.raises(gc.GraphcError, match="larger budget"):
        graph.compile("h60", "w", mode="reverse", backend="numpy", checkpoint="1kB")


def test_networks_keep_their_bits():
    graph = gc.parse(NETWORK)
    rng = np.random.default_rng(1)
    at = {"X": rng.standard_normal((7, 5)), "W": rng.standard_normal((5, 5))}
    plain = graph.compile("L", "W")
    for checkpoint in (2, 4, 10):
        kept = graph.compile("L", "W", checkpoint=checkpoint)
        assert same_bits(plain(at), kept(at))
        assert kept.plan.recomputed > 0
    assert graph.compile("L", "W", checkpoint=4).plan.memory < plain.plan.memory


def test_a_chain_keeps_one_value_in_ten_and_one_segment():
    graph = gc.parse("input x\nh0 = x\nfor t in 1..100:\n    h[t] = tanh(h[t-1])\n")
    compiled = graph.compile("h100", "x", mode="reverse", checkpoint=10)
    program = compiled._task.program
    found = schedule(program, compiled._task.derived.declared, Options(every=10), True)
    assert found.recomputed == 81  # nine segments of nine values; the last one never ran off
    assert found.memory // (found.block * 8) <= 10 + 10 + 4


@pytest.mark.parametrize("checkpoint", [0, -3, True, "many", "12 parsecs", 2.5])
def test_bad_checkpoints_are_told(checkpoint):
    with pytest.raises(gc.GraphcError, match="checkpoint="):
        gc.parse("input x\ny = x**2").compile("y", "x", checkpoint=checkpoint)


@pytest.mark.parametrize("layers", [2, 50])
def test_the_textbook_network_with_a_checkpoint_every_tenth_layer(layers):
    """The network of Prince, problem 7.9, and a deep one of its kind."""
    rng = np.random.default_rng(7)
    text = "input x[2] = [1, 1/2]\ninput t[1] = [1]\nparam W0[3,2]\nparam b0[3]\nf0 = b0 + W0 @ x\n"
    for k in range(1, layers):
        text += (
            f"param W{k}[3,3]\nparam b{k}[3]\nh{k} = relu(f{k - 1})\nf{k} = b{k} + W{k} @ h{k}\n"
        )
    text += f"param V[1,3]\nh = relu(f{layers - 1})\nf = V @ h\nL = sum((f - t)**2)\noutput L\n"
    graph = gc.parse(text)
    at = {name: rng.uniform(-0.4, 0.8, graph[name].shape) for name in graph.param_names}
    plain, kept = graph.compile("L"), graph.compile("L", checkpoint=10)
    assert same_bits(plain(at), kept(at))
    assert (kept.plan.recomputed > 0) == (layers > 10)


def test_checkpoints_choose_the_backward_pass():
    graph = gc.parse(CHAIN)
    plan = graph.compile("h60", "w", checkpoint=8).plan
    assert plan.mode == "reverse" and plan.recomputed
