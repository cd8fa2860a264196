"""A graph in which every tensor operation stands, with values for its leaves."""

from __future__ import annotations

OPERATIONS = """
input x[2, 3] = [[1, -2, 3], [0.5, 3, -1]]
input v[3] = [0.5, -1, 2]
input s = 0.3
param M[3, 3] = [[4, 1, 0.5], [0.5, 3, 1], [0.25, -1, 2]]
a = x*v + s
b = max(a, axis=1)
c = min(a, axis=0)
d = logsumexp(a, axis=1)
e = softmax(a, axis=0)
f = norm(a, axis=1)
g = var(a)
h = prod(v)
i = log_softmax(a)
j = outer(v, v) @ M.T
k = einsum("ij,kj->ik", a, j)
l = solve(M, v)
m = inv(M) @ M.T
n = logdet(M) + det(M) + trace(M)
o = diag(v) + diag(diag(M))
p = concat([v, l], axis=0)
q = stack([v, l], axis=1)
r = pad(x, ((1, 1), (0, 2)))
t = take(v, [2, 0, 2], axis=0)
u = reshape(x, (3, 2))
w = avgpool(x, 2, stride=1) + maxpool(x, 2, stride=1)
y = conv1d(v, take(l, [0, 1], axis=0), padding=1)
z = where(x > v, x**2, exp(x))
A = x[1:, ::2]
B = gelu(a) + erf(a) + sigmoid(a) + maximum(a, v) + clip(a, -1, 1)
C = max(x, kink="share")
L = sum(b) + sum(c) + sum(d) + sum(e**2) + sum(f) + g + h + sum(i) + sum(k) + sum(m**2) + n \
 + sum(o**3) + sum(p**2) + sum(q**3) + sum(r**2) + sum(t**2) + sum(u**2) + sum(w**2) + sum(y**2) \
 + sum(z) + sum(A**2) + sum(B**2) + C
output L
""".replace("\\\n", "")
