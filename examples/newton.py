"""A derivative of a graph is a graph again: Newton's method needs two of them."""

import numpy as np

import graphc as gc


@gc.graph
def bowl(x, y):
    f = x**4 + x * y + (1 + y) ** 2
    return f


print("gradient:", bowl.jacobian("f", ["x", "y"]))
print("Hessian: ", bowl.hessian("f", ["x", "y"]))

point = np.array([0.75, -1.25])
for step in range(1, 5):
    at = {"x": point[0], "y": point[1]}
    slope = bowl.jacobian("f", ["x", "y"], at)[0]
    point = point - np.linalg.solve(bowl.hessian("f", ["x", "y"], at), slope)
    print(f"step {step}: x = {point[0]:.9f}, y = {point[1]:.9f}")

print("the gradient as a graph:")
print(bowl.differentiate("f", ["x", "y"]).to_text())
