"""Where chunks are computed: on threads of this machine, or on a cluster of Dask."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from ..errors import GraphcError
from .worker import Chunk, adder

Tasks = dict[Any, Any]  # a graph of Dask: {key: value or (function, arguments)}
add = adder()


class Place(Protocol):
    """Somewhere to compute."""

    abroad: bool  # whether other processes read the data
    lost: tuple[type[Exception], ...]  # errors after which data have to be put there again

    def put(self, parts: Sequence[Any]) -> Sequence[Any]:
        """The parts of an array in memory, as they stand in a graph."""

    def total(
        self,
        tasks: Tasks,
        root: Any,
        chunks: Mapping[Any, tuple[int, int, int]],
        skip: bool,
        progress: bool,
    ) -> Chunk:
        """The value of the root; if a task that is not ours fails, that of the good chunks."""


class Threads:
    """The threads of this process."""

    abroad = False
    lost: tuple[type[Exception], ...] = ()

    def put(self, parts: Sequence[Any]) -> Sequence[Any]:
        return parts

    def total(
        self,
        tasks: Tasks,
        root: Any,
        chunks: Mapping[Any, tuple[int, int, int]],
        skip: bool,
        progress: bool,
    ) -> Chunk:
        from dask.callbacks import Callback
        from dask.diagnostics import ProgressBar
        from dask.optimization import cull
        from dask.threaded import get

        done: dict[Any, Chunk] = {}

        def keep(key: Any, value: Any, *_: Any) -> None:
            if key in chunks:
                done[key] = value

        try:
            with (
                Callback(posttask=keep) if skip else nullcontext(),
                ProgressBar(out=sys.stderr) if progress else nullcontext(),
            ):
                found: Chunk = get(tasks, root)
            return found
        except Exception:  # in what made the data: one chunk after the other tells in which
            for key, place in chunks.items():
                if key not in done:
                    try:
                        done[key] = get(cull(tasks, [key])[0], key)
                    except Exception as error:
                        done[key] = failed(place, error)
                if done[key][2] and not skip:
                    return done[key]
        return add([done[key] for key in chunks])


class Cluster:
    """The workers of a client of Dask."""

    abroad = True

    def __init__(self, client: Any) -> None:
        if not (hasattr(client, "get") and hasattr(client, "scatter")):
            raise GraphcError(
                f"client={client!r:.60} is no client of Dask; give dask.distributed.Client(...)"
            )
        from distributed import CancelledError

        self.client = client
        self.lost: tuple[type[Exception], ...] = (CancelledError,)

    def put(self, parts: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = self.client.scatter(list(parts), hash=False)
        return found

    def total(
        self,
        tasks: Tasks,
        root: Any,
        chunks: Mapping[Any, tuple[int, int, int]],
        skip: bool,
        progress: bool,
    ) -> Chunk:
        from distributed import KilledWorker
        from distributed import progress as bar

        # chunks that are kept are not computed again if another one fails
        kept = list(chunks) if skip else []
        future, *parts = self.client.get(tasks, [root, *kept], sync=False)
        try:
            if progress:
                with self.client.as_current():
                    bar(future, notebook=False)
            found: Chunk = future.result()
            return found
        except self.lost:
            raise
        except Exception as error:
            if isinstance(error, KilledWorker) and not skip:
                place = next((p for key, p in chunks.items() if str(key) == str(error.task)), None)
                if place is not None:
                    return failed(place, error)
        parts = parts or self.client.get(tasks, list(chunks), sync=False)
        done: list[Chunk] = []
        for part, place in zip(parts, chunks.values(), strict=True):
            wrong = part.exception()  # waits until it is done
            done.append(part.result() if wrong is None else failed(place, wrong))
            if done[-1][2] and not skip:
                return done[-1]
        return add(done)


def failed(place: tuple[int, int, int], error: Any) -> Chunk:
    """A chunk whose data could not be made."""
    words = [type(error).__name__, " ".join(str(error).split())]
    return 0, None, [(*place, ": ".join(word for word in words if word))]


def place_of(client: Any) -> Place:
    """Threads without a client, its cluster with one."""
    return Threads() if client is None else Cluster(client)
