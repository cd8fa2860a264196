"""Matrix-calculus identities as data: what is derived, and the text that graphc prints for it.

The tests derive each one, compare the text, and check it in 50-digit arithmetic; the page
The page of identities is made from the same table. The Hessians are derivatives of derivatives.
"""

# ruff: noqa: E501
from __future__ import annotations

from typing import NamedTuple


class Identity(NamedTuple):
    """d f / d wrt (or the Hessian) of a graph, as NumPy text."""

    group: str
    title: str
    inputs: str
    formula: str
    wrt: str
    expected: str

    @property
    def text(self) -> str:
        """The graph in the text form."""
        return f"input {self.inputs}\nf = {self.formula}"


# title | inputs | f | by | derivative
TABLE = r"""
Traces
    tr A                                   | A[3,3]                   | trace(A)                          | A | eye(3)
    tr A + 1 (SymPy: wrong)                | A[3,3]                   | trace(A) + 1                      | A | eye(3)
    tr(A B)                                | A[3,2] B[2,3]            | trace(A @ B)                      | A | B.T
    tr(A^T B)                              | A[3,2] B[3,2]            | trace(A.T @ B)                    | A | B
    tr(B A B^T) by B                       | A[3,3] B[2,3]            | trace(B @ A @ B.T)                | B | B @ A + B @ A.T
    tr(B A B^T) by A                       | A[3,3] B[2,3]            | trace(B @ A @ B.T)                | A | B.T @ B
    tr(A^2)                                | A[3,3]                   | trace(A @ A)                      | A | 2*A.T
    tr(A^3)                                | A[3,3]                   | trace(A @ A @ A)                  | A | 3*A.T @ A.T
    tr(A X B)                              | A[2,3] X[3,3] B[3,2]     | trace(A @ X @ B)                  | X | A.T @ B.T
    tr(A X^T B)                            | A[2,3] X[4,3] B[4,2]     | trace(A @ X.T @ B)                | X | B @ A
    tr(A X B X^T)                          | A[3,3] X[3,2] B[2,2]     | trace(A @ X @ B @ X.T)            | X | A @ X @ B + A.T @ X @ B.T
    squared Frobenius norm as a trace      | A[3,2]                   | trace(A.T @ A)                    | A | 2*A

Linear and quadratic forms
    linear form                            | a[3] x[3]                | a @ x                             | x | a
    quadratic form                         | A[3,3] x[3]              | x @ A @ x                         | x | x @ A + A @ x
    quadratic form by its matrix           | A[3,3] x[3]              | x @ A @ x                         | A | outer(x, x)
    centred quadratic form                 | W[3,3] x[3] s[3]         | (x - s) @ W @ (x - s)             | x | (x - s) @ W + W @ (x - s)
    bilinear form by the left vector       | A[3,2] x[3] y[2]         | x @ A @ y                         | x | A @ y
    least squares                          | A[3,2] x[2] b[3]         | sum((A @ x - b)**2)               | x | 2*A.T @ (A @ x - b)
    least squares by the matrix            | A[3,2] x[2] b[3]         | sum((A @ x - b)**2)               | A | 2*outer(A @ x - b, x)
    least squares by the target            | A[3,2] x[2] b[3]         | sum((A @ x - b)**2)               | b | -2*(A @ x - b)
    ridge regression                       | A[3,2] x[2] b[3] l       | sum((A @ x - b)**2) + l*sum(x**2) | x | 2*l*x + 2*A.T @ (A @ x - b)
    mean squared error of a batch          | X[n,3] w[3] y[n]         | mean((X @ w - y)**2)              | w | 2*X.T @ (X @ w - y)/n
    Rayleigh quotient                      | A[3,3] x[3]              | x @ A @ x/(x @ x)                 | x | x @ A/(x @ x) - 2*f/(x @ x)*x + A @ x/(x @ x)
    log of a quadratic form                | A[3,3] x[3]              | log(x @ A @ x)                    | x | x @ A/(x @ A @ x) + A @ x/(x @ A @ x)
    two images of one matrix               | X[3,2] a[2] b[2]         | (X @ a) @ (X @ b)                 | X | outer(X @ a, b) + outer(X @ b, a)

Determinants
    det A                                  | A[3,3]                   | det(A)                            | A | f*inv(A).T
    log det A                              | A[3,3]                   | logdet(A)                         | A | inv(A).T
    log(det A) (SymPy: wrong)              | A[3,3]                   | log(det(A))                       | A | inv(A).T
    det(A B) by A                          | A[3,3] B[3,3]            | det(A @ B)                        | A | f*inv(A @ B).T @ B.T
    det(X^T X)                             | X[3,2]                   | det(X.T @ X)                      | X | f*X @ inv(X.T @ X).T + f*X @ inv(X.T @ X)
    log det(X^T X)                         | X[3,2]                   | logdet(X.T @ X)                   | X | X @ inv(X.T @ X).T + X @ inv(X.T @ X)

Inverses
    a^T A^-1 b                             | A[3,3] a[3] b[3]         | a @ inv(A) @ b                    | A | -inv(A).T @ outer(a, b) @ inv(A).T
    tr(A^-1 B)                             | A[3,3] B[3,3]            | trace(inv(A) @ B)                 | A | -inv(A).T @ B.T @ inv(A).T
    tr(A^-1)                               | A[3,3]                   | trace(inv(A))                     | A | -inv(A).T @ inv(A).T
    solve by the matrix                    | A[3,3] b[3] c[3]         | c @ solve(A, b)                   | A | -outer(solve(A.T, c), solve(A, b))
    solve by the right-hand side           | A[3,3] b[3] c[3]         | c @ solve(A, b)                   | b | solve(A.T, c)
    Gaussian log density by the matrix     | A[3,3] x[3]              | (x @ inv(A) @ x + logdet(A))/2    | A | 0.5*inv(A).T - 0.5*inv(A).T @ outer(x, x) @ inv(A).T

Norms
    2-norm                                 | x[3]                     | norm(x)                           | x | x/f
    squared 2-norm                         | x[3]                     | norm(x)**2                        | x | 2*x
    distance                               | x[3] a[3]                | norm(x - a)                       | x | (x - a)/f
    Frobenius norm                         | A[3,2]                   | norm(A)                           | A | A/f
    inverse distance                       | x[3]                     | 1/norm(x)                         | x | -f/norm(x)*(x/norm(x))
    Gaussian kernel                        | x[3] a[3]                | exp(-norm(x - a)**2)              | x | -2*f*(x - a)
    cosine similarity                      | x[3] y[3]                | x @ y/(norm(x)*norm(y))           | x | y/(norm(x)*norm(y)) - f/(norm(x)*norm(y))*norm(y)*(x/norm(x))
    residual norm                          | A[3,2] x[2] b[3]         | norm(A @ x - b)                   | x | A.T @ ((A @ x - b)/f)

Softmax
    logsumexp                              | x[3]                     | logsumexp(x)                      | x | softmax(x)
    softmax, weighted                      | x[3] y[3]                | y @ softmax(x)                    | x | softmax(x)*(y - softmax(x) @ y)
    log_softmax, weighted                  | x[3] y[3]                | y @ log_softmax(x)                | x | y - sum(y)*softmax(x)
    softmax cross-entropy                  | x[3] y[3]                | softmax_cross_entropy(x, y)       | x | sum(y)*softmax(x) - y
    softmax cross-entropy of a batch       | Z[n,3] Y[n,3]            | mean(softmax_cross_entropy(Z, Y)) | Z | diag(sum(Y, axis=1)) @ softmax(Z)/n - Y/n
    cross-entropy of probabilities         | p[3] y[3]                | cross_entropy(p, y)               | p | -y/p
    softmax regression                     | W[3,2] x[2] y[3]         | softmax_cross_entropy(W @ x, y)   | W | outer(sum(y)*softmax(W @ x) - y, x)

Outer products
    a^T X b                                | X[3,2] a[3] b[2]         | a @ X @ b                         | X | outer(a, b)
    a^T X^T b                              | X[3,2] a[2] b[3]         | a @ X.T @ b                       | X | outer(b, a)
    outer product with itself, weighted    | A[3,3] x[3]              | sum(A*outer(x, x))                | x | A @ x + A.T @ x
    outer product, weighted                | A[3,2] x[3] y[2]         | sum(A*outer(x, y))                | x | A @ y
    three vectors against a tensor         | T[2,3,2] x[2] y[3] z[2]  | einsum("ijk,i,j,k->", T, x, y, z) | y | einsum("abc,a,c->b", T, x, z)
    bilinear einsum                        | A[3,2] x[3] y[2]         | einsum("ij,i,j->", A, x, y)       | A | outer(x, y)
    Kronecker product, contracted          | A[2,2] B[2,2] C[2,2,2,2] | einsum("ij,kl,ikjl->", A, B, C)   | A | einsum("ab,cadb->cd", B, C)

Element-wise chains
    sigmoid layer by the input             | W[2,3] x[3]              | sum(sigmoid(W @ x))               | x | W.T @ (sigmoid(W @ x)*(1 - sigmoid(W @ x)))
    sigmoid layer by the weights           | W[2,3] x[3]              | sum(sigmoid(W @ x))               | W | outer(sigmoid(W @ x)*(1 - sigmoid(W @ x)), x)
    exponential of each element            | A[2,3]                   | sum(exp(A))                       | A | exp(A)
    relu layer by the weights              | W[2,3] x[3] b[2]         | sum(relu(W @ x + b))              | W | outer(W @ x + b > 0, x)
    relu layer by the input                | W[2,3] x[3] b[2]         | sum(relu(W @ x + b))              | x | W.T @ (W @ x + b > 0)
    relu layer by the bias                 | W[2,3] x[3] b[2]         | sum(relu(W @ x + b))              | b | W @ x + b > 0
    inner product                          | x[3] y[3]                | sum(x*y)                          | x | y
    Hadamard product of matrices           | A[2,3] B[2,3]            | sum(A*B)                          | A | B
    quotients                              | x[3] y[3]                | sum(x/y)                          | y | -x/y/y
    product of all elements                | x[3]                     | prod(x)                           | x | x[0]*x[1]*eye(3)[2] + x[2]*x[0]*eye(3)[1] + x[2]*x[1]*eye(3)[0]
    two layers                             | V[2] W[2,3] x[3]         | V @ tanh(W @ x)                   | W | outer(V*(1 - tanh(W @ x)**2), x)
    powers                                 | x[3] a[3]                | a @ x**3                          | x | 3*a*x**2
    negative entropy                       | p[3]                     | sum(p*log(p))                     | p | log(p) + p/p
    where                                  | x[3] y[3]                | sum(where(x > y, x**2, y))        | x | 2*x*(x > y)

Reductions
    sum                                    | A[2,3]                   | sum(A)                            | A | ones((2, 3))
    mean                                   | A[2,3]                   | mean(A)                           | A | full((2, 3), 1/6)
    sums of columns                        | A[2,3]                   | sum(sum(A, axis=0)**2)            | A | 2*broadcast_to(sum(A, axis=0), (2, 3))
    sums of rows                           | A[2,3]                   | sum(sum(A, axis=1)**2)            | A | 2*broadcast_to(sum(A, axis=1)[:, None], (2, 3))
    rows, weighted                         | A[2,3] u[2]              | u @ sum(A, axis=1)                | A | broadcast_to(u[:, None], (2, 3))
    bias of a batch                        | X[n,3] b[3]              | sum((X + b)**2)                   | b | 2*sum(X + b, axis=0)
    largest element                        | x[3]                     | max(x)                            | x | eye(3)[argmax(x)]
    variance                               | x[3]                     | var(x)                            | x | 2/3*(x - mean(x, keepdims=True)) - 2/9*sum(x - mean(x, keepdims=True))

Shapes and selections
    transpose, weighted                    | A[2,3] B[3,2]            | sum(A.T*B)                        | A | B.T
    diagonal, weighted                     | A[3,3] x[3]              | x @ diag(A)                       | A | diag(x)
    diagonal matrix                        | A[3,3] x[3]              | trace(diag(x) @ A)                | x | diag(A)
    diagonal scaling                       | A[3,3] x[3] u[3]         | u @ diag(x) @ A @ u               | x | u*(A @ u)
    one element of a matrix (SymPy: wrong) | M[3,3]                   | M[0,0]                            | M | outer(eye(3)[0], eye(3)[0])
    one element of a vector                | x[3]                     | x[1]**2                           | x | 2*x[1]*eye(3)[1]
    slice                                  | x[4]                     | sum(x[1:3]**2)                    | x | 2*pad(x[1:3], ((1, 1),))
    row of a matrix                        | A[3,2] u[2]              | A[1] @ u                          | A | outer(eye(3)[1], u)
    reshape                                | x[4] A[2,2]              | sum(A*reshape(x, (2, 2)))         | x | reshape(A, (4,))
    concatenation                          | x[2] y[2] a[4]           | a @ concat([x, y])**2             | x | 2*(a*concat([x, y]))[:2]

Jacobians
    linear map                             | A[3,2] x[2]              | A @ x                             | x | A
    affine map by the bias                 | A[3,2] x[2] b[3]         | A @ x + b                         | b | eye(3)
    relu layer                             | W[3,2] x[2]              | relu(W @ x)                       | x | diag(W @ x > 0) @ W
    sigmoid layer                          | W[3,2] x[2]              | sigmoid(W @ x)                    | x | diag(f*(1 - f)) @ W
    element-wise exponential               | x[3]                     | exp(x)                            | x | diag(f)
    element-wise product                   | x[3] y[3]                | x*y                               | x | diag(y)
    softmax                                | x[3]                     | softmax(x)                        | x | diag(f) - outer(f, f)
    log_softmax                            | x[3]                     | log_softmax(x)                    | x | eye(3) - softmax(x)
    projection on a vector                 | a[3] x[3]                | (a @ x)*x                         | x | (a @ x)*eye(3) + outer(x, a)
    unit vector                            | x[3]                     | x/norm(x)                         | x | eye(3)/norm(x) - outer(f, x/norm(x))/norm(x)
    solve                                  | A[3,3] b[3]              | solve(A, b)                       | b | inv(A)
    solve by the matrix                    | A[2,2] b[2]              | solve(A, b)                       | A | -einsum("ab,c->abc", inv(A), f)
    matrix product                         | A[2,3] B[3,2]            | A @ B                             | A | einsum("ab,cd->cbda", B, eye(2))
    inverse                                | A[2,2]                   | inv(A)                            | A | -einsum("ab,cd->adbc", f, f)
    transpose                              | A[2,3]                   | A.T                               | A | einsum("bc,ad->abcd", eye(2), eye(3))
    outer product                          | x[2] y[3]                | outer(x, y)                       | x | einsum("a,bc->bac", y, eye(2))
    A x by A                               | A[2,3] x[3]              | A @ x                             | A | einsum("a,bc->bca", x, eye(2))
    quadratic in the matrix                | A[2,2]                   | A @ A                             | A | einsum("ab,cd->cbda", A, eye(2)) + einsum("ab,cd->acbd", A, eye(2))

Hessians
    quadratic form                         | A[3,3] x[3]              | x @ A @ x                         | x | A + A.T
    least squares                          | A[3,2] x[2] b[3]         | sum((A @ x - b)**2)               | x | 2*A.T @ A
    ridge regression                       | A[3,2] x[2] b[3] l       | sum((A @ x - b)**2) + l*sum(x**2) | x | 2*l*eye(2) + 2*A.T @ A
    centred quadratic form                 | W[3,3] x[3] s[3]         | (x - s) @ W @ (x - s)             | x | W + W.T
    powers                                 | x[3] a[3]                | a @ x**3                          | x | 6*diag(a*x)
    exponentials of a linear map           | A[3,2] x[2]              | sum(exp(A @ x))                   | x | A.T @ diag(exp(A @ x)) @ A
    logistic loss                          | A[3,2] x[2]              | sum(softplus(A @ x))              | x | A.T @ diag(sigmoid(A @ x)*(1 - sigmoid(A @ x))) @ A
"""


def _read(table: str) -> list[Identity]:
    group, found = "", []
    for line in table.splitlines():
        if "|" in line:
            found.append(Identity(group, *(part.strip() for part in line.split(" | "))))
        elif line:
            group = line
    return found


IDENTITIES = _read(TABLE)
