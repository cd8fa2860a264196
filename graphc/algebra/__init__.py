"""What can be carried: exact numbers, floats, arrays, symbols, rows of a program.

A function of the table and values go in, a value of the same algebra comes out.
"""
