"""What a run of the referee tells: each difference as a test, and the counts."""

from __future__ import annotations

from collections.abc import Iterable

from .case import case_of
from .generator import model_of
from .judge import Difference, Record, differences, judged
from .model import Model
from .shrink import smallest


def found(seeds: Iterable[int], libraries: tuple[str, ...]) -> tuple[list[str], Record]:
    """The differences among the graphs of these seeds, made small and written as tests."""
    record, texts = Record(), []
    for seed in seeds:
        model = model_of(seed)
        first = next(iter(judged(model, libraries, seed, record)), None)
        if first is not None:
            texts.append(_told(seed, *_shrunk(model, first, libraries, seed)))
    return texts, record


def _shrunk(
    model: Model, first: Difference, libraries: tuple[str, ...], seed: int
) -> tuple[Model, Difference]:
    """The smallest model with a difference of the same kind, and that difference."""

    def shown(candidate: Model) -> Difference | None:
        case = case_of(candidate)
        some = differences(case, candidate, libraries, seed, only=first.route)
        return next((d for d in some if d.kind == first.kind), None)

    small = smallest(model, lambda candidate: shown(candidate) is not None)
    return small, shown(small) or first


def _told(seed: int, model: Model, difference: Difference) -> str:
    return f"\nseed {seed}: {difference}\n\n{case_of(model).pasteable()}"


def summary(record: Record, graphs: int, failures: int) -> str:
    """The counts at the end of a run."""
    numbers = sum(record.numbers.values())
    routes = [f"  {count:>12,}  {name}" for name, count in sorted(record.numbers.items())]
    refused = [f"  {count:>12,}  {text}" for text, count in record.refused.most_common(12)]
    parts = [
        f"{graphs:,} graphs, {numbers:,} numbers compared, {record.kinks:,} graphs on a kink",
        *routes,
    ]
    if refused:
        parts += ["refused:", *refused]
    parts.append(f"{failures} graphs with differences")
    return "\n".join(parts)
