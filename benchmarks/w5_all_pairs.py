"""W5: the derivative of every node by every node, S[i, j] = d j / d i, at a point.

    python benchmarks/w5_all_pairs.py [--quick] [--json FILE]

graphc evaluates the graph and its local derivatives in every call; the others are handed them.
"""

from __future__ import annotations

from functools import partial

import measure  # first: it sets the number of threads
import numpy as np
from measure import Contender, compare
from random_dag import (
    INPUTS,
    POINT,
    is_binary,
    local_derivatives,
    random_dag,
    text_of,
)

import graphc as gc


def graphc_run(dag):
    graph = gc.parse(text_of(dag).replace("output L", "output n10"), "dag")
    at = {f"x{number}": value for number, value in enumerate(POINT)}
    nodes = INPUTS + len(dag)

    def run():  # the sum L is the last node; nobody else has it
        return graph.all_pairs(at, result="dense")[:nodes, :nodes]

    return run


def row_by_row(dag):
    """NumPy: a row per node, the weighted sum of the rows of its operands."""
    _, by_first, by_second = local_derivatives(dag)
    size = INPUTS + len(dag)

    def run():
        rows = np.eye(size)
        for k, (kind, first, second) in enumerate(dag):
            row = rows[INPUTS + k]
            row[: first + 1] += by_first[k] * rows[first, : first + 1]
            if is_binary(kind):
                row[: second + 1] += by_second[k] * rows[second, : second + 1]
        return rows.T

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


MAKERS = {
    "graphc": (graphc_run, "numpy"),
    "NumPy, row by row": (row_by_row, "numpy"),
    "LAPACK dtrtri": (triangular, "scipy"),
    "numpy.linalg.inv": (inverse, "numpy"),
    "networkx, per source": (per_source, "networkx"),
}
LIMITS = {"networkx, per source": 1000, "numpy.linalg.inv": 1000}


def main() -> None:
    chosen = measure.options(__doc__)
    results = []
    for nodes in (100, 300) if chosen.quick else (300, 1000, 3000):
        dag = random_dag(nodes - INPUTS)
        contenders = [
            Contender(name, partial(make, dag), needs)
            for name, (make, needs) in MAKERS.items()
            if nodes <= LIMITS.get(name, nodes)
        ]
        results.append(compare(f"W5: all pairs of {nodes:,} nodes", contenders, chosen))
    measure.finish(results, chosen)


if __name__ == "__main__":
    main()
