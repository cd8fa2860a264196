"""One weight at every time step: its derivative is the sum over its copies."""

import graphc as gc


@gc.graph
def recurrence(x, *, w):
    h = x
    for _ in range(3):
        h = gc.tanh(w * h)
    return h


at = {"x": "1/2", "w": 2}
print("nodes:", ", ".join(recurrence))
total = recurrence.derivative(None, "w", at)
print("d h / d w =", float(total))

untied = recurrence.untie("w")
parts = untied.reverse(at=at)
copies = [name for name in parts if name.startswith("w_")]
for name in sorted(copies):
    print(f"  through {name}: {float(parts[name]):+.15f}")
print(f"  their sum:   {sum(float(parts[name]) for name in copies):+.15f}")
