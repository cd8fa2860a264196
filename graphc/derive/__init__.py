"""The verbs: values and derivatives of a graph, by one sweep in any algebra.

A graph and a point come in; numbers, symbols or a graph that is extended go out.
"""
