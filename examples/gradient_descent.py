"""A neuron learns: exact gradients at the start, floats for the steps."""

import graphc as gc


@gc.graph
def neuron(x1, x2, t, *, w1, w2, b):
    a = w1 * x1 + w2 * x2 + b
    o = gc.sigmoid(a)
    L = (o - t) ** 2
    return L


data = {"x1": 1, "x2": -2, "t": 1}
params = {"w1": 0, "w2": 0, "b": 0}
slopes = neuron.reverse(at={**data, **params})
print("at the start, exactly:", {name: str(slopes[name]) for name in params})

params = dict.fromkeys(params, 0.0)
for step in range(101):
    at = {**data, **params}
    if step % 25 == 0:
        print(f"step {step:3}: L = {neuron.values(at)['L']:.6f}")
    slopes = neuron.reverse(at=at)
    params = {name: value - 0.5 * slopes[name] for name, value in params.items()}
print("learnt:", {name: round(value, 3) for name, value in params.items()})
