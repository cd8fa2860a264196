"""Beyond one machine: the rows of the data in chunks, on threads or on the workers of Dask.

A compiled function and arrays that need not fit into memory come in; lazy arrays, or sums over all
rows, go out. Workers get the emitted text and arrays, and need NumPy alone.
"""
