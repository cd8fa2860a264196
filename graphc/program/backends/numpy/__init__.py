"""NumPy: the fast styles, for points and for tensors; the readable one is shared with CuPy."""
