"""Functions of square matrices that array libraries or JavaScript lack, as text.

{np} stands for the array library, {name} for the function's name in the module.
"""

from __future__ import annotations

LOGDET = '''\
def {name}(x):
    """The logarithm of a positive determinant."""
    sign, value = {np}.linalg.slogdet(x)
    return {np}.where(sign > 0, value, {np}.nan)[()]
'''
ADJUGATE = '''\
def {name}(x):
    """The adjugate, by singular values: each product leaves one of them out."""
    if not {np}.all({np}.isfinite(x)):
        return {np}.full(x.shape, {np}.nan, dtype=x.dtype)
    left, sizes, right = {np}.linalg.svd(x)
    once = {np}.eye(x.shape[0]) > 0
    products = {np}.prod({np}.where(once, 1, sizes), axis=1)
    sign = {np}.sign({np}.linalg.det(left) * {np}.linalg.det(right))
    return sign * (right.T * products) @ left.T
'''
ADJUGATE_CHANGE = '''\
def {name}(x, v):
    """The change of the adjugate of x along v: each product leaves two singular values out."""
    if not {np}.all({np}.isfinite(x)):
        return {np}.full(v.shape, {np}.nan, dtype=x.dtype)
    left, sizes, right = {np}.linalg.svd(x)
    once = {np}.eye(x.shape[0]) > 0
    others = {np}.prod({np}.where(once[:, None] | once[None], 1, sizes), axis=2)
    products = {np}.where(once, 0, others)
    inner = left.T @ v @ right.T
    diagonal = {np}.einsum("...jj,ij->...i", inner, products)
    turned = diagonal[..., None] * once - products * inner
    sign = {np}.sign({np}.linalg.det(left) * {np}.linalg.det(right))
    return sign * (right.T @ turned @ left.T)
'''


# JavaScript.

# The factors of a matrix with its rows exchanged: {rows, order, sign}.
JS_FACTORS = """\
function factors(matrix, n) {
  const rows = Float64Array.from(matrix), order = [];
  let sign = 1;
  for (let i = 0; i < n; i++) order.push(i);
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++)
      if (Math.abs(rows[i * n + k]) > Math.abs(rows[best * n + k])) best = i;
    if (best !== k) {
      for (let j = 0; j < n; j++)
        [rows[k * n + j], rows[best * n + j]] = [rows[best * n + j], rows[k * n + j]];
      [order[k], order[best]] = [order[best], order[k]];
      sign = -sign;
    }
    for (let i = k + 1; i < n; i++) {
      const pivot = rows[k * n + k];
      const ratio = (rows[i * n + k] = pivot === 0 ? 0 : rows[i * n + k] / pivot);
      for (let j = k + 1; j < n; j++) rows[i * n + j] -= ratio * rows[k * n + j];
    }
  }
  return { rows, order, sign };
}
"""
JS_SOLVE = """\
function solve(matrix, right, n) {
  const { rows, order } = factors(matrix, n), width = right.length / n;
  const found = new Float64Array(right.length);
  for (let c = 0; c < width; c++) {
    for (let i = 0; i < n; i++) {
      let sum = right[order[i] * width + c];
      for (let j = 0; j < i; j++) sum -= rows[i * n + j] * found[j * width + c];
      found[i * width + c] = sum;
    }
    for (let i = n - 1; i >= 0; i--) {
      let sum = found[i * width + c];
      for (let j = i + 1; j < n; j++) sum -= rows[i * n + j] * found[j * width + c];
      found[i * width + c] = sum / rows[i * n + i];
    }
  }
  return found;
}
"""
JS_INVERSE = """\
function inverse(matrix, n) {
  const one = new Float64Array(n * n);
  for (let i = 0; i < n; i++) one[i * n + i] = 1;
  return solve(matrix, one, n);
}
"""
JS_DETERMINANT = """\
function determinant(matrix, n) {
  const { rows, sign } = factors(matrix, n);
  let product = sign;
  for (let i = 0; i < n; i++) product *= rows[i * n + i];
  return product;
}
"""
JS_LOGDET = """\
function logdet(matrix, n) {
  const { rows, sign } = factors(matrix, n);
  let sum = 0, positive = sign > 0;
  for (let i = 0; i < n; i++) {
    sum += Math.log(Math.abs(rows[i * n + i]));
    if (rows[i * n + i] < 0) positive = !positive;
  }
  return positive ? sum : NaN;
}
"""
JS_ADJUGATE = """\
function minor(matrix, n, row, column) {
  const found = [];
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) if (i !== row && j !== column) found.push(matrix[i * n + j]);
  return found;
}
function adjugate(matrix, n) {
  const found = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++)
      found[i * n + j] = (-1) ** (i + j) * determinant(minor(matrix, n, j, i), n - 1);
  return found;
}
"""
JS_ADJUGATE_CHANGE = """\
function adjugateChange(matrix, change, n) {
  const found = new Float64Array(change.length), m = n - 1;
  for (let start = 0; start < change.length; start += n * n) {
    const along = change.slice(start, start + n * n);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const slopes = adjugate(minor(matrix, n, j, i), m), v = minor(along, n, j, i);
        let sum = 0;
        for (let k = 0; k < m; k++)
          for (let l = 0; l < m; l++) sum += slopes[k * m + l] * v[l * m + k];
        found[start + i * n + j] = (-1) ** (i + j) * sum;
      }
  }
  return found;
}
"""
NUMPY = {"logdet": LOGDET, "adjugate": ADJUGATE, "adjugate_change": ADJUGATE_CHANGE}
_SOLVE = {"factors": JS_FACTORS, "solve": JS_SOLVE}
_DETERMINANT = {"factors": JS_FACTORS, "determinant": JS_DETERMINANT}
_ADJUGATE = {**_DETERMINANT, "adjugate": JS_ADJUGATE}
JAVASCRIPT = {
    "inv": {**_SOLVE, "inverse": JS_INVERSE},
    "det": _DETERMINANT,
    "logdet": {"factors": JS_FACTORS, "logdet": JS_LOGDET},
    "adjugate": _ADJUGATE,
    "adjugate_change": {**_ADJUGATE, "adjugateChange": JS_ADJUGATE_CHANGE},
    "solve": _SOLVE,
}
