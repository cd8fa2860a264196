"""W2: a random graph of scalars, 10 inputs to one output: derive and compile, one evaluation.

python benchmarks/w2_random_dag.py [--quick] [--json FILE]
"""

from __future__ import annotations

from functools import partial

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, compare
from random_dag import INPUTS, POINT, build, gradient_by_hand, random_dag, text_of

import graphc as gc

# the largest graph a contender is asked for: beyond it set-up or evaluation takes minutes
LIMITS = {"jax.jit": 200, "symengine": 200, "autograd": 10_000, "torch eager": 10_000}


def graphc_run(dag):
    graph = gc.parse(text_of(dag), "dag")
    names = [f"x{number}" for number in range(INPUTS)]
    f = graph.compile(of="L", wrt=names, want="value_and_grad")
    at = dict(zip(names, POINT, strict=True))

    def run():
        value, gradient = f(**at)
        return value, np.array([gradient[name] for name in names])

    return run


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
    "graphc": (graphc_run, "numpy"),
    "two loops by hand": (by_hand, "numpy"),
    "casadi SX, buffers": (casadi_run, "casadi"),
    "torch eager": (torch_run, "torch"),
    "autograd": (autograd_run, "autograd"),
    "jax.jit": (jax_run, "jax"),
    "symengine": (symengine_run, "symengine"),
}


def main() -> None:
    chosen = measure.options(__doc__)
    results = []
    for nodes in (100, 1000) if chosen.quick else (100, 1000, 10_000):
        dag = random_dag(nodes)
        contenders = [
            Contender(name, partial(make, dag), needs)
            for name, (make, needs) in MAKERS.items()
            if nodes <= LIMITS.get(name, nodes)
        ]
        results.append(compare(f"W2: random graph of {nodes:,} nodes", contenders, chosen))
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
