"""Functions that JavaScript has not: the error function, and matrices by elimination."""

from __future__ import annotations

from collections.abc import Iterable

from ...definitions import ERF_ABOVE, ERF_BELOW

ERF = f"""\
const ERF_BELOW = [{", ".join(map(repr, ERF_BELOW))}];
const ERF_ABOVE = [{", ".join(map(repr, ERF_ABOVE))}];
function erf(x) {{
  const size = Math.abs(x);
  if (size < 1) return x * ERF_BELOW.reduce((sum, c) => sum * size * size + c, 0);
  const far = Math.min(size, 6), at = 2 / (2 + far);
  return Math.sign(x) * (1 - Math.exp(-far * far) * ERF_ABOVE.reduce((sum, c) => sum * at + c, 0));
}}
"""
POWER = """\
function power(x, y) {
  return x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y);
}
"""
MAXIMUM = """\
function maximum(a, b) {
  return a > b || a !== a ? a : b;
}
"""
MINIMUM = """\
function minimum(a, b) {
  return a < b || a !== a ? a : b;
}
"""
# The factors of a matrix with its rows exchanged: {rows, order, sign}.
FACTORS = """\
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
SOLVE = """\
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
INVERSE = """\
function inverse(matrix, n) {
  const one = new Float64Array(n * n);
  for (let i = 0; i < n; i++) one[i * n + i] = 1;
  return solve(matrix, one, n);
}
"""
DETERMINANT = """\
function determinant(matrix, n) {
  const { rows, sign } = factors(matrix, n);
  let product = sign;
  for (let i = 0; i < n; i++) product *= rows[i * n + i];
  return product;
}
"""
LOGDET = """\
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
ADJUGATE = """\
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
ADJUGATE_CHANGE = """\
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
WRITTEN = {
    "erf": (ERF,),
    "power": (POWER,),
    "maximum": (MAXIMUM,),
    "minimum": (MINIMUM,),
    "solve": (FACTORS, SOLVE),
    "inverse": (FACTORS, SOLVE, INVERSE),
    "determinant": (FACTORS, DETERMINANT),
    "logdet": (FACTORS, LOGDET),
    "adjugate": (FACTORS, DETERMINANT, ADJUGATE),
    "adjugateChange": (FACTORS, DETERMINANT, ADJUGATE, ADJUGATE_CHANGE),
}


def definitions(functions: Iterable[str]) -> list[str]:
    """The functions that a text calls, each once, after those that it needs itself."""
    return list(dict.fromkeys(text for name in sorted(functions) for text in WRITTEN[name]))
