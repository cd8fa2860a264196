"""A call of every composed function, and what it gives."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(5)


A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))


S = RNG.normal(size=(3, 3)) + 4 * np.eye(3)


X, V = RNG.normal(size=(2, 3, 4)), RNG.normal(size=3)


P = np.array([[0.25, 0.5, 0.25], [0.125, 0.125, 0.75]])


Y = np.array([[0.0, 1, 0], [0.5, 0.5, 0]])


POWERS = np.exp(A) / np.exp(A).sum(axis=-1, keepdims=True)

# what to call, with which arguments and settings, and what NumPy says
CALLS = [
    ("matmul", (A, B), {}, A @ B),
    ("matmul", (X, B), {}, X @ B),
    ("einsum", ("ij,jk->ki", A, B), {}, (A @ B).T),
    ("dot", (V, V), {}, V @ V),
    ("outer", (V, A[0]), {}, np.outer(V, A[0])),
    ("transpose", (X,), {}, X.T),
    ("transpose", (X, (0, 2, 1)), {}, X.transpose(0, 2, 1)),
    ("transpose", (X,), {"axes": (1, 0, 2)}, X.transpose(1, 0, 2)),
    ("trace", (S,), {}, np.trace(S)),
    ("diag", (V,), {}, np.diag(V)),
    ("diag", (S,), {}, np.diag(S)),
    ("inv", (S,), {}, np.linalg.inv(S)),
    ("det", (S,), {}, np.linalg.det(S)),
    ("adjugate", (S,), {}, np.linalg.det(S) * np.linalg.inv(S)),
    ("adjugate_change", (S, S), {}, (len(S) - 1) * np.linalg.det(S) * np.linalg.inv(S)),
    ("logdet", (S,), {}, np.linalg.slogdet(S)[1]),
    ("solve", (S, V), {}, np.linalg.solve(S, V)),
    ("sum", (X,), {"axis": (0, -1)}, X.sum(axis=(0, -1))),
    ("sum", (1.5, 2, 3), {}, 6.5),
    ("mean", (X,), {"axis": 1, "keepdims": True}, X.mean(axis=1, keepdims=True)),
    ("mean", (1.0, 2.0), {}, 1.5),
    ("var", (X,), {"axis": -1}, X.var(axis=-1)),
    ("var", (1.0, 2.0, 3.0), {}, 2 / 3),
    ("prod", (X,), {"axis": 2}, X.prod(axis=2)),
    ("max", (X,), {"axis": 0}, X.max(axis=0)),
    ("max", (A, 0.0), {}, np.maximum(A, 0)),
    ("min", (X,), {}, X.min()),
    ("norm", (A,), {"axis": 1}, np.linalg.norm(A, axis=1)),
    ("norm", (3.0, 4.0), {}, 5.0),
    ("logsumexp", (A,), {"axis": 0}, np.log(np.exp(A).sum(axis=0))),
    ("softmax", (A,), {}, POWERS),
    ("log_softmax", (A,), {"axis": -1}, np.log(POWERS)),
    ("cross_entropy", (P, Y), {}, -(Y * np.log(P)).sum(axis=-1)),
    ("softmax_cross_entropy", (P, Y), {}, np.log(np.exp(P).sum(axis=-1)) - (Y * P).sum(axis=-1)),
    ("reshape", (X, (4, -1)), {}, X.reshape(4, -1)),
    ("reshape", (X,), {"shape": 24}, X.reshape(24)),
    ("concat", ([A, A[:1]],), {}, np.concatenate([A, A[:1]])),
    ("concat", ((A, A),), {"axis": -1}, np.concatenate([A, A], axis=-1)),
    ("stack", ([A, A],), {"axis": 1}, np.stack([A, A], axis=1)),
    ("take", (A, [0, 2, 0]), {"axis": 1}, A.take([0, 2, 0], axis=1)),
    ("take", (A, np.array([1])), {}, A.take([1], axis=0)),
    ("scatter", (A[0], [1, 0, 1, 3], 5), {}, np.array([A[0, 1], A[0, 0] + A[0, 2], 0, A[0, 3], 0])),
    ("winner", (A,), {"axis": 0}, np.where(A.max(axis=0) == A, 1.0, 0.0)),
    ("pad", (A, ((1, 0), (0, 2))), {}, np.pad(A, ((1, 0), (0, 2)))),
    ("pad", (A, (1, 2)), {}, np.pad(A, (1, 2))),
    ("onehot", (1, 3), {}, np.array([0, 1, 0])),
    ("onehot", ([2, 0], 3), {}, np.array([[0, 0, 1], [1, 0, 0]])),
    ("zeros", ((2, 3),), {}, np.zeros((2, 3))),
    ("ones", (3,), {}, np.ones(3)),
    ("eye", (3,), {}, np.eye(3)),
    ("full", ((2, 3), 1.5), {}, np.full((2, 3), 1.5)),
    ("broadcast_to", (A[0], (2, 4)), {}, np.broadcast_to(A[0], (2, 4))),
    ("conv1d", (A[0], np.array([1.0, 2, 3])), {}, np.correlate(A[0], [1.0, 2, 3], "valid")),
    (
        "conv1d",
        (A[0], np.array([1.0, 2, 3])),
        {"flip": True, "padding": 2},
        np.convolve(A[0], [1.0, 2, 3]),
    ),
    ("conv2d", (A, np.ones((3, 4))), {}, np.array([[A.sum()]])),
    ("conv1d_transpose", (A[0], np.array([1.0, 2, 3])), {}, np.convolve(A[0], [1.0, 2, 3])),
    ("conv2d_transpose", (np.ones((1, 1)), A), {}, A),
    ("maxpool", (A, (3, 2)), {}, A.reshape(3, 2, 2).max(axis=(0, 2))[None]),
    ("avgpool", (A[0], 2), {}, A[0].reshape(2, 2).mean(axis=1)),
]
