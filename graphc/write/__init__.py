"""Rows as text: formulas, the text form that is read back, LaTeX, MathML, tables.

Rows come in, strings go out; nothing is computed here.
"""
