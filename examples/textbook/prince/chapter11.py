"""Prince, chapter 11: residual networks."""

from collections import Counter

from workbook import exercise

import graphc as gc


def residual(blocks):
    """Residual blocks h_k = h_{k-1} + f_k(h_{k-1})."""
    return gc.parse(f"""
        input h0
        for k in 1..{blocks}:
            f[k] = tanh(h[k-1])
            h[k] = h[k-1] + f[k]
        """)


@exercise("prince-11.2")
def paths_through_residual_blocks():
    yield residual(3)
    table = []
    for K in (3, 4, 5):
        paths = residual(K).paths("h0", f"h{K}")
        lengths = Counter(sum(name.startswith("f") for name in path) for path in paths)
        table.append([lengths[length] for length in range(K + 1)])
    yield table
    yield residual(4).count_paths("f1", "h4")


@exercise("prince-11.3")
def unravelled_residual_network():
    g = gc.parse("""
        input h0 = 1/2
        param w = [1/2, -1/3, 3/4, 2/5]
        for k in 1..4:
            f[k] = tanh(w[k-1]*h[k-1])
            h[k] = h[k-1] + f[k]
        """)
    yield g
    yield g.values({})["h4"]
    terms = g.pathwise("h4", "f1", at={}).terms
    blocks = [("f2" in path) + 2 * ("f3" in path) + 4 * ("f4" in path) for path, _ in terms]
    yield [product for _, (_, product) in sorted(zip(blocks, terms, strict=True))]
    slopes = g.reverse("h4", at={})
    yield slopes["f1"]
    yield slopes["h0"]
    yield [g.count_paths("f1", "h4"), g.count_paths("h0", "h4")]


@exercise("prince-11.11")
def densenet():
    g = gc.parse("""
        input x
        h1 = tanh(x)
        h2 = tanh(x + h1)
        h3 = tanh(x + h1 + h2)
        y = stack([x, h1, h2, h3])
        """)
    yield g
    yield [g.count_paths("x", name) for name in ("h1", "h2", "h3", "y")]
