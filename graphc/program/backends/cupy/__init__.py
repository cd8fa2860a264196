"""CuPy: one kernel for graphs of scalars, written in C; everything else is NumPy's text."""
