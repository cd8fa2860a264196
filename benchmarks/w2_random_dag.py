"""W2: a random graph of scalars, 10 inputs to one output, 1,000 to a million nodes.

python benchmarks/w2_random_dag.py [--quick] [--json FILE]

Set-up is declaring, deriving, planning and a first call; its peak of memory is taken in a process
of its own, in which the graph to declare stands in arrays: tuples that were made and freed before
would be memory that a contender uses again and nobody counts. Processor time.
"""

from __future__ import annotations

import math
import time
from functools import partial

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, compare, verdict
from random_dag import (
    INPUTS,
    OUTPUTS,
    POINT,
    Dag,
    build,
    columns_of,
    gradient_by_hand,
    random_dag,
    rules_of,
    text_of,
)

import graphc as gc

OPERATORS, ARRAYS, CASADI = "graphc", "graphc, from arrays", "casadi SX, buffers"
NAMES = [f"x{number}" for number in range(INPUTS)]
AT = dict(zip(NAMES, POINT, strict=True))
# the largest graph a contender is asked for: beyond it set-up takes minutes, or a call so long that
# those in turn with it find nothing in the caches
LIMITS = {
    **{"jax.jit": 200, "symengine": 200, "autograd": 1000, "torch eager": 1000},
    "two loops by hand": 1000,
}
MILLION, NAMED = 1_000_000, 100_000
SETUP = {OPERATORS: 1 / 5, ARRAYS: 1 / 20}  # of CasADi's, at a million
EVALUATION, EVALUATED = 0.8, (10_000, 100_000, MILLION)
MEMORY, GROWTH, SECONDS = 0.5, 1.05, 3.0


def called(graph, of, at):
    """A call of value and gradient; the first one is part of the set-up."""
    f = graph.compile(of=of, wrt=NAMES, want="value_and_grad")

    def run():
        value, gradient = f(**at)
        return value, np.array([gradient[name] for name in NAMES])

    run()
    return run


def graphc_run(dag):
    graph = gc.Graph("dag")
    graph.node("L", build(dag, graph.inputs(" ".join(NAMES)), gc)[1])
    return called(graph, "L", AT)


def arrays_run(columns):
    inputs, operations, _ = columns
    graph = gc.from_arrays(*columns)
    return called(graph, f"n{inputs + len(operations) - 1}", {**AT, f"x{INPUTS}": 0.5})


def text_run(text):
    return called(gc.parse(text, "dag"), "L", AT)


def builder_run(dag):
    """Every node has a name."""
    graph = gc.Graph("dag")
    rules, nodes = rules_of(gc), list(graph.inputs(" ".join(NAMES)))
    for number, (kind, first, second) in enumerate(dag, start=INPUTS):
        nodes.append(graph.node(f"n{number}", rules[kind](nodes[first], nodes[second])))
    graph.node("L", sum(nodes[1 - OUTPUTS :], nodes[-OUTPUTS]))
    return called(graph, "L", AT)


def casadi_run(dag):
    import casadi

    x = casadi.SX.sym("x", INPUTS)
    value = build(dag, [x[number] for number in range(INPUTS)], casadi)[1]
    f = casadi.Function("f", [x], [value, casadi.gradient(value, x)])
    buffer, call = f.buffer()
    point, result, slopes = POINT.copy(), np.zeros(1), np.zeros(INPUTS)
    buffer.set_arg(0, memoryview(point))
    buffer.set_res(0, memoryview(result))
    buffer.set_res(1, memoryview(slopes))

    def run(_owners=(f, buffer, point)):  # the buffer dies with its owner
        call()
        return result[0], slopes

    return run


def jax_run(dag):
    import jax
    import jax.numpy as jnp

    f = jax.jit(jax.value_and_grad(lambda x: build(dag, x, jnp)[1]))
    point = jnp.asarray(POINT)
    jax.block_until_ready(f(point))

    return lambda: jax.block_until_ready(f(point))


def torch_run(dag):
    import torch

    torch.set_num_threads(1)
    inputs = [torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in POINT]

    def run():
        value = build(dag, inputs, torch)[1]
        slopes = torch.autograd.grad(value, inputs, allow_unused=True, materialize_grads=True)
        return value.detach(), torch.stack(slopes)

    return run


def autograd_run(dag):
    import autograd.numpy as anp
    from autograd import value_and_grad

    f = value_and_grad(lambda x: build(dag, x, anp)[1])

    return lambda: f(POINT)


def symengine_run(dag):
    import symengine

    inputs = [symengine.Symbol(f"input{number}") for number in range(INPUTS)]
    value = build(dag, inputs, symengine)[1]
    f = symengine.Lambdify(inputs, [value, *(value.diff(x) for x in inputs)], cse=True)

    def run():
        value, *slopes = f(POINT)
        return value, np.array(slopes)

    return run


def by_hand(dag):
    return lambda: gradient_by_hand(dag)


MAKERS = {
    "two loops by hand": (by_hand, "numpy"),
    CASADI: (casadi_run, "casadi"),
    "torch eager": (torch_run, "torch"),
    "autograd": (autograd_run, "autograd"),
    "jax.jit": (jax_run, "jax"),
    "symengine": (symengine_run, "symengine"),
}


def contenders_of(nodes):
    """All that this many nodes are asked of; what is declared as arrays has them before."""
    dag = random_dag(nodes)
    columns = columns_of(dag)
    others = [
        Contender(name, partial(make, dag), needs)
        for name, (make, needs) in MAKERS.items()
        if nodes <= LIMITS.get(name, nodes)
    ]
    return [
        Contender(OPERATORS, lambda: graphc_run(dag)),
        Contender(ARRAYS, lambda: arrays_run(columns)),
        *others,
    ]


def graph_part(nodes, chosen):
    """Set-up and evaluation beside the others."""
    title = f"W2: random graph of {nodes:,} nodes"
    goals = (Goal(CASADI, EVALUATION),) if nodes in EVALUATED else ()
    part = compare(title, contenders_of(nodes), chosen, goals)
    setup = {figure["name"]: figure["setup"] for figure in part.get("figures", ())}
    if nodes == MILLION and CASADI in setup:
        for name, limit in SETUP.items():
            what = "set-up" + name.removeprefix("graphc")
            part["goals"].append(verdict(Goal(CASADI, limit, what), setup[name] / setup[CASADI]))
    return part


def growth_goals(parts):
    """The largest exponent of the set-up between two sizes, added to the largest of them."""
    parts = {nodes: part for nodes, part in parts.items() if part}
    if len(parts) < 2:
        return
    for name in SETUP:
        setup = [
            (nodes, figure["setup"])
            for nodes, part in sorted(parts.items())
            for figure in part["figures"]
            if figure["name"] == name
        ]
        (n, t), (most, last) = setup[0], setup[-1]
        exponent = math.log(last / t) / math.log(most / n)
        what = "growth exponent" + name.removeprefix("graphc")
        print(f"{what} of the set-up, {n:,} to {most:,} nodes: {exponent:.2f}")
        parts[max(parts)]["goals"].append(verdict(Goal("1.05", 1.0, what), exponent / GROWTH))


def memory_part(chosen):
    """Extra memory of the set-up of a million nodes, each contender in its own process."""
    title = f"W2 memory: set-up of {MILLION:,} nodes"
    if chosen.quick or (chosen.only and chosen.only not in title):
        return {}
    names = [OPERATORS, ARRAYS, *([CASADI] if measure.installed("casadi") else [])]
    found = measure.memory(__file__, names)
    print(f"\n{title}")
    for name, megabytes in found.items():
        print(f"{name:30} {megabytes:8.0f} MB extra")
    goals = [
        verdict(Goal(CASADI, MEMORY, f"memory{name[6:]}"), found[name] / found[CASADI])
        for name in (OPERATORS, ARRAYS)
        if CASADI in found
    ]
    return {"title": title, "megabytes": found, "goals": goals}


def child(name):
    """The megabytes of one contender; modules are loaded by a small graph first."""
    declared = {OPERATORS: graphc_run, CASADI: casadi_run, ARRAYS: arrays_run}
    given = {ARRAYS: columns_of}.get(name, lambda dag: dag)
    declared[name](given(Dag(100)))
    dag, kept = given(Dag(MILLION)), []
    return measure.extra_megabytes(lambda: kept.append(declared[name](dag)))


def named_part(chosen):
    """All nodes have names: declared, compiled and evaluated."""
    nodes = 1000 if chosen.quick else NAMED
    title = f"W2 names: {nodes:,} named nodes, compiled and evaluated"
    if chosen.only and chosen.only not in title:
        return {}
    dag = random_dag(nodes)
    text = text_of(dag)
    print(f"\n{title}")
    figures, goals = [], []
    for name, run in (("text", lambda: text_run(text)), ("builder", lambda: builder_run(dag))):
        spent = []
        for _ in range(3):
            start = time.process_time()
            run()
            spent.append(time.process_time() - start)
        print(f"{name:30} {measure.shown(min(spent)):>9}")
        figures.append({"name": f"graphc, {name}", "setup": 0.0, "best": min(spent)})
        if not chosen.quick:
            goals.append(verdict(Goal(f"{SECONDS:g} s", 1.0, name), min(spent) / SECONDS))
    figures[0]["name"] = "graphc"
    return {"title": title, "figures": figures, "goals": goals}


def main() -> None:
    chosen = measure.options(__doc__)
    if chosen.child:
        print(child(chosen.child))
        return
    chosen.clock = "cpu"
    sizes = (100, 1000) if chosen.quick else (100, 1000, *EVALUATED)
    parts = {nodes: graph_part(nodes, chosen) for nodes in sizes}
    if not chosen.quick:
        growth_goals({nodes: part for nodes, part in parts.items() if nodes >= 1000})
    measure.finish([*parts.values(), memory_part(chosen), named_part(chosen)], chosen)


if __name__ == "__main__":
    main()
