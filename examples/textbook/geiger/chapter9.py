"""Geiger, lecture 9: sequences of symbols."""

from workbook import Erratum, exercise, pick

import graphc as gc


@exercise("geiger-9.1.3")
def bits_and_perplexity():
    g = gc.parse("""
        input p[2]
        input q = [1/10, 9/10]
        crossed = -sum(p*log(q))/log(2)
        entropy = -sum(where(p > 0, p*log(p), 0))/log(2)
        divergence = crossed - entropy
        perplexity = 2**crossed
        """)
    yield g
    third, fourth = g.values({"p": ["1/10", "9/10"]}), g.values({"p": [1, 0]})
    yield third["crossed"]
    yield pick(fourth, "crossed entropy divergence")
    yield [third["perplexity"], fourth["perplexity"]]
    split = "{:.2f} + {:.2f}".format(*map(float, pick(fourth, "entropy divergence")))
    yield Erratum("example 4, entropy and divergence", "0.47 + 2.85", split)
