"""gc.descend: steps downhill on the loss of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from ..algebra.given import generator_from_user
from ..errors import GraphcError, listing, nearest
from ..progress import progress_bar
from .flat import Layout, Vector
from .methods import METHODS, Memory, Settings, ahead
from .objective import Objective
from .schedule import batches, rate_of

if TYPE_CHECKING:
    from ..graphs import Graph

KEPT = 1_000_000  # numbers: iterates are kept by default as long as they hold no more in all
GROWTH = 100  # a loss that ends this many times above its start has diverged


@dataclass
class Descent:
    """The outcome of a training run."""

    params: dict[str, Any]
    history: list[float] = field(repr=False)
    ok: bool
    message: str
    loss: float
    iterates: list[dict[str, Any]] | None = field(repr=False)


def descend(
    g: Graph,
    of: Any = None,
    data: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    method: str = "sgd",
    lr: float = 0.1,
    steps: int = 100,
    batch: int | None = None,
    momentum: float = 0.9,
    rho: float = 0.9,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decay: Any = None,
    weight_decay: float | Mapping[str, float] = 0.0,
    rng: int | np.random.Generator = 0,
    *,
    eps_inside: bool = False,
    momentum_average: bool = False,
    decoupled: bool = False,
    reduce: str = "mean",
    over: str | None = None,
    record: bool | None = None,
    callback: Callable[[int, float, dict[str, Any]], Any] | None = None,
    progress: bool | None = None,
    client: Any = None,
    chunks: Any = None,
) -> Descent:
    """The trained parameters of a graph: `.params`, `.history`, `.ok`, `.message`.

    `of` is the loss (the only output if it is not said), `data` the values of the inputs, `params`
    the starting values of what is trained; params of the graph that are in neither start at the
    values given at their declaration. A param in `data` is held fixed, an input in `params` is
    trained. The loss of a graph of scalars is its mean over the points (`reduce="sum"`: the sum).

    - method: "sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", or "newton", which solves
      with the Hessian and takes `lr` of that step (lr=1 is the step of the books).
    - batch: the number of points of a mini-batch, drawn without replacement and in a new order each
      round; `over` names the size that counts the points, where there are several.
    - decay of the learning rate, by the step t from 0: ("exponential", k) is lr*exp(-k*t),
      ("inverse", k) is lr/(1 + k*t), ("step", factor, every) is lr*factor**(t // every); or any
      function of t that returns a factor.
    - weight_decay: the gradient of weight_decay/2 * |w|**2 is added; a dict chooses parameters.
      `decoupled=True` shrinks the parameters by lr*weight_decay instead (for "sgd" the same).
    - eps_inside=True: gradient / sqrt(v + eps) instead of gradient / (sqrt(v) + eps).
    - momentum_average=True: v = momentum*v + (1 - momentum)*gradient, w = w - lr*v, instead of
      v = momentum*v - lr*gradient, w = w + v.
    - record: `.iterates`, the parameters before the first step and after each; kept without asking
      while they are few. `callback(step, loss, params)` sees them as they come; True ends the run.
    - progress: a bar, on a terminal unless told.
    - client: of Dask; every step is then taken in `chunks` of rows on its workers, as it is on
      threads if the data are arrays of Dask or Zarr. A mini-batch is fetched, and computed here.

    `.history` holds the loss that each step started from (on its mini-batch; for "nesterov" at the
    point looked ahead to; without the penalty of weight_decay), `.loss` the loss at `.params` over
    all data. A run that leaves the finite numbers stops there: `.ok` is False, `.message` says why
    and `.params` are the last finite ones.
    """
    settings = Settings(momentum, rho, beta1, beta2, eps, eps_inside, momentum_average)
    _check(method, lr, steps, batch, settings)
    objective = Objective(g, of, data, params, reduce, client, chunks, over)
    layout = objective.fun.layout
    walk = Walk(
        objective=objective,
        method=method,
        settings=settings,
        rate=rate_of(float(lr), decay),
        shrink=_weight_decay(weight_decay, layout),
        decoupled=decoupled,
        vector=objective.fun.start,
    )
    axes = objective.axes(over) if batch is not None else {}
    source = batches(objective.data, axes, batch, generator_from_user(rng), client)
    keep = layout.size * (steps + 1) <= KEPT if record is None else record
    iterates = [walk.vector]
    reason = ""
    detail = "loss {task.fields[loss]:.6g}"
    bar = progress_bar(steps, detail, progress, loss=float("nan"))
    with np.errstate(all="ignore"), bar as tick:
        for step in range(1, steps + 1):
            reason = walk.step(next(source))
            if reason:
                break
            if keep:
                iterates.append(walk.vector)
            tick(step, loss=walk.history[-1])
            named = _named(layout, walk.vector) if callback is not None else {}
            if callback is not None and callback(step, walk.history[-1], named):
                break
        loss = objective(walk.vector, objective.data)[0]
    start, count = walk.history[0] if walk.history else loss, walk.count
    if not reason and not (np.isfinite(loss) and loss - start <= GROWTH * max(abs(start), 1e-12)):
        reason = (
            f"diverged: {objective.of} grew from {start:.6g} to {loss:.6g} in {_counted(count)}; "
            f"use a smaller lr than {lr}"
        )
    return Descent(
        params=_named(layout, walk.vector),
        history=walk.history,
        ok=not reason,
        message=reason
        or f"{_counted(count)} of {method}: {objective.of} went from {start:.6g} to {loss:.6g}",
        loss=loss,
        iterates=[_named(layout, point) for point in iterates] if keep else None,
    )


@dataclass
class Walk:
    """Where a run is: the parameter vector, what the method remembers, the losses so far."""

    objective: Objective
    method: str
    settings: Settings
    rate: Callable[[int], float]
    shrink: Vector | None
    decoupled: bool
    vector: Vector
    memory: Memory = field(default_factory=dict)
    history: list[float] = field(default_factory=list)
    count: int = 0

    def step(self, data: Mapping[str, Any]) -> str:
        """Takes one step on these data; returns why it could not, or nothing."""
        rate = self.rate(self.count)
        point = self.vector
        if self.method == "nesterov":
            point = point + ahead(rate, self.memory, self.settings)
        loss, gradient = self.objective(point, data)
        self.history.append(loss)
        if not (np.isfinite(loss) and np.isfinite(gradient).all()):
            how = f"{self.objective.of} or its gradient is not finite"
            if self.count == 0:
                return f"stopped at step 1: {how} at the starting parameters; start elsewhere"
            return self._diverged(how)
        if self.shrink is not None and not self.decoupled:
            gradient = gradient + self.shrink * point
        if self.method == "newton":
            curvature = self.objective.hessian(point, data)
            if self.shrink is not None and not self.decoupled:
                curvature = curvature + np.diag(self.shrink)
            try:
                gradient = np.linalg.solve(curvature, gradient)
            except np.linalg.LinAlgError:
                return (
                    f"stopped at step {self.count + 1}: the Hessian is singular there; start "
                    "elsewhere, add weight_decay, or use another method"
                )
        change = METHODS[self.method](gradient, rate, self.count + 1, self.memory, self.settings)
        if self.shrink is not None and self.decoupled:
            change = change - rate * self.shrink * self.vector
        moved = self.vector + change
        if not np.isfinite(moved).all():
            return self._diverged("the parameters left the finite numbers")
        self.vector = moved
        self.count += 1
        return ""

    def _diverged(self, how: str) -> str:
        return (
            f"diverged at step {self.count + 1}: {how} ({self.objective.of} was "
            f"{self.history[0]:.6g} at the start); use a smaller lr than {self.rate(self.count):g}"
        )


def _counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def _named(layout: Layout, vector: Vector) -> dict[str, Any]:
    """Copies of the parameters by name; those of scalars are plain floats."""
    return {
        name: part.copy() if part.shape else float(part)
        for name, part in layout.unflatten(vector).items()
    }


def _weight_decay(weight_decay: Any, layout: Layout) -> Vector | None:
    """The weight decay of each element of the parameter vector, or None if there is none."""
    by_name = weight_decay
    if not isinstance(weight_decay, Mapping):
        by_name = dict.fromkeys(layout.shapes, weight_decay)
    for name, amount in by_name.items():
        if name not in layout.shapes:
            raise GraphcError(
                f"weight_decay: {name!r} is not trained (trained: {listing(layout.shapes)})"
                f"{nearest(str(name), layout.shapes)}"
            )
        if not _number("weight_decay", amount) >= 0:
            raise GraphcError(f"weight_decay={amount} of {name!r} must not be negative")
    if not any(by_name.values()):
        return None
    return layout.flatten(
        {name: np.full(shape, by_name.get(name, 0.0)) for name, shape in layout.shapes.items()}
    )


def _check(method: str, lr: Any, steps: Any, batch: Any, settings: Settings) -> None:
    if method not in METHODS:
        raise GraphcError(
            f"method={method!r} is not known; use one of {listing(METHODS)}"
            f"{nearest(str(method), METHODS)}"
        )
    for name, count, least in (("steps", steps, 0), ("batch", 1 if batch is None else batch, 1)):
        if not isinstance(count, (int, np.integer)) or count < least:
            raise GraphcError(f"{name}={count!r} must be a whole number of at least {least}")
    if not 0 < _number("lr", lr) < float("inf"):
        raise GraphcError(f"lr={lr} must be a positive number; to climb, descend on the negative")
    for name in ("momentum", "rho", "beta1", "beta2"):
        if not 0 <= _number(name, getattr(settings, name)) < 1:
            raise GraphcError(f"{name}={getattr(settings, name)} must be at least 0 and below 1")
    if not _number("eps", settings.eps) >= 0:
        raise GraphcError(f"eps={settings.eps} must not be negative")


def _number(name: str, value: Any) -> float:
    if isinstance(value, (str, bytes)) or not isinstance(value, SupportsFloat):
        raise GraphcError(f"{name}={value!r} must be a number")
    return float(value)
