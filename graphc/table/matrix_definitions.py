"""Functions of square matrices that array libraries, JavaScript or C lack, as text.

{np} stands for the array library, {name} for the function's name in the module.
"""

from __future__ import annotations

LOGDET = '''\
def {name}(x):
    """The logarithm of a positive determinant."""
    sign, value = {np}.linalg.slogdet(x)
    return {np}.where(sign > 0, value, {np}.nan)[()]
'''
ADJUGATE_ARRAY = '''\
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
ADJUGATE_CHANGE_ARRAY = '''\
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


# As loops: square matrices of n rows, flat. A singular matrix has no inverse but NaN.

# Elimination with the largest pivot, in place; what stands to the right is carried along. The sign
# of the exchange of rows.
ELIMINATED = """\
{function}eliminated({reals}rows, {reals}right, {count}n, {count}width)
{
    {real}sign = 1;
    for ({whole}k = 0; k < n; k++) {
        {whole}best = k;
        for ({whole}i = k + 1; i < n; i++)
            if ({abs}(rows[i * n + k]) > {abs}(rows[best * n + k]))
                best = i;
        if (best != k) {
            for ({whole}j = 0; j < n; j++) {
                {real}held = rows[k * n + j];
                rows[k * n + j] = rows[best * n + j];
                rows[best * n + j] = held;
            }
            for ({whole}j = 0; j < width; j++) {
                {real}held = right[k * width + j];
                right[k * width + j] = right[best * width + j];
                right[best * width + j] = held;
            }
            sign = -sign;
        }
        {real}pivot = rows[k * n + k];
        for ({whole}i = k + 1; i < n; i++) {
            {real}ratio = pivot == 0 ? 0 : rows[i * n + k] / pivot;
            for ({whole}j = k + 1; j < n; j++)
                rows[i * n + j] -= ratio * rows[k * n + j];
            for ({whole}j = 0; j < width; j++)
                right[i * width + j] -= ratio * right[k * width + j];
        }
    }
    return sign;
}
"""
SOLVED = """\
{procedure}solved({given}matrix, {count}n, {count}width, {reals}rows, {reals}found)
{
    {whole}singular = 0;
    for ({whole}i = 0; i < n * n; i++)
        rows[i] = matrix[i];
    eliminated(rows, found, n, width);
    for ({whole}i = 0; i < n; i++)
        if (rows[i * n + i] == 0)
            singular = 1;
    for ({whole}c = 0; c < width; c++)
        for ({whole}i = n - 1; i >= 0; i--) {
            {real}sum = found[i * width + c];
            for ({whole}j = i + 1; j < n; j++)
                sum -= rows[i * n + j] * found[j * width + c];
            found[i * width + c] = singular ? {nan} : sum / rows[i * n + i];
        }
}
"""
SOLVE = """\
{procedure}solve({given}matrix, {given}right, {count}n, {count}width, {reals}rows, {reals}found)
{
    for ({whole}i = 0; i < n * width; i++)
        found[i] = right[i];
    solved(matrix, n, width, rows, found);
}
"""
INVERSE = """\
{procedure}inverse({given}matrix, {count}n, {reals}rows, {reals}found)
{
    for ({whole}i = 0; i < n * n; i++)
        found[i] = i % (n + 1) == 0 ? 1 : 0;
    solved(matrix, n, n, rows, found);
}
"""
DETERMINANT = """\
{function}determinant({given}matrix, {count}n, {reals}rows)
{
    for ({whole}i = 0; i < n * n; i++)
        rows[i] = matrix[i];
    {real}product = eliminated(rows, rows, n, 0);
    for ({whole}i = 0; i < n; i++)
        product *= rows[i * n + i];
    return product;
}
"""
LOG_DETERMINANT = """\
{function}log_determinant({given}matrix, {count}n, {reals}rows)
{
    {real}sum = 0;
    for ({whole}i = 0; i < n * n; i++)
        rows[i] = matrix[i];
    {real}sign = eliminated(rows, rows, n, 0);
    for ({whole}i = 0; i < n; i++) {
        {real}pivot = rows[i * n + i];
        sum += {log}({abs}(pivot));
        sign *= pivot > 0 ? 1 : pivot < 0 ? -1 : 0;
    }
    return sign > 0 ? sum : {nan};
}
"""
MINOR = """\
{procedure}minor({given}matrix, {count}start, {count}n, {count}row, {count}column, {reals}found)
{
    {whole}place = 0;
    for ({whole}i = 0; i < n; i++)
        for ({whole}j = 0; j < n; j++)
            if (i != row && j != column)
                found[place++] = matrix[start + i * n + j];
}
"""
IS_FINITE = """\
{function}is_finite({given}matrix, {count}n)
{
    for ({whole}i = 0; i < n * n; i++)
        if (matrix[i] - matrix[i] != 0)
            return 0;
    return 1;
}
"""
ADJUGATE = """\
{procedure}adjugate({given}matrix, {count}n, {reals}part, {reals}rows, {reals}found)
{
    {real}finite = is_finite(matrix, n);
    for ({whole}i = 0; i < n; i++)
        for ({whole}j = 0; j < n; j++) {
            {real}sign = (i + j) % 2 == 0 ? 1 : -1;
            minor(matrix, 0, n, j, i, part);
            found[i * n + j] = finite > 0 ? sign * determinant(part, n - 1, rows) : {nan};
        }
}
"""
ADJUGATE_CHANGE = """\
{procedure}adjugate_change({given}matrix, {given}along, {count}n, {count}many, {reals}part,
    {reals}slopes, {reals}change, {reals}inner, {reals}rows, {reals}found)
{
    {whole}m = n - 1;
    {real}finite = is_finite(matrix, n);
    for ({whole}place = 0; place < many * n * n; place++) {
        {whole}j = place % n;
        {whole}start = place - place % (n * n);
        {whole}i = (place - start - j) / n;
        {real}sum = 0;
        minor(matrix, 0, n, j, i, part);
        adjugate(part, m, inner, rows, slopes);
        minor(along, start, n, j, i, change);
        for ({whole}k = 0; k < m; k++)
            for ({whole}l = 0; l < m; l++)
                sum += slopes[k * m + l] * change[l * m + k];
        found[place] = finite > 0 ? ((i + j) % 2 == 0 ? sum : -sum) : {nan};
    }
}
"""
NUMPY = {"logdet": LOGDET, "adjugate": ADJUGATE_ARRAY, "adjugate_change": ADJUGATE_CHANGE_ARRAY}
_ELIMINATED = {"eliminated": ELIMINATED}
_SOLVED = {**_ELIMINATED, "solved": SOLVED}
_DETERMINANT = {**_ELIMINATED, "determinant": DETERMINANT}
_MINORS = {**_DETERMINANT, "minor": MINOR, "is_finite": IS_FINITE}
_ADJUGATE = {**_MINORS, "adjugate": ADJUGATE}
LOOPS = {
    "inv": {**_SOLVED, "inverse": INVERSE},
    "det": _DETERMINANT,
    "logdet": {**_ELIMINATED, "log_determinant": LOG_DETERMINANT},
    "adjugate": _ADJUGATE,
    "adjugate_change": {**_ADJUGATE, "adjugate_change": ADJUGATE_CHANGE},
    "solve": {**_SOLVED, "solve": SOLVE},
}
