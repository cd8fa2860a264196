"""W1: a ladder u, l -> sin(u + l), cos(u + l): derive and compile, one point, a million points.

python benchmarks/w1_ladder.py [--quick] [--json FILE]
"""

from __future__ import annotations

import blocked_c
import casadi_c
import measure  # first: it sets the number of threads
import numpy as np
import random_dag
from measure import Contender, Goal, compare

import graphc as gc
from graphc.program.backends.c import building

X = 0.7
LAYERS = 20
PEERS = {
    "NumPy by hand": 8,
    "jax.jit(vmap)": 8,
    "numba by hand": 8,
    "casadi map": 8,
    "torch eager": 7,
}


def ladder(layers: int) -> gc.Graph:
    return gc.parse(
        f"""
input x
u[1] = sin(x)
l[1] = cos(x)
for k in 2..{layers}:
    u[k] = sin(u[k-1] + l[k-1])
    l[k] = cos(u[k-1] + l[k-1])
o = u[{layers}]*l[{layers}]
output o
""",
        "ladder",
    )


def climb(x, layers, library):
    """The ladder in the numbers of a library."""
    u, lower = library.sin(x), library.cos(x)
    for _ in range(layers - 1):
        total = u + lower
        u, lower = library.sin(total), library.cos(total)
    return u * lower


def by_hand(x, layers):
    """What one writes in NumPy: both derivatives of a rung are the rung's own values."""
    rungs = []
    total = x
    for _ in range(layers):
        u, lower = np.sin(total), np.cos(total)
        rungs.append((u, lower))
        total = u + lower
    slope = lower * lower - u * u
    for u, lower in rungs[-2::-1]:
        slope = slope * (lower - u)
    return rungs[-1][0] * rungs[-1][1], slope


def graphc_run(graph, at, wrt, **settings):
    f = graph.compile(wrt=wrt, want="value_and_grad", **settings)

    def run():
        value, gradient = f(**at)
        return (value, *gradient.values())

    return run


def jax_run(function, arguments, mapped):
    import jax

    derived = jax.value_and_grad(function, argnums=tuple(range(len(arguments))))
    f = jax.jit(jax.vmap(derived) if mapped else derived)
    arrays = [jax.numpy.asarray(argument) for argument in arguments]
    jax.block_until_ready(f(*arrays))  # compiles
    return lambda: jax.block_until_ready(f(*arrays))


def torch_run(x, layers):
    import torch

    torch.set_num_threads(1)
    point = torch.tensor(x, dtype=torch.float64, requires_grad=True)

    def run():
        value = climb(point, layers, torch)
        (slope,) = torch.autograd.grad(value, point, torch.ones_like(value))
        return value.detach(), slope

    return run


def autograd_run(x, layers):
    import autograd.numpy as anp
    from autograd import make_vjp

    def run():
        pull, value = make_vjp(lambda at: climb(at, layers, anp))(x)
        return value, pull(np.ones_like(x))

    return run


def casadi_run(layers, through_c=False):
    """CasADi's virtual machine, or its C, through its buffers, its fastest call."""
    import casadi

    x = casadi.SX.sym("x")
    value = climb(x, layers, casadi)
    f, folder = casadi.Function("f", [x], [value, casadi.gradient(value, x)]), None
    if through_c:
        f, folder = casadi_c.compiled(f)
    buffer, call = f.buffer()
    arrays = np.full(1, X), np.zeros(1), np.zeros(1)
    buffer.set_arg(0, memoryview(arrays[0]))
    buffer.set_res(0, memoryview(arrays[1]))
    buffer.set_res(1, memoryview(arrays[2]))

    def run(_owners=(f, buffer, folder)):  # the buffer dies with its owner
        call()
        return arrays[1][0], arrays[2][0]

    return run


def buffers_run(layers, **options):
    """graphc through its buffers."""
    b = ladder(layers).compile(wrt="x", **options).buffers()
    b.args["x"][...] = X

    def run():
        b()
        return b.results["value"], b.results["x"]

    return run


def c_run(layers):
    """graphc's C through its buffers, built anew: a second library would come from the cache."""
    building._directory.cache_clear()
    return buffers_run(layers, backend="c")


def casadi_call(layers):
    """CasADi's function as one calls it."""
    import casadi

    x = casadi.SX.sym("x")
    value = climb(x, layers, casadi)
    f = casadi.Function("f", [x], [value, casadi.gradient(value, x)])
    return lambda: tuple(float(part) for part in f(X))


def casadi_map(points, layers):
    """CasADi's function over many points, one thread."""
    import casadi

    x = casadi.SX.sym("x")
    value = climb(x, layers, casadi)
    f = casadi.Function("f", [x], [value, casadi.gradient(value, x)]).map(points.size)
    row = points[None, :]
    return lambda: tuple(np.asarray(part).ravel() for part in f(row))


def c_batch(graph, at, wrt):
    """The plan as C that is compiled for this graph and this machine."""
    f = graph.compile(wrt=wrt, want="value_and_grad")
    f(**{name: array[:1] for name, array in at.items()})
    return blocked_c.blocked_run(f, list(at.values()))


def symengine_run(layers):
    import symengine

    x = symengine.Symbol("x")
    value = climb(x, layers, symengine)
    f = symengine.Lambdify([x], [value, value.diff(x)], cse=True)
    return lambda: tuple(f([X]))


def numba_run(points, layers):
    """A loop over the points, written by hand in forward form: one number is carried."""
    import numba

    @numba.njit
    def f(points):
        values, slopes = np.empty_like(points), np.empty_like(points)
        for place in range(points.size):
            total, slope = points[place], 1.0
            for _ in range(layers - 1):
                u, lower = np.sin(total), np.cos(total)
                slope *= lower - u
                total = u + lower
            u, lower = np.sin(total), np.cos(total)
            values[place] = u * lower
            slopes[place] = slope * (lower * lower - u * u)
        return values, slopes

    f(points[:1])  # compiles
    return lambda: f(points)


def one_point(layers):
    from functools import partial

    contenders = [
        Contender("graphc", lambda: graphc_run(ladder(layers), {"x": X}, ["x"])),
        Contender("NumPy by hand", lambda: lambda: by_hand(X, layers)),
        Contender("casadi, ordinary call", lambda: casadi_call(layers), "casadi"),
        Contender("torch eager", lambda: torch_run(X, layers), "torch"),
        Contender("autograd", lambda: autograd_run(np.float64(X), layers), "autograd"),
    ]
    if layers <= 100:
        contenders.append(Contender("symengine", lambda: symengine_run(layers), "symengine"))
    if layers <= 1000:

        def jit():
            import jax.numpy as jnp

            return jax_run(partial(climb, layers=layers, library=jnp), [X], mapped=False)

        contenders.append(Contender("jax.jit", jit, "jax"))
    return contenders


def buffer_contenders(layers):
    contenders = [
        Contender("graphc", lambda: buffers_run(layers)),
        Contender("casadi SX, buffers", lambda: casadi_run(layers), "casadi"),
    ]
    if layers <= 100 and blocked_c.is_possible():
        contenders += [
            Contender("graphc, C", lambda: c_run(layers)),
            Contender("casadi, C by gcc -O3", lambda: casadi_run(layers, True), "casadi"),
        ]
    return contenders


def batch_contenders(points, layers=LAYERS):
    def jit_vmap():
        import jax.numpy as jnp

        return jax_run(lambda x: climb(x, layers, jnp), [points], mapped=True)

    found = [
        Contender("graphc", lambda: graphc_run(ladder(layers), {"x": points}, ["x"])),
        Contender("NumPy by hand", lambda: lambda: by_hand(points, layers)),
        Contender("jax.jit(vmap)", jit_vmap, "jax"),
        Contender("torch eager", lambda: torch_run(points, layers), "torch"),
        Contender("numba by hand", lambda: numba_run(points, layers), "numba"),
        Contender("casadi map", lambda: casadi_map(points, layers), "casadi"),
    ]
    if blocked_c.is_possible():
        plan = Contender(
            "the plan as C, libmvec", lambda: c_batch(ladder(layers), {"x": points}, ["x"])
        )
        found.insert(1, plan)
    return found


def dtype_contenders(points):
    """Both precisions: float64 is the peer."""
    single = points.astype(np.float32)
    graph = ladder(LAYERS)
    return [
        Contender("graphc", lambda: graphc_run(graph, {"x": single}, ["x"], dtype="float32")),
        Contender("float64", lambda: graphc_run(graph, {"x": points}, ["x"])),
    ]


def dag_contenders(points):
    dag = random_dag.random_dag(200)
    c_is_there = blocked_c.is_possible()
    names = [f"x{number}" for number in range(random_dag.INPUTS)]
    at = dict(zip(names, points, strict=True))
    graph = gc.parse(random_dag.text_of(dag), "dag")

    def jit_vmap():
        import jax.numpy as jnp

        return jax_run(lambda *xs: random_dag.build(dag, xs, jnp)[1], points, mapped=True)

    def torch_eager():
        import torch

        torch.set_num_threads(1)
        tensors = [torch.tensor(point, requires_grad=True) for point in points]

        def run():
            value = random_dag.build(dag, tensors, torch)[1]
            ones = torch.ones_like(value)
            return value.detach(), torch.autograd.grad(
                value, tensors, ones, allow_unused=True, materialize_grads=True
            )

        return run

    return [
        Contender("graphc", lambda: graphc_run(graph, at, names)),
        *([Contender("the plan as C, libmvec", lambda: c_batch(graph, at, names))] * c_is_there),
        Contender("jax.jit(vmap)", jit_vmap, "jax"),
        Contender("torch eager", torch_eager, "torch"),
    ]


def many_points(quick):
    return np.linspace(-3, 3, 100_000 if quick else 1_000_000)


def many_inputs(quick):
    rng = np.random.default_rng(0)
    return list(rng.uniform(-1, 1, (random_dag.INPUTS, 100_000 if quick else 1_000_000)))


def memory_part(chosen):
    """Extra memory of one batch of the ladder, each contender in its own process."""
    title = f"W1 memory: ladder of {LAYERS} layers, 1e6 points"
    if chosen.only and chosen.only not in title:
        return {}
    names = [
        contender.name
        for contender in batch_contenders(many_points(chosen.quick))[:4]
        if measure.installed(contender.needs)
    ]
    found = measure.memory(__file__, names)
    print(f"\n{title}")
    for name, megabytes in found.items():
        print(f"{name:30} {megabytes:8.0f} MB extra, results included")
    goal = measure.verdict(Goal("20 MB", 1.0, "memory"), found["graphc"] / 20)
    return {"title": title, "megabytes": found, "goals": [goal]}


def main() -> None:
    chosen = measure.options(__doc__)
    if chosen.child:
        contenders = {c.name: c for c in batch_contenders(many_points(quick=False))}
        print(measure.extra_megabytes(contenders[chosen.child].make()))
        return
    results = []
    for layers in (5, 20) if chosen.quick else (5, 20, 100, 1000, 10_000):
        title = f"W1 one point: ladder of {layers} layers"
        # the derivative underflows on 10 000 rungs: there the values agree trivially
        call = (Goal("casadi, ordinary call", 0.2),) * (layers <= 100)
        results.append(compare(title, one_point(layers), chosen, call))
        title = f"W1 one point through buffers: ladder of {layers} layers"
        in_c = Goal("casadi, C by gcc -O3", 1.0, ours="graphc, C")
        through = (Goal("casadi SX, buffers", 0.8), in_c) * (layers <= 100)
        results.append(compare(title, buffer_contenders(layers), chosen, through))
    points = many_points(chosen.quick)
    limit = Goal("the plan as C, libmvec", 0.95)
    for layers in (LAYERS,) if chosen.quick else (5, 20, 100):
        goals = (limit, *(Goal(peer, 1 / times) for peer, times in PEERS.items()))
        title = f"W1 batch: ladder of {layers} layers, {points.size:,} points"
        results.append(compare(title, batch_contenders(points, layers), chosen, goals))
    title = f"W1 single precision: ladder of {LAYERS} layers, {points.size:,} points"
    both = (Goal("float64", 1 / 1.6),)
    results.append(compare(title, dtype_contenders(points), chosen, both, rtol=1e-2, atol=1e-4))
    results.append(memory_part(chosen))
    inputs = many_inputs(chosen.quick)
    title = f"W1 dag: random graph of 200 nodes, {inputs[0].size:,} points"
    goals = (limit, Goal("jax.jit(vmap)", 1 / 6), Goal("torch eager", 1 / 6))
    results.append(compare(title, dag_contenders(inputs), chosen, goals))
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
