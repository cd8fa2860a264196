"""What runs where the rows are: functions that are sent by value and need NumPy alone.

Each stands inside another function: Dask sends such a function as it is, and not by the name of a
module that the worker may not have. So it imports what it uses, and names nothing of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Chunk = tuple[int, Any, list[tuple[int, int, int, str]]]  # rows, results or None, what went wrong


def loader() -> Callable[[str, str], Any]:
    """(text, name) -> the function of that name, made once in a process."""

    def loaded(text: str, name: str) -> Any:
        import sys
        import types

        shipped = sys.modules.setdefault("graphc_shipped", types.ModuleType("graphc_shipped"))
        kept: dict[str, Any] = shipped.__dict__.setdefault("spaces", {})
        space = kept.get(text)
        if space is None:
            space = {"__name__": "graphc_shipped"}
            exec(compile(text, "<graphc>", "exec"), space)  # checked before it was sent
            for old in list(kept)[:-7]:  # the last few serve every fit that is under way
                kept.pop(old, None)
            kept[text] = space
        return space[name]

    return loaded


def flattener() -> Callable[[Any], list[Any]]:
    """(tuples and dicts of arrays) -> the arrays in order, in the memory of the host."""

    def flat(found: Any) -> list[Any]:
        if isinstance(found, dict):
            return [array for part in found.values() for array in flat(part)]
        if isinstance(found, tuple):
            return [array for part in found for array in flat(part)]
        return [found.get() if hasattr(found, "get") else found]  # CuPy's are on a device

    return flat


def chunk_of_rows(
    text: str, want: str, split: Mapping[int, tuple[str, int]], mean: bool, piece: int
) -> Callable[..., Chunk]:
    """The function of one chunk: its results, summed over its rows, or why there are none.

    `split` tells the name, and the axis of the rows, of each argument that comes in parts. A chunk
    is what is scheduled; it is read and computed in pieces of so many rows, which fit into caches.
    """
    loaded, flat = loader(), flattener()

    def read(part: Any, name: str, axis: int, chunk: tuple[int, int], rows: tuple[int, int]) -> Any:
        """Some rows of a part that can be read, or that is there as a whole."""
        import numpy as np

        start, stop = rows if callable(part) else chunk
        lead = (slice(None),) * axis
        try:
            array = part((*lead, slice(start, stop))) if callable(part) else part
        except Exception as error:
            raise ValueError(f"{name} cannot be read: {error}") from None
        if np.ndim(array) <= axis or array.shape[axis] != stop - start:
            raise ValueError(f"{name} has shape {np.shape(array)}, not {stop - start} rows")
        return array if callable(part) else array[(*lead, slice(*(r - start for r in rows)))]

    def found_in(given: list[Any], first: int) -> list[Any]:
        """The results of a piece in double precision; data that make them not finite are told."""
        import numpy as np

        with np.errstate(all="ignore"):
            found = flat(loaded(text, want)(*given))
        results = [np.asarray(array, dtype=np.float64) for array in found]
        if not all(np.isfinite(array).all() for array in results):
            for place, (name, axis) in split.items():
                strange = ~np.isfinite(given[place])
                if strange.any():
                    row = first + int(np.argwhere(strange)[0][axis])
                    raise ValueError(f"{name} holds {given[place][strange][0]} in row {row}")
        return results

    def run(shared: Any, number: int, start: int, stop: int, parts: Sequence[Any]) -> Chunk:
        given, base = list(shared["arguments"]), shared["base"]
        total: list[Any] = []
        try:
            for first in range(start, stop, piece):
                rows = (first, min(first + piece, stop))
                for (place, (name, axis)), part in zip(split.items(), parts, strict=True):
                    given[place] = read(part, name, axis, (start, stop), rows)
                results = found_in(given, first)
                if mean:
                    sums = [array * (rows[1] - first) for array in results]
                else:
                    sums = [array - rest for array, rest in zip(results, base, strict=True)]
                total = [a + b for a, b in zip(total, sums, strict=True)] if total else sums
        except Exception as error:  # whatever is wrong with these rows, the others are not lost
            reason = " ".join(str(error).split()) or type(error).__name__
            return 0, None, [(number, start, stop, reason)]
        return stop - start, total, []

    return run


def adder() -> Callable[[Sequence[Chunk]], Chunk]:
    """The function that makes one chunk of several, added in their order."""

    def add(parts: Sequence[Chunk]) -> Chunk:
        good = [found for _, found, _ in parts if found is not None]
        total = [sum(arrays[1:], start=arrays[0]) for arrays in zip(*good, strict=True)] or None
        bad = [one for _, _, some in parts for one in some]
        return sum(rows for rows, _, _ in parts), total, bad

    return add


def block_of_points(
    text: str,
    want: str,
    arguments: Sequence[Any],
    places: Sequence[int],
    starts: Sequence[Sequence[int]],
) -> Callable[..., tuple[Any, ...]]:
    """The function of one block: its results as a tuple, or an error that names the block."""
    loaded, flat = loader(), flattener()

    def run(*parts: Any, block_id: tuple[int, ...]) -> tuple[Any, ...]:
        import numpy as np

        given = list(arguments)
        for place, part in zip(places, parts, strict=True):
            given[place] = part
        try:
            with np.errstate(all="ignore"):
                return tuple(flat(loaded(text, want)(*given)))
        except Exception as error:
            try:
                from graphc.errors import GraphcError as Refused
            except ImportError:
                Refused = ValueError  # type: ignore[misc, assignment]
            where = ", ".join(
                f"{first[i]} to {first[i + 1] - 1}"
                for i, first in zip(block_id, starts, strict=True)
            )
            reason = " ".join(str(error).split()) or type(error).__name__
            raise Refused(f"map: chunk {block_id} (points {where}): {reason}") from None

    return run


def part_of_array(array: Any) -> Callable[[tuple[slice, ...]], Any]:
    """(slices) -> this part of anything that can be sliced."""

    def read(part: tuple[slice, ...]) -> Any:
        import numpy as np

        return np.asarray(array[part])

    return read


def part_of_file(file: str, layout: tuple[Any, ...]) -> Callable[[tuple[slice, ...]], Any]:
    """(slices) -> this part of a memory map, opened where it is needed."""

    def read(part: tuple[slice, ...]) -> Any:
        import numpy as np

        shape, dtype, offset, strides = layout
        mapped = np.memmap(file, dtype=np.uint8, mode="r")
        return np.ndarray(shape, dtype, mapped, offset, strides)[part]

    return read
