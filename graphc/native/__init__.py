"""The native engine: C that is compiled once and serves every graph.

In: what the table knows of each function, and arrays of points. Out: values, many points at a time.
Here stand the vector maths, `vector_maths.h` and `vector_maths32.h`, and `coefficients`, which
finds their polynomials.
"""
