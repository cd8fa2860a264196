"""One sweep over the paths of a DAG, whatever is carried, and the verbs that are sweeps.

A DAG is given as `hops`: node -> list of (next node, edge), in an order of nodes such that every
hop goes forward in it. What an edge does to a carried value is the caller's; no zero is needed,
because a node that no path reaches has no entry.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

N = TypeVar("N", bound=Hashable)
V = TypeVar("V")
E = TypeVar("E")
Hops = Mapping[N, list[tuple[N, E]]]
Link = Any  # a path as (last node, path before it) or None: paths share their beginnings


def sweep(
    order: Iterable[N],
    hops: Callable[[N], Iterable[tuple[N, E]]],
    seeds: Mapping[N, V],
    carry: Callable[[E, V], V | None],
    add: Callable[[V, V], V],
    visit: Callable[[N, V], V] | None = None,
) -> dict[N, V]:
    """What arrives at each node over all paths from the seeds; a seed adds to what arrives.

    `carry` takes a value over an edge, and returns None where nothing passes. `visit` sees each
    node's sum once it is complete, and may put another name on it.
    """
    arrived: dict[N, V] = dict(seeds)
    for node in order:
        if node not in arrived:
            continue
        value = arrived[node]
        if visit is not None:
            value = arrived[node] = visit(node, value)
        for target, edge in hops(node):
            carried = carry(edge, value)
            if carried is None:
                continue
            arrived[target] = add(arrived[target], carried) if target in arrived else carried
    return arrived


def reached(starts: Iterable[N], onward: Callable[[N], Iterable[N]]) -> set[N]:
    """The nodes that steps lead to, the starts included."""
    seen = set(starts)
    stack = list(seen)
    while stack:
        for node in onward(stack.pop()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def count_paths(order: Iterable[N], hops: Hops[N, E], source: N, target: N) -> int:
    """The number of paths, without enumerating them."""
    counts = sweep(order, lambda n: hops.get(n, ()), {source: 1}, lambda _, n: n, int.__add__)
    return counts.get(target, 0)


def longest_path(order: Iterable[N], hops: Hops[N, E], source: N, target: N) -> tuple[N, ...]:
    """The first of the longest paths, as nodes; empty if there is none."""
    start: dict[N, tuple[int, Link]] = {source: (0, (source, None))}
    best = sweep(
        order,
        lambda n: ((following, following) for following, _ in hops.get(n, ())),
        start,
        lambda node, path: (path[0] + 1, (node, path[1])),
        lambda old, new: new if new[0] > old[0] else old,
    )
    return _unlinked(best[target][1]) if target in best else ()


def _unlinked(link: Link) -> tuple[Any, ...]:
    """The nodes of a path that was kept as (last node, path before it)."""
    nodes = []
    while link is not None:
        node, link = link
        nodes.append(node)
    return tuple(reversed(nodes))


def enumerate_paths(hops: Hops[N, E], source: N, target: N) -> Iterator[tuple[tuple[N, E], ...]]:
    """Each path as (node, edge that led there) pairs, depth first in the order of the hops."""
    useful = _reaching(hops, target)
    if source not in useful:
        return
    trail: list[tuple[N, Any]] = [(source, None)]
    stack = [iter(hops.get(source, ()))]
    if source == target:
        yield tuple(trail)
        return
    while stack:
        hop = next(stack[-1], None)
        if hop is None:
            stack.pop()
            trail.pop()
            continue
        if hop[0] not in useful:
            continue
        trail.append(hop)
        if hop[0] == target:
            yield tuple(trail)
            trail.pop()
        else:
            stack.append(iter(hops.get(hop[0], ())))


def _reaching(hops: Hops[N, E], target: N) -> set[N]:
    """The nodes from which the target can be reached."""
    back: dict[N, list[N]] = {}
    for node, nexts in hops.items():
        for following, _ in nexts:
            back.setdefault(following, []).append(node)
    return reached([target], lambda node: back.get(node, ()))


def top_paths(
    order: Iterable[N],
    hops: Hops[N, E],
    source: N,
    target: N,
    weight: Callable[[E], Any],
    multiply: Callable[[Any, Any], Any],
    size: Callable[[Any], Any],
    one: Any,
    k: int,
) -> list[tuple[tuple[N, ...], Any]]:
    """The k paths whose products are largest in size, largest first, without enumerating all.

    Multiplying by one more edge keeps the order of sizes, so each node needs only its k best.
    """

    def carry(hop: tuple[N, E], entries: list[tuple[Any, Link]]) -> list[tuple[Any, Link]]:
        node, edge = hop
        z = weight(edge)
        return [(multiply(z, product), (node, path)) for product, path in entries]

    def merge(old: list[tuple[Any, Link]], new: list[tuple[Any, Link]]) -> list[tuple[Any, Link]]:
        return heapq.nlargest(k, old + new, key=lambda entry: size(entry[0]))

    best = sweep(
        order,
        lambda n: ((hop[0], hop) for hop in hops.get(n, ())),
        {source: [(one, (source, None))]},
        carry,
        merge,
    )
    found = heapq.nlargest(k, best.get(target, []), key=lambda entry: size(entry[0]))
    return [(_unlinked(link), product) for product, link in found]


def topological(edges: Iterable[tuple[N, N]], nodes: Iterable[N]) -> tuple[list[N], list[N]]:
    """(order, []) with sources first, or ([], a cycle)."""
    nodes = list(nodes)
    following: dict[N, list[N]] = {node: [] for node in nodes}
    waiting = dict.fromkeys(nodes, 0)
    for source, target in edges:
        following[source].append(target)
        waiting[target] += 1
    place = {node: i for i, node in enumerate(nodes)}  # ties go to the node that was named first
    ready = [place[node] for node in nodes if not waiting[node]]
    order: list[N] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for target in following[node]:
            waiting[target] -= 1
            if not waiting[target]:
                heapq.heappush(ready, place[target])
    if len(order) == len(nodes):
        return order, []
    # every node still waiting has a predecessor that waits: walking back must repeat a node
    before = {
        target: source
        for source in nodes
        if waiting[source]
        for target in following[source]
        if waiting[target]
    }
    walk, node = [], next(node for node in nodes if waiting[node] and node in before)
    while node not in walk:
        walk.append(node)
        node = before[node]
    cycle = [*walk[walk.index(node) :], node]
    return [], cycle[::-1]
