"""How a graph comes in: text, Python functions, SymPy, networkx, bare edges.

Outside things come in, rows are appended; nothing is evaluated.
"""
