"""Drawings of graphs: DOT text, SVG, PDF, PNG, frames of the two passes, notebook display.

A graph and perhaps a point come in, a picture goes out.
"""
