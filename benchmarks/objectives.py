"""Objectives of the literature on automatic differentiation: value and gradient of each.

A Gaussian mixture, k-means, hand tracking, an LSTM, an ODE and bundle adjustment, each from its
formulas, beside the same in jax and torch. Set-up is declaring, compiling and the first call.

python benchmarks/objectives.py [--quick] [--json FILE]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, compare

import graphc as gc

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Objective:
    """One objective three times: `graph` declares it, `jax` and `torch` compute it of dicts."""

    title: str
    data: Arrays
    params: Arrays
    graph: Callable[[], gc.Graph]
    jax: Callable[[Arrays, Arrays], Any]
    torch: Callable[[Arrays, Arrays], Any]
    goals: tuple[Goal, ...] = ()  # of its set-up, in seconds


# The Gaussian mixture: minus the log posterior of means and inverse square roots of covariances.
# Each root is lower triangular, exp(q) on its diagonal; its prior is Wishart's.

GAMMA, FREEDOM = 1.0, 2.0


def below_diagonal(d: int) -> np.ndarray:
    """The flat places of a d by d matrix below its diagonal."""
    rows, columns = np.tril_indices(d, -1)
    return rows * d + columns


def gmm(n: int, d: int, k: int) -> Objective:
    rng = np.random.default_rng(1)
    places = below_diagonal(d)
    data = {"X": rng.standard_normal((n, d))}
    params = {
        "alpha": rng.standard_normal(k),
        "mu": rng.standard_normal((k, d)),
        "q": 0.1 * rng.standard_normal((k, d)),
        "below": 0.1 * rng.standard_normal((k, len(places))),
    }

    def graph() -> gc.Graph:
        @gc.graph(shapes={name: array.shape for name, array in {**data, **params}.items()})
        def mixture(X, *, alpha, mu, q, below):
            root = gc.reshape(gc.scatter(below, places, d * d, axis=1), (k, d, d))
            apart = X[:, None, :] - mu
            spread = gc.exp(q) * apart + gc.einsum("kij,nkj->nki", root, apart)
            each = alpha + gc.sum(q, axis=1) - gc.sum(spread**2, axis=2) / 2
            likelihood = gc.sum(gc.logsumexp(each, axis=1)) - n * gc.logsumexp(alpha)
            size = gc.sum(gc.exp(q) ** 2) + gc.sum(below**2)
            loss = GAMMA**2 / 2 * size - FREEDOM * gc.sum(q) - likelihood
            return loss

        return mixture

    def in_jax(params: Arrays, data: Arrays) -> Any:
        import jax.numpy as jnp
        from jax.scipy.special import logsumexp

        alpha, mu, q, below = (params[name] for name in ("alpha", "mu", "q", "below"))
        root = jnp.zeros((k, d * d)).at[:, places].set(below).reshape(k, d, d)
        apart = data["X"][:, None, :] - mu
        spread = jnp.exp(q) * apart + jnp.einsum("kij,nkj->nki", root, apart)
        each = alpha + q.sum(1) - (spread**2).sum(2) / 2
        likelihood = logsumexp(each, axis=1).sum() - n * logsumexp(alpha)
        size = (jnp.exp(q) ** 2).sum() + (below**2).sum()
        return GAMMA**2 / 2 * size - FREEDOM * q.sum() - likelihood

    def in_torch(params: Arrays, data: Arrays) -> Any:
        import torch

        alpha, mu, q, below = (params[name] for name in ("alpha", "mu", "q", "below"))
        flat = torch.zeros((k, d * d), dtype=below.dtype)
        flat = flat.index_copy(1, torch.as_tensor(places), below)
        apart = data["X"][:, None, :] - mu
        spread = q.exp() * apart + torch.einsum("kij,nkj->nki", flat.reshape(k, d, d), apart)
        each = alpha + q.sum(1) - (spread**2).sum(2) / 2
        likelihood = each.logsumexp(1).sum() - n * alpha.logsumexp(0)
        size = (q.exp() ** 2).sum() + (below**2).sum()
        return GAMMA**2 / 2 * size - FREEDOM * q.sum() - likelihood

    title = f"GMM: {n:,} points, {k} components, d = {d}"
    return Objective(title, data, params, graph, in_jax, in_torch)


# k-means: the squared distance of every point to the centre that is nearest.


def k_means(n: int, d: int, k: int) -> Objective:
    rng = np.random.default_rng(2)
    data = {"X": rng.standard_normal((n, d))}
    params = {"C": rng.standard_normal((k, d))}

    def graph() -> gc.Graph:
        return gc.parse(
            f"""
            input X[{n},{d}]
            param C[{k},{d}]
            squares = sum((X[:, None, :] - C)**2, axis=2)
            loss = sum(min(squares, axis=1))
            """.replace(" " * 12, "")
        )

    def in_jax(params: Arrays, data: Arrays) -> Any:
        squares = ((data["X"][:, None, :] - params["C"]) ** 2).sum(2)
        return squares.min(1).sum()

    def in_torch(params: Arrays, data: Arrays) -> Any:
        squares = ((data["X"][:, None, :] - params["C"]) ** 2).sum(2)
        return squares.min(1).values.sum()

    title = f"k-means: {n:,} points, {k} centres, d = {d}"
    return Objective(title, data, params, graph, in_jax, in_torch)


# Hand tracking: five fingers of three bones, each bone turned against the one before it; skin that
# follows the bones by weights (linear blends); squared distances to the points that were seen.

FINGERS, BONES = 5, 3
CROSS = np.zeros((3, 3, 3))  # cross(a, b)[i] = sum of a[k] CROSS[k, i, j] b[j]
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    CROSS[_k, _i, _j], CROSS[_k, _j, _i] = -1.0, 1.0
BEND, SIDE = CROSS[0], CROSS[2]  # generators: about the x axis, about the z axis


def hand(vertices: int, seen: int) -> Objective:
    rng = np.random.default_rng(3)
    length = rng.uniform(0.5, 1.0, (BONES, FINGERS, 3))  # from one joint to the next
    joints = np.concatenate([np.zeros((1, 3)), np.cumsum(length, axis=0).reshape(-1, 3)])
    rest = rng.standard_normal((vertices, 3))
    blend = rng.random((vertices, len(joints)))
    nearest = rng.integers(0, vertices, seen)
    data = {
        "skin": rest - joints[:, None, :],  # as each bone sees it
        "blend": blend / blend.sum(1, keepdims=True),
        "seen": rng.standard_normal((seen, 3)),
    }
    params = {
        "bend": 0.3 * rng.standard_normal((BONES, FINGERS)),
        "side": 0.1 * rng.standard_normal(FINGERS),
        "turn": rng.standard_normal(3),
        "shift": rng.standard_normal(3),
    }
    eye = np.eye(3)

    def graph() -> gc.Graph:
        def turned(angle, generator):
            """Rotations by angles about one axis (Rodrigues)."""
            first = gc.einsum("f,ij->fij", gc.sin(angle), gc.const(generator))
            second = gc.einsum("f,ij->fij", 1 - gc.cos(angle), gc.const(generator @ generator))
            return eye + first + second

        @gc.graph(shapes={name: array.shape for name, array in {**data, **params}.items()})
        def tracking(skin, blend, seen, *, bend, side, turn, shift):
            rotation, place = turned(side, SIDE), gc.const(length[0])
            rotations, places = [gc.const(eye[None])], [gc.const(np.zeros((1, 3)))]
            for bone in range(BONES):
                rotation = rotation @ turned(bend[bone], BEND)
                rotations.append(rotation)
                places.append(place)
                if bone + 1 < BONES:
                    place = place + gc.einsum("fij,fj->fi", rotation, gc.const(length[bone + 1]))
            turns, joints = gc.concat(rotations), gc.concat(places)
            moved = gc.einsum("vb,bij,bvj->vi", blend, turns, skin) + blend @ joints
            angle = gc.norm(turn)
            axis = gc.einsum("k,kij->ij", turn / angle, gc.const(CROSS))
            whole = eye + gc.sin(angle) * axis + (1 - gc.cos(angle)) * (axis @ axis)
            surface = moved @ whole.T + shift
            loss = gc.sum((seen - gc.take(surface, nearest)) ** 2)
            return loss

        return tracking

    def in_any(xp: Any, params: Arrays, data: Arrays, constant: Callable[[Any], Any]) -> Any:
        """What jax.numpy and torch spell alike."""

        def turned(angle: Any, generator: np.ndarray) -> Any:
            first = xp.einsum("f,ij->fij", xp.sin(angle), constant(generator))
            second = xp.einsum("f,ij->fij", 1 - xp.cos(angle), constant(generator @ generator))
            return constant(eye) + first + second

        rotation, place = turned(params["side"], SIDE), constant(length[0])
        rotations, places = [constant(eye[None])], [constant(np.zeros((1, 3)))]
        for bone in range(BONES):
            rotation = rotation @ turned(params["bend"][bone], BEND)
            rotations.append(rotation)
            places.append(place)
            if bone + 1 < BONES:
                place = place + xp.einsum("fij,fj->fi", rotation, constant(length[bone + 1]))
        turns, joints = xp.concatenate(rotations), xp.concatenate(places)
        moved = xp.einsum("vb,bij,bvj->vi", data["blend"], turns, data["skin"])
        moved = moved + data["blend"] @ joints
        angle = (params["turn"] ** 2).sum() ** 0.5
        axis = xp.einsum("k,kij->ij", params["turn"] / angle, constant(CROSS))
        whole = constant(eye) + xp.sin(angle) * axis + (1 - xp.cos(angle)) * (axis @ axis)
        surface = moved @ whole.T + params["shift"]
        return ((data["seen"] - surface[nearest]) ** 2).sum()

    def in_jax(params: Arrays, data: Arrays) -> Any:
        import jax.numpy as jnp

        return in_any(jnp, params, data, jnp.asarray)

    def in_torch(params: Arrays, data: Arrays) -> Any:
        import torch

        return in_any(torch, params, data, torch.as_tensor)

    title = f"Hand tracking: {vertices} vertices, {seen:,} points seen"
    return Objective(title, data, params, graph, in_jax, in_torch)


# An LSTM that predicts the next symbol of a sequence: the mean cross-entropy over its steps.


def lstm(steps: int, symbols: int = 32, width: int = 32) -> Objective:
    rng = np.random.default_rng(4)
    sequence = np.eye(symbols)[rng.integers(0, symbols, steps + 1)]
    data = {"X": sequence[:-1], "Y": sequence[1:]}
    params = {
        "U": rng.standard_normal((symbols, 4 * width)) / np.sqrt(symbols),
        "W": rng.standard_normal((width, 4 * width)) / np.sqrt(width),
        "b": 0.1 * rng.standard_normal(4 * width),
        "V": rng.standard_normal((width, symbols)) / np.sqrt(width),
        "a": 0.1 * rng.standard_normal(symbols),
    }
    at = [slice(i * width, (i + 1) * width) for i in range(4)]  # input, forget, cell, output

    def graph() -> gc.Graph:
        @gc.graph(shapes={name: array.shape for name, array in {**data, **params}.items()})
        def model(X, Y, *, U, W, b, V, a):
            drive = X @ U + b
            h = c = gc.const(np.zeros(width))
            states = []
            for t in range(steps):
                z = drive[t] + h @ W
                c = gc.sigmoid(z[at[1]]) * c + gc.sigmoid(z[at[0]]) * gc.tanh(z[at[2]])
                h = gc.sigmoid(z[at[3]]) * gc.tanh(c)
                states.append(h)
            loss = gc.mean(gc.softmax_cross_entropy(gc.stack(states) @ V + a, Y))
            return loss

        return model

    def in_jax(params: Arrays, data: Arrays) -> Any:
        import jax
        import jax.numpy as jnp

        def step(state: Any, drive: Any) -> Any:
            h, c = state
            z = drive + h @ params["W"]
            forget, enter = jax.nn.sigmoid(z[at[1]]), jax.nn.sigmoid(z[at[0]])
            c = forget * c + enter * jnp.tanh(z[at[2]])
            h = jax.nn.sigmoid(z[at[3]]) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros(width), jnp.zeros(width)
        states = jax.lax.scan(step, start, data["X"] @ params["U"] + params["b"])[1]
        z = states @ params["V"] + params["a"]
        return (jax.scipy.special.logsumexp(z, axis=1) - (z * data["Y"]).sum(1)).mean()

    def in_torch(params: Arrays, data: Arrays) -> Any:
        import torch
        import torch.nn.functional as functional

        weights = [params["U"].T, params["W"].T, params["b"], torch.zeros_like(params["b"])]
        start = (torch.zeros((1, 1, width), dtype=torch.float64),) * 2
        # sequence, state, weights, biases, layers, dropout, training, both ways, batch first
        states = torch.lstm(
            data["X"][:, None, :], start, weights, True, 1, 0.0, True, False, False
        )[0]
        return functional.cross_entropy(states[:, 0] @ params["V"] + params["a"], data["Y"])

    title = f"LSTM: {steps:,} steps, width {width}"
    goals = (Goal("a second", 5, "setup"),)
    return Objective(title, data, params, graph, in_jax, in_torch, goals)


# An ODE: Lotka and Volterra's prey and predators by Runge and Kutta's four stages.


def ode(steps: int) -> Objective:
    length = 10.0 / steps
    data = {"x_end": 1.2, "y_end": 0.7}
    params = {"a": 1.1, "b": 0.4, "c": 0.4, "d": 0.1, "x0": 5.0, "y0": 1.5}

    def graph() -> gc.Graph:
        return gc.parse(
            f"""
input x_end y_end
param a b c d x0 y0
for t in 1..{steps}:
    p1[t] = x[t-1]*(a - b*y[t-1])
    q1[t] = y[t-1]*(d*x[t-1] - c)
    p2[t] = (x[t-1] + {length / 2}*p1[t])*(a - b*(y[t-1] + {length / 2}*q1[t]))
    q2[t] = (y[t-1] + {length / 2}*q1[t])*(d*(x[t-1] + {length / 2}*p1[t]) - c)
    p3[t] = (x[t-1] + {length / 2}*p2[t])*(a - b*(y[t-1] + {length / 2}*q2[t]))
    q3[t] = (y[t-1] + {length / 2}*q2[t])*(d*(x[t-1] + {length / 2}*p2[t]) - c)
    p4[t] = (x[t-1] + {length}*p3[t])*(a - b*(y[t-1] + {length}*q3[t]))
    q4[t] = (y[t-1] + {length}*q3[t])*(d*(x[t-1] + {length}*p3[t]) - c)
    x[t] = x[t-1] + {length / 6}*(p1[t] + 2*p2[t] + 2*p3[t] + p4[t])
    y[t] = y[t-1] + {length / 6}*(q1[t] + 2*q2[t] + 2*q3[t] + q4[t])
loss = (x[{steps}] - x_end)**2 + (y[{steps}] - y_end)**2
"""
        )

    def step(params: Arrays, x: Any, y: Any) -> Any:
        """One step, of numbers of any library."""

        def slope(x: Any, y: Any) -> Any:
            return x * (params["a"] - params["b"] * y), y * (params["d"] * x - params["c"])

        p1, q1 = slope(x, y)
        p2, q2 = slope(x + length / 2 * p1, y + length / 2 * q1)
        p3, q3 = slope(x + length / 2 * p2, y + length / 2 * q2)
        p4, q4 = slope(x + length * p3, y + length * q3)
        x = x + length / 6 * (p1 + 2 * p2 + 2 * p3 + p4)
        return x, y + length / 6 * (q1 + 2 * q2 + 2 * q3 + q4)

    def in_jax(params: Arrays, data: Arrays) -> Any:
        import jax

        start = params["x0"], params["y0"]
        x, y = jax.lax.scan(lambda s, _: (step(params, *s), None), start, length=steps)[0]
        return (x - data["x_end"]) ** 2 + (y - data["y_end"]) ** 2

    def in_torch(params: Arrays, data: Arrays) -> Any:
        x, y = params["x0"], params["y0"]
        for _ in range(steps):
            x, y = step(params, x, y)
        return (x - data["x_end"]) ** 2 + (y - data["y_end"]) ** 2

    title = f"ODE: {steps:,} steps of Runge and Kutta"
    return Objective(title, data, params, graph, in_jax, in_torch)


# Bundle adjustment: cameras turned by Rodrigues' formula, with radial distortion; the squared
# weighted distances of where points appear to where they were seen, and of the weights to 1.


def bundle(cameras: int, points: int, seen: int) -> Objective:
    rng = np.random.default_rng(5)
    of_camera, of_point = rng.integers(0, cameras, seen), rng.integers(0, points, seen)
    data = {"seen": rng.standard_normal((seen, 2))}
    params = {
        "turn": 0.3 * rng.standard_normal((cameras, 3)),
        "centre": rng.standard_normal((cameras, 3)) - np.array([0.0, 0.0, 8.0]),
        "focal": rng.uniform(1.0, 2.0, (cameras, 1)),
        "middle": 0.1 * rng.standard_normal((cameras, 2)),
        "radial": 0.1 * rng.standard_normal((cameras, 2)),
        "P": rng.standard_normal((points, 3)),
        "w": rng.uniform(0.5, 1.0, seen),
    }

    def graph() -> gc.Graph:
        def cross(a, b):
            on, twice = [1, 2, 0], [2, 0, 1]
            return a[:, on] * b[:, twice] - a[:, twice] * b[:, on]

        @gc.graph(shapes={name: array.shape for name, array in {**data, **params}.items()})
        def adjustment(seen, *, turn, centre, focal, middle, radial, P, w):
            r = gc.take(turn, of_camera)
            p = gc.take(P, of_point) - gc.take(centre, of_camera)
            angle = gc.norm(r, axis=1, keepdims=True)
            axis = r / angle
            along = gc.sum(axis * p, axis=1, keepdims=True) * (1 - gc.cos(angle))
            p = p * gc.cos(angle) + cross(axis, p) * gc.sin(angle) + axis * along
            flat = p[:, :2] / p[:, 2:]
            square = gc.sum(flat**2, axis=1, keepdims=True)
            k = gc.take(radial, of_camera)
            flat = flat * (1 + k[:, :1] * square + k[:, 1:] * square**2)
            screen = gc.take(focal, of_camera) * flat + gc.take(middle, of_camera)
            loss = gc.sum((w[:, None] * (screen - seen)) ** 2) + gc.sum((1 - w**2) ** 2)
            return loss

        return adjustment

    def in_any(xp: Any, params: Arrays, data: Arrays) -> Any:
        """What jax.numpy and torch spell alike."""
        turn, centre, focal, middle, radial = (
            params[name][of_camera] for name in ("turn", "centre", "focal", "middle", "radial")
        )
        p = params["P"][of_point] - centre
        angle = (turn**2).sum(1)[:, None] ** 0.5
        axis = turn / angle
        along = (axis * p).sum(1)[:, None] * (1 - xp.cos(angle))
        p = p * xp.cos(angle) + xp.linalg.cross(axis, p) * xp.sin(angle) + axis * along
        flat = p[:, :2] / p[:, 2:]
        square = (flat**2).sum(1)[:, None]
        flat = flat * (1 + radial[:, :1] * square + radial[:, 1:] * square**2)
        missed = params["w"][:, None] * (focal * flat + middle - data["seen"])
        return (missed**2).sum() + ((1 - params["w"] ** 2) ** 2).sum()

    def in_jax(params: Arrays, data: Arrays) -> Any:
        import jax.numpy as jnp

        return in_any(jnp, params, data)

    def in_torch(params: Arrays, data: Arrays) -> Any:
        import torch

        return in_any(torch, params, data)

    title = f"Bundle adjustment: {cameras} cameras, {points:,} points, {seen:,} seen"
    return Objective(title, data, params, graph, in_jax, in_torch)


# The contenders.


def graphc_run(one: Objective):
    f = one.graph().compile(wrt=list(one.params))

    def run():
        value, gradient = f(**one.data, **one.params)
        return value, *(gradient[name] for name in one.params)

    run()
    return run


def jax_run(one: Objective):
    import jax
    import jax.numpy as jnp

    params, data = (
        {name: jnp.asarray(array, dtype=float) for name, array in arrays.items()}
        for arrays in (one.params, one.data)
    )
    f = jax.jit(jax.value_and_grad(one.jax))

    def run():
        value, gradient = jax.block_until_ready(f(params, data))
        return value, *(gradient[name] for name in one.params)

    run()
    return run


def torch_run(one: Objective):
    import torch

    torch.set_num_threads(1)
    data = {name: torch.as_tensor(array, dtype=torch.float64) for name, array in one.data.items()}
    params = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
        for name, array in one.params.items()
    }

    def run():
        loss = one.torch(params, data)
        return loss.item(), *torch.autograd.grad(loss, list(params.values()))

    run()
    return run


MAKERS = {
    "graphc": (graphc_run, "numpy"),
    "jax.jit": (jax_run, "jax"),
    "torch eager": (torch_run, "torch"),
}


def objectives(quick: bool) -> list[Objective]:
    """All of them; smaller ones for a quick look."""
    if quick:
        mixtures = [gmm(50, d, 3) for d in (2, 10)]
        rest = [k_means(100, 3, 4), hand(20, 30), lstm(8), ode(20), bundle(3, 20, 50)]
        return mixtures + rest
    mixtures = [gmm(1000, d, 5) for d in (2, 10, 32)]
    rest = [k_means(2000, 8, 10), hand(500, 1000), lstm(64), lstm(1024), ode(1000)]
    return [*mixtures, *rest, bundle(20, 400, 2000)]


def main() -> None:
    chosen = measure.options(__doc__)
    results = []
    for one in objectives(chosen.quick):
        contenders = [
            Contender(name, partial(make, one), needs) for name, (make, needs) in MAKERS.items()
        ]
        part = compare(one.title, contenders, chosen)
        for goal in one.goals if part else ():
            part["goals"].append(measure.verdict(goal, part["figures"][0]["setup"]))
        results.append(part)
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
