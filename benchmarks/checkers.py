"""Gradient checkers on labelled cases: who alarms without cause, who misses, who names the kink.

    python benchmarks/checkers.py [--quick] [--seed N]

Every checker gets the same functions, points and claimed gradients, with its own default settings;
those without a verdict of their own (scipy, numdifftools) are judged at a relative 1e-6. A checker
that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections import Counter
from collections.abc import Callable

import measure  # noqa: F401  # first: it sets the number of threads
import numpy as np
from checker_cases import Case, cases
from function_cases import function_cases

import graphc as gc

warnings.filterwarnings("ignore")
RELATIVE = 1e-6


def graphc_graph(case: Case) -> str:
    report = gc.check(case.graph, "y", case.at, claimed=case.claimed, dtype=case.dtype)
    return report.verdict if report.ok else "alarm"


def graphc_function(case: Case) -> str:
    x, claim = case.packed()
    function = case.function()
    report = gc.check_function(lambda x: case_type(function(x), case), lambda x: claim, x)
    return report.verdict if report.ok else "alarm"


def case_type(value, case):
    return np.asarray(value, dtype=case.dtype)[()]


def torch_gradcheck(case: Case) -> str:
    import torch

    x, claim = case.packed()
    function = case.function()

    class Claimed(torch.autograd.Function):
        @staticmethod
        def forward(context, point):
            value = np.asarray(function(point.detach().numpy()), dtype=case.dtype)
            return torch.tensor(value[()], dtype=point.dtype)

        @staticmethod
        def backward(context, adjoint):
            return adjoint * torch.tensor(claim)

    point = torch.tensor(x, requires_grad=True)
    passed = torch.autograd.gradcheck(Claimed.apply, (point,), raise_exception=False)
    return "passed" if passed else "alarm"


def jax_check_grads(case: Case) -> str:
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads

    x, claim = case.packed()
    function = case.function()
    kind = jax.ShapeDtypeStruct((), np.dtype(case.dtype))

    @jax.custom_vjp
    def claimed(point):
        return jax.pure_callback(
            lambda p: np.asarray(function(np.asarray(p)), dtype=case.dtype), kind, point
        )

    claimed.defvjp(lambda p: (claimed(p), None), lambda _, adjoint: (adjoint * jnp.asarray(claim),))
    try:
        check_grads(claimed, (jnp.asarray(x),), order=1, modes=["rev"])
        return "passed"
    except AssertionError:
        return "alarm"


def scipy_check_grad(case: Case) -> str:
    from scipy.optimize import check_grad

    x, claim = case.packed()
    function = case.function()
    error = check_grad(lambda p: float(function(p)), lambda p: claim.astype(float), x.astype(float))
    return "passed" if error <= RELATIVE * np.linalg.norm(claim) else "alarm"


def numdifftools_gradient(case: Case) -> str:
    import numdifftools

    x, claim = case.packed()
    function = case.function()
    found = np.atleast_1d(numdifftools.Gradient(lambda p: float(function(p)))(x.astype(float)))
    close = np.allclose(found, claim, rtol=RELATIVE, atol=RELATIVE * np.abs(claim).max())
    return "passed" if close else "alarm"


CHECKERS: dict[str, tuple[Callable[[Case], str], str]] = {
    "graphc (graph)": (graphc_graph, "graphc"),
    "graphc (function)": (graphc_function, "graphc"),
    "torch.gradcheck": (torch_gradcheck, "torch"),
    "jax.check_grads": (jax_check_grads, "jax"),
    "scipy.check_grad": (scipy_check_grad, "scipy"),
    "numdifftools": (numdifftools_gradient, "numdifftools"),
}


def outcome(case: Case, answer: str) -> str:
    """The cell of the confusion matrix."""
    alarm = answer == "alarm"
    if case.label == "wrong":
        undecided = answer in ("float-noise", "ill-conditioned")
        return "wrong: caught" if alarm else "wrong: undecided" if undecided else "wrong: missed"
    if case.label == "right":
        return "right: alarm" if alarm else "right: passed"
    named = answer in ("at-kink", "near-kink")
    return "kink: alarm" if alarm else "kink: named" if named else "kink: passed"


CELLS = (
    *("right: passed", "right: alarm", "wrong: caught", "wrong: undecided", "wrong: missed"),
    *("kink: named", "kink: passed", "kink: alarm"),
)


def functions(seed: int, every: int) -> None:
    """The cases of functions alone, which have claims and shapes that the others cannot take."""
    found = function_cases(seed)[::every]
    counts: Counter[str] = Counter()
    with np.errstate(all="ignore"):
        for case in found:
            report = gc.check_function(case.function, case.gradient, case.at, **case.options)
            told = "NOT OK" if not report.ok else report.verdict
            counts[f"{case.label}: {told}"] += 1
            counts["off by more than the bound"] += case.hides(report)
    print(f"\n{len(found)} functions of graphc alone: {dict(sorted(counts.items()))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="every tenth case")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every = 10 if options.quick else 1
    found = cases(options.seed)[::every]
    labels = Counter(case.label for case in found)
    print(f"{len(found)} cases: {dict(labels)}\n")
    print("| checker | " + " | ".join(CELLS) + " | seconds |")
    print("|---" * (len(CELLS) + 2) + "|")
    missed: dict[str, Counter[str]] = {}
    for name, (checker, needs) in CHECKERS.items():
        if importlib.util.find_spec(needs) is None:
            print(f"| {name} | not installed |")
            continue
        start = time.perf_counter()
        counts: Counter[str] = Counter()
        missed[name] = Counter()
        for case in found:
            try:
                answer = checker(case)
            except Exception as error:
                answer = "alarm"
                counts[f"raised {type(error).__name__}"] += 1
            cell = outcome(case, answer)
            counts[cell] += 1
            if cell.endswith(("missed", "alarm")):
                missed[name][case.family] += 1
        seconds = time.perf_counter() - start
        cells = " | ".join(str(counts[cell]) for cell in CELLS)
        print(f"| {name} | {cells} | {seconds:.1f} |", flush=True)
        raised = {key: count for key, count in counts.items() if key.startswith("raised")}
        if raised:
            print(f"  {name}: {raised}")
    print("\nWhere each of them failed:")
    for name, families in missed.items():
        shown = ", ".join(f"{family} {count}" for family, count in families.most_common(12))
        print(f"- {name}: {shown or 'nowhere'}")
    functions(options.seed, every)


if __name__ == "__main__":
    main()
