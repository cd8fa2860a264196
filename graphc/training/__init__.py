"""Training: compiled gradients in a loop of updates, or handed to somebody else's optimiser.

A graph, data and parameters come in; better parameters go out.
"""
