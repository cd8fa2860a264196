"""W4: sparse Jacobian of the 1-D Brusselator and sparse Hessian of Rosenbrock's function.

    python benchmarks/w4_sparse.py [--quick] [--json FILE]

The set-up of CasADi's C route is a run of gcc that takes up to half a minute at n = 1000; --quick
takes n = 100. Both C routes are called through buffers: entries out, in the order of a pattern.
"""

from __future__ import annotations

from functools import partial

import casadi_c
import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, compare

import graphc as gc
from graphc.native.building import compiler
from graphc.program.backends.c import building

DIFFUSION = 0.02


def brusselator_graph(size):
    half = size // 2
    strength = DIFFUSION * (half + 1) ** 2
    return gc.parse(
        f"""
input x[{size}]
u = x[:{half}]
v = x[{half}:]
uu = concat([ones((1,)), u, ones((1,))])
vv = concat([3*ones((1,)), v, 3*ones((1,))])
du = 1 + u**2*v - 4*u + {strength!r}*(uu[:-2] - 2*u + uu[2:])
dv = 3*u - u**2*v + {strength!r}*(vv[:-2] - 2*v + vv[2:])
f = concat([du, dv])
output f
""",
        "brusselator",
    )


def rosenbrock_graph(size):
    return gc.parse(
        f"""
input x[{size}]
f = sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
output f
""",
        "rosenbrock",
    )


def brusselator(x, join, one):
    """The same in the numbers of a library; `join` concatenates, `one` is an array of one 1."""
    half = x.shape[0] // 2
    u, v = x[:half], x[half:]
    strength = DIFFUSION * (half + 1) ** 2
    uu, vv = join([one, u, one]), join([3 * one, v, 3 * one])
    du = 1 + u * u * v - 4 * u + strength * (uu[:-2] - 2 * u + uu[2:])
    dv = 3 * u - u * u * v + strength * (vv[:-2] - 2 * v + vv[2:])
    return join([du, dv])


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def point_of(kind, size):
    if kind == "rosenbrock":
        return np.linspace(-1.2, 1.1, size)
    half = size // 2
    u, v = 1 + 0.5 * np.sin(np.linspace(0, 6, half)), 3 + 0.3 * np.cos(np.linspace(0, 5, half))
    return np.concatenate([u, v])


def dense(kind, size):
    """The matrix, written by hand: what everybody is compared with."""
    x = point_of(kind, size)
    if kind == "rosenbrock":
        matrix = np.zeros((size, size))
        i = np.arange(size - 1)
        matrix[i, i] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
        matrix[i + 1, i + 1] += 200
        matrix[i, i + 1] = matrix[i + 1, i] = -400 * x[:-1]
        return matrix
    half = size // 2
    u, v = x[:half], x[half:]
    strength = DIFFUSION * (half + 1) ** 2
    band = strength * (np.eye(half, k=1) + np.eye(half, k=-1) - 2 * np.eye(half))
    return np.block(
        [
            [band + np.diag(2 * u * v - 4), np.diag(u * u)],
            [np.diag(3 - 2 * u * v), band - np.diag(u * u)],
        ]
    )


class Sparse:
    """Values at known places: compared as a matrix, timed without making one."""

    def __init__(self, places, values, size):
        self.places, self.values, self.size = places, values, size

    def toarray(self):
        matrix = np.zeros((self.size, self.size))
        matrix[self.places] = self.values
        return matrix


def graphc_run(kind, size, colours):
    x = point_of(kind, size)
    if kind == "rosenbrock":
        f = rosenbrock_graph(size).compile(of="f", wrt="x", want="hessian", sparse=True)
    else:
        f = brusselator_graph(size).compile(of="f", wrt="x", want="jacobian", sparse=True)
    colours.append(f.plan.colours)
    f(x=x)  # what is put off to the first call belongs to the set-up
    return lambda: f(x=x)


def graphc_c(kind, size):
    """graphc's C through its buffers, built anew: a second library would come from the cache."""
    building._directory.cache_clear()
    return graphc_buffers(kind, size, backend="c")


def graphc_buffers(kind, size, **options):
    """Values at known places, in an array that stays where it is."""
    graph = rosenbrock_graph(size) if kind == "rosenbrock" else brusselator_graph(size)
    want = "hessian" if kind == "rosenbrock" else "jacobian"
    f = graph.compile("f", "x", want=want, sparse=True, **options)
    buffers = f.buffers()
    buffers.args["x"][...] = point_of(kind, size)
    call, values, places = buffers.__call__, buffers.results[want], f.pattern

    def run():
        call()
        return Sparse(places, values, size)

    return run


def jax_coloured(kind, size):
    """Colours by hand: three for a tridiagonal Hessian, six for the Brusselator's four bands."""
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(point_of(kind, size))
    index = np.arange(size)
    if kind == "rosenbrock":
        colour = index % 3
        function = jax.grad(rosenbrock)
    else:
        half = size // 2
        colour = np.where(index < half, index % 3, 3 + (index - half) % 3)

        def function(x):
            return brusselator(x, jnp.concatenate, jnp.ones(1))

    seeds = jnp.asarray(np.equal.outer(np.arange(colour.max() + 1), colour).astype(float))
    rows, columns = np.nonzero(dense(kind, size))
    slot = jnp.asarray(colour[columns]), jnp.asarray(rows)

    @jax.jit
    def compressed(x):
        _, push = jax.linearize(function, x)
        return jax.vmap(push)(seeds)[slot]

    compressed(x).block_until_ready()  # compiles
    return lambda: Sparse((rows, columns), compressed(x).block_until_ready(), size)


def casadi_function(kind, size):
    import casadi

    x = casadi.SX.sym("x", size)
    if kind == "rosenbrock":
        value = casadi.sumsqr(10 * (x[1:] - x[:-1] ** 2)) + casadi.sumsqr(1 - x[:-1])
        matrix = casadi.hessian(value, x)[0]
    else:
        matrix = casadi.jacobian(
            brusselator(x, lambda parts: casadi.vertcat(*parts), casadi.SX(1)), x
        )
    return casadi.Function("f", [x], [matrix])


def casadi_run(kind, size, through_c):
    f = casadi_function(kind, size)
    folder = None
    if through_c:
        f, folder = casadi_c.compiled(f)
    point = point_of(kind, size)
    values = np.zeros(f.nnz_out(0))
    buffer, call = f.buffer()
    buffer.set_arg(0, memoryview(point))
    buffer.set_res(0, memoryview(values))
    columns = np.repeat(np.arange(size), np.diff(f.sparsity_out(0).colind()))
    places = np.array(f.sparsity_out(0).row()), columns

    def run(_owners=(f, buffer, point, folder)):  # the buffer dies with its owner
        call()
        return Sparse(places, values, size)

    return run


def by_hand(kind, size):
    """Vectorised NumPy for the entries alone."""
    x = point_of(kind, size)
    i = np.arange(size)
    half = size // 2
    if kind == "rosenbrock":
        places = np.r_[i, i[1:], i[:-1]], np.r_[i, i[:-1], i[1:]]

        def run():
            a, b = x[:-1], x[1:]
            diagonal = np.empty(size)
            diagonal[:-1] = 1200 * a * a - 400 * b + 2
            diagonal[-1] = 0
            diagonal[1:] += 200
            beside = -400 * a
            return Sparse(places, np.concatenate([diagonal, beside, beside]), size)

        return run
    strength = DIFFUSION * (half + 1) ** 2
    first, second = i[:half], i[half:]
    left = np.r_[first[1:], second[1:], first[:-1], second[:-1]]
    right = np.r_[first[:-1], second[:-1], first[1:], second[1:]]
    places = np.r_[first, first, second, second, left], np.r_[first, second, first, second, right]
    constant = np.full(left.size, strength)

    def run():
        u, v = x[:half], x[half:]
        product, square = 2 * u * v, u * u
        parts = product - (4 + 2 * strength), square, 3 - product, -square - 2 * strength
        return Sparse(places, np.concatenate([*parts, constant]), size)

    return run


def main() -> None:
    chosen = measure.options(__doc__)
    size = 100 if chosen.quick else 1000
    goals = (
        Goal("casadi, C by gcc -O3", 0.1, "setup"),
        Goal("jax.jit, coloured by hand", 1.0),
        Goal("casadi, C by gcc -O3", 0.8, ours="graphc, buffers"),
        Goal("casadi, C by gcc -O3", 0.01, "setup", ours="graphc, buffers"),
        Goal("casadi, C by gcc -O3", 0.8, ours="graphc, C"),
    )
    results = []
    for kind, what, by_eye in (("brusselator", "Jacobian", 6), ("rosenbrock", "Hessian", 3)):
        colours: list[int] = []
        makers = {
            "graphc": (partial(graphc_run, colours=colours), "scipy"),
            "graphc, buffers": (graphc_buffers, "scipy"),
            **({"graphc, C": (graphc_c, "scipy")} if not compiler()[1] else {}),
            "NumPy by hand": (by_hand, "numpy"),
            "jax.jit, coloured by hand": (jax_coloured, "jax"),
            "casadi SX, buffers": (partial(casadi_run, through_c=False), "casadi"),
            "casadi, C by gcc -O3": (partial(casadi_run, through_c=True), "casadi"),
        }
        contenders = [
            Contender(name, partial(make, kind, size), needs)
            for name, (make, needs) in makers.items()
        ]
        title = f"W4: sparse {what} of {kind}, n={size}"
        results.append(compare(title, contenders, chosen, goals))
        if colours:
            results[-1]["colours"] = colours[0]
            print(f"  colours: {colours[0]} found, {by_eye} by hand")
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
