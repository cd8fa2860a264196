"""Prince, chapter 2: fitting a line."""

from sympy import Matrix
from workbook import exercise, newton, pick

import graphc as gc

line = gc.parse("""
    input x = [1, 2, 4]
    input y = [2, 3, 4]
    param phi = [1/2, 1]
    L = sum((phi[0] + phi[1]*x - y)**2)
    """)


@exercise("prince-2.1-2")
def least_squares_line():
    yield line
    yield line.derivative("L", "phi", at={})
    yield newton(line, "L", "phi", at={})
    H = line.hessian("L", "phi", at={})
    yield H
    H = Matrix(H)
    yield [H.trace(), H.det(), *sorted(H.eigenvals())]


@exercise("prince-2.3")
def generative_line():
    generative = gc.parse("""
        input x = [1, 2, 4]
        input y = [2, 3, 4]
        param phi = [0, 1]
        L = sum((phi[0] + phi[1]*y - x)**2)
        """)
    yield generative
    offset, slope = newton(generative, "L", "phi", at={})
    yield [offset, slope]
    predict = gc.parse("input x = 3\nparam a b c d\ninverse = (x - a)/b\ndirect = c + d*x")
    c, d = newton(line, "L", "phi", at={})
    yield pick(predict.values({"a": offset, "b": slope, "c": c, "d": d}), "inverse direct")
