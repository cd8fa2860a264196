"""What every test shares: reproducible examples, two textbook graphs, a table that is put back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

import graphc as gc
from graphc.table.functions import COMPOSED, FUNCTIONS
from graphc.table.tensors import OPERATIONS

settings.register_profile(
    "graphc",
    deadline=None,
    derandomize=True,  # the same graphs on every machine
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("graphc")

FIG27 = """
input y1 y2 y3
param w2 w3
y4 = y1*y2
y5 = y1*y2*y3
y6 = w2*y2 + w3*y3
y7 = sin(y4)
y8 = cos(y5)
y9 = sin(y6)
y10 = y7*y8*y9
"""


@pytest.fixture
def fig27() -> gc.Graph:
    """The ten-node graph of aggarwal-fig2.7."""
    return gc.parse(FIG27, "fig27")


@pytest.fixture
def ladder():
    """Item aggarwal-2.16 with any number of layers: sines above, cosines below."""

    def build(layers: int) -> gc.Graph:
        return gc.parse(
            f"""
            input x
            a1 = sin(x)
            b1 = cos(x)
            for t in 2..{layers}:
                a[t] = sin(a[t-1] + b[t-1])
                b[t] = cos(a[t-1] + b[t-1])
            o = a[{layers}]*b[{layers}]
            """.replace("\n            ", "\n")
        )

    return build


@pytest.fixture
def own_functions():
    """Functions declared by the test are gone after it."""
    yield from put_back(FUNCTIONS)


@pytest.fixture
def own_operations():
    """Tensor operations declared by the test are gone after it."""
    yield from put_back(OPERATIONS, COMPOSED)


def put_back(*tables):
    """After the test, the tables hold what they held before it."""
    before = [dict(table) for table in tables]
    yield
    for table, records in zip(tables, before, strict=True):
        table.clear()
        table.update(records)
