"""A hand-written backward pass with a mistake: the checker names the step that is wrong."""

import numpy as np

import graphc as gc

network = gc.parse(
    """
    input x[3] y[2]
    param W1[4,3] b1[4] W2[2,4] b2[2]
    a = W1 @ x + b1
    h = tanh(a)
    o = W2 @ h + b2
    L = sum((o - y)**2)/2
    """.replace("\n    ", "\n"),
    "network",
)


def backward(x, y, W1, b1, W2, b2):
    """Somebody's backward pass, as it is written in a thousand notebooks."""
    a = W1 @ x + b1
    h = np.tanh(a)
    o = W2 @ h + b2
    o_bar = o - y
    h_bar = W2.T @ o_bar
    a_bar = h_bar * (1 - h)  # should be 1 - h**2
    return {
        **{"o": o_bar, "W2": np.outer(o_bar, h), "b2": o_bar},
        **{"h": h_bar, "a": a_bar, "W1": np.outer(a_bar, x), "b1": a_bar},
    }


rng = np.random.default_rng(0)
at = {name: rng.normal(size=network[name].shape) for name in network.input_names}
at |= {name: rng.normal(size=network[name].shape) for name in network.param_names}
report = gc.check(network, of="L", at=at, claimed=backward(**at))
for name in ("o", "W2", "b2", "h", "a", "W1", "b1"):
    rows = [row for row in report.rows if row.name == name]
    wrong = sum(row.verdict == "wrong" for row in rows)
    print(f"d L / d {name:2}: {wrong} of {len(rows)} wrong")
print("to blame:", ", ".join(f"{source} -> {target}" for source, target in report.blame))
assert report.blame == [("a", "h")]
print(f"right is: a_bar = {network.reverse('L', form='steps')['a']}")
