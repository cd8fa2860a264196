"""The referee: random graphs, on which every way to a number must give the same number.

    python -m tests.referee --graphs 5000 --seed 7

A model is drawn (`generator`) from words that say how they are written and what they mean
(`vocabulary`). Its text goes through every route of graphc (`routes`); the words' meaning goes
through jax and torch (`oracles`); 50-digit values of the interpreter decide (`judge`). Laws that
need no second opinion are tried too (`laws`). A model that fails is made small (`shrink`) and
printed as a test. `faults` plants mistakes in graphc, each of which the referee must find.
"""
