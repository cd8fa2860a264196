"""The checker: verdicts on derivatives, with evidence, and the name of the culprit.

A graph or a callable, points and claims come in; a report goes out.
"""
