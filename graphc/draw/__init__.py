"""Drawings of graphs: DOT text, SVG, PDF, PNG, frames of the two passes, notebook display."""
