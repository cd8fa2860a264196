"""One local cluster of two worker processes for all tests of the room."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def client():
    """A client of two workers, one thread each; with nannies, which start a dead worker again."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: no cluster")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected
