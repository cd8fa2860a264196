"""W5: the derivative of every node by every node, S[i, j] = d j / d i, at a point.

    python benchmarks/w5_all_pairs.py [--quick] [--json FILE]

graphc evaluates the graph and its local derivatives in every call; the others are handed them.
A fresh array costs its pages; an array that is given costs zeros where there is no path.
"""

from __future__ import annotations

from functools import partial

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, Goal, compare
from random_dag import (
    INPUTS,
    POINT,
    is_binary,
    local_derivatives,
    random_dag,
    text_of,
)

import graphc as gc


def graphc_graph(dag):
    """The nodes of the random graph and nothing else: the sum L is left out."""
    *lines, _, _ = text_of(dag).splitlines()
    at = {f"x{number}": value for number, value in enumerate(POINT)}
    return gc.parse("\n".join(lines), "dag"), at


def graphc_run(dag):
    graph, at = graphc_graph(dag)
    return lambda: graph.all_pairs(at, result="dense")


def graphc_into(dag):
    graph, at = graphc_graph(dag)
    array = np.ones((INPUTS + len(dag),) * 2)
    return lambda: graph.all_pairs(at, result="dense", out=array)


def row_sweep(dag, rows, by_first, by_second):
    """NumPy: a row per node, the weighted sum of the rows of its operands."""
    for k, (kind, first, second) in enumerate(dag):
        row = rows[INPUTS + k]
        row[: first + 1] += by_first[k] * rows[first, : first + 1]
        if is_binary(kind):
            row[: second + 1] += by_second[k] * rows[second, : second + 1]
    return rows.T


def row_by_row(dag):
    _, by_first, by_second = local_derivatives(dag)
    return lambda: row_sweep(dag, np.eye(INPUTS + len(dag)), by_first, by_second)


def row_by_row_into(dag):
    _, by_first, by_second = local_derivatives(dag)
    array = np.ones((INPUTS + len(dag),) * 2)

    def run():
        array.fill(0)
        np.fill_diagonal(array, 1)
        return row_sweep(dag, array, by_first, by_second)

    return run


def edge_matrix(dag):
    """Local derivatives as a matrix: entry (i, j) for an edge from i to j."""
    _, by_first, by_second = local_derivatives(dag)
    size = INPUTS + len(dag)
    matrix = np.zeros((size, size))
    for k, (kind, first, second) in enumerate(dag):
        matrix[first, INPUTS + k] += by_first[k]
        if is_binary(kind):
            matrix[second, INPUTS + k] += by_second[k]
    return matrix


def inverse(dag):
    matrix = np.eye(INPUTS + len(dag)) - edge_matrix(dag)
    return lambda: np.linalg.inv(matrix)


def triangular(dag):
    from scipy.linalg.lapack import dtrtri

    matrix = np.asfortranarray(np.eye(INPUTS + len(dag)) - edge_matrix(dag))
    return lambda: dtrtri(matrix, lower=0, unitdiag=1)[0]


def per_source(dag):
    """networkx: a sweep over a dict from every node."""
    import networkx

    _, by_first, by_second = local_derivatives(dag)
    size = INPUTS + len(dag)
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(size))
    for k, (kind, first, second) in enumerate(dag):
        graph.add_edge(first, INPUTS + k, slope=by_first[k])
        if is_binary(kind):
            graph.add_edge(second, INPUTS + k, slope=by_second[k])

    def run():
        order = list(networkx.topological_sort(graph))
        result = np.zeros((size, size))
        for source in range(size):
            found = {source: 1.0}
            for node in order:
                if node in found:
                    for _, target, slope in graph.out_edges(node, data="slope"):
                        found[target] = found.get(target, 0.0) + found[node] * slope
            result[source, list(found)] = list(found.values())
        return result

    return run


ROWS = "NumPy, row by row"
MAKERS = {
    "graphc": (graphc_run, "numpy"),
    ROWS: (row_by_row, "numpy"),
    "LAPACK dtrtri": (triangular, "scipy"),
    "numpy.linalg.inv": (inverse, "numpy"),
    "networkx, per source": (per_source, "networkx"),
}
INTO = {
    "graphc": (graphc_into, "numpy"),
    ROWS: (row_by_row, "numpy"),
    "NumPy rows, given array": (row_by_row_into, "numpy"),
}
LIMITS = {"networkx, per source": 1000, "numpy.linalg.inv": 1000}
FAST_ENOUGH = {"fresh": 1 / 2.5, "into a given array": 1 / 5}  # of NumPy's rows; 3,000 nodes


def main() -> None:
    chosen = measure.options(__doc__)
    results = []
    for nodes in (100, 300) if chosen.quick else (300, 1000, 3000):
        dag = random_dag(nodes - INPUTS)
        for where, makers in (("fresh", MAKERS), ("into a given array", INTO)):
            contenders = [
                Contender(name, partial(make, dag), needs)
                for name, (make, needs) in makers.items()
                if nodes <= LIMITS.get(name, nodes)
            ]
            goals = (Goal(ROWS, FAST_ENOUGH[where]),) if nodes == 3000 else ()
            title = f"W5: all pairs of {nodes:,} nodes, {where}"
            results.append(compare(title, contenders, chosen, goals))
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
