"""Functions that an emitted module defines for itself, because the array library has none.

A composed function is its record's stable formula, printed like everything else. The few others
are written here, with {np} for the namespace and {dtype} for the dtype.
"""

from __future__ import annotations

from ..algebra.rules import formula
from ..table.functions import FUNCTIONS
from .array_text import ArrayText
from .naming import Naming
from .program import Program
from .rewrites import FOLD, UNITS
from .statements import statements

# erf(x) = x * P(x**2) below 1; 1 - exp(-x**2) * Q(2 / (2 + x)) above: highest power first
ERF_BELOW = (
    *(-9.063970842808673e-17, 1.6342614095367152e-15, -2.7835162072109215e-14),
    *(4.4632242632864775e-13, -6.7113668551641105e-12, 9.422759064650411e-11),
    *(-1.2290555301717928e-09, 1.4807192815879218e-08, -1.6365844691234924e-07),
    *(1.6462114365889248e-06, -1.492565035840625e-05, 0.00012055332981789664),
    *(-0.0008548327023450853, 0.005223977625442188, -0.026866170645131252),
    *(0.11283791670955126, -0.37612638903183754, 1.1283791670955126),
)
ERF_ABOVE = (
    *(0.007301134995856917, 0.013174502501744024, -0.29910874031127394, 1.171209502392138),
    *(-2.3603463108671057, 2.868911487616877, -2.216111295830811, 1.2007988921739574),
    *(-0.5883804984529776, 0.16640235642296913, 0.042165810841716535, 0.1838751661873122),
    *(0.24583414322512834, 0.28218525546082207, 0.2820897599291754, 1.2965841302986556e-07),
)


def _listed(name: str, numbers: tuple[float, ...], per_line: int) -> str:
    """A tuple of numbers as code, some on a line."""
    lines = [
        f"    *({', '.join(map(repr, numbers[start : start + per_line]))}),"
        for start in range(0, len(numbers), per_line)
    ]
    return "\n".join([f"{name} = (", *lines, ")", ""])


ERF = (
    f"""\
# erf(x) = x * P(x**2) below 1; 1 - exp(-x**2) * Q(2 / (2 + x)) above, to within 2 ulp
{_listed("ERF_BELOW", ERF_BELOW, 3)}{_listed("ERF_ABOVE", ERF_ABOVE, 4)}"""
    + '''

def {name}(x):
    """The error function."""
    size = {np}.abs(x)
    square = {np}.minimum(size, 1) ** 2
    below = {np}.zeros_like(square)
    for coefficient in ERF_BELOW:
        below = below * square + coefficient
    far = {np}.clip(size, 1, 6)
    place = 2 / (2 + far)
    above = {np}.zeros_like(place)
    for coefficient in ERF_ABOVE:
        above = above * place + coefficient
    tail = {np}.sign(x) * (1 - {np}.exp(-far * far) * above)
    return {np}.where(size < 1, x * below, tail)
'''
)
RATIO = '''\
def {name}(a, b):
    """a / b, and 0 where b is 0."""
    return {np}.where(b == 0, 0, a / {np}.where(b == 0, 1, b))
'''
PRODUCT = '''\
def {name}(a, b):
    """a * b, and 0 where a is 0."""
    return {np}.where(a == 0, 0, a * b)
'''
LOGSUMEXP = '''\
def {name}(x, axes):
    """log(sum(exp(x))) over the axes, without overflow."""
    top = {np}.max(x, axis=axes, keepdims=True)
    total = {np}.sum({np}.exp(x - top), axis=axes, keepdims=True)
    return {np}.squeeze({np}.log(total) + top, axis=axes)[()]
'''
SOFTMAX = '''\
def {name}(x, axes):
    """exp(x) / sum(exp(x)) over the axes, without overflow."""
    powers = {np}.exp(x - {np}.max(x, axis=axes, keepdims=True))
    return powers / {np}.sum(powers, axis=axes, keepdims=True)
'''
NORM = '''\
def {name}(x, axes):
    """The Euclidean norm over the axes; powers of two keep the squares from overflow."""
    if not x.size:
        return {np}.sum(x, axis=axes)
    exponent = {np}.frexp({np}.max({np}.abs(x), axis=axes, keepdims=True))[1]
    scaled = {np}.ldexp(x, -exponent)
    total = {np}.sum(scaled * scaled, axis=axes)
    return {np}.ldexp({np}.sqrt(total), {np}.squeeze(exponent, axis=axes))[()]
'''
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
WINNER = '''\
def {name}(x, axes, share=False):
    """1 at the first largest element over the axes (or equal shares), 0 elsewhere."""
    last = tuple(range(-len(axes), 0))
    moved = {np}.moveaxis(x, axes, last)
    flat = moved.reshape((*moved.shape[: x.ndim - len(axes)], -1))
    if share:
        ties = flat == {np}.max(flat, axis=-1, keepdims=True)
        chosen = ties / {np}.sum(ties, axis=-1, keepdims=True)
    else:
        chosen = {np}.argmax(flat, axis=-1)[..., None] == {np}.arange(flat.shape[-1])
    return {np}.moveaxis(chosen.astype(x.dtype).reshape(moved.shape), last, axes)
'''
GATHER = '''\
def {name}(x, index, axis):
    """The elements along an axis that an index array names; -1 gives 0."""
    border = list(x.shape)
    border[axis] = 1
    padded = {np}.concatenate([x, {np}.zeros(border, dtype=x.dtype)], axis=axis)
    return {np}.take(padded, {np}.where(index < 0, x.shape[axis], index), axis=axis)
'''
SCATTER = '''\
def {name}(x, index, size, axis):
    """Adds each element to the place that an index array names along an axis of the result."""
    lead = x.ndim - index.ndim + axis + 1
    moved = {np}.moveaxis(x, range(lead, lead + index.ndim), range(index.ndim))
    flat = moved.reshape((index.size, *moved.shape[index.ndim :]))
    places = index.ravel()
    result = {np}.zeros((size, *flat.shape[1:]), dtype=x.dtype)
    {np}.add.at(result, places[places >= 0], flat[places >= 0])
    return {np}.moveaxis(result, 0, lead)
'''
PUT = '''\
def {name}(x, shape, place):
    """Zeros of this shape, with x at a place."""
    result = {np}.zeros(shape, dtype={np}.{dtype})  # x may be a plain number
    result[place] = x
    return result
'''
DIAGONAL = '''\
def {name}(x, spec):
    """x at the places where letters that stand twice agree, 0 elsewhere."""
    letters, out = spec.split("->")
    places = [letters.index(letter) for letter in out]
    result = {np}.zeros([x.shape[place] for place in places], dtype=x.dtype)
    grid = {np}.indices(x.shape)
    result[tuple([grid[place] for place in places])] = x
    return result
'''
CHECKED = '''\
def {name}(label, value, shape):
    """The value as an array of this shape, in which None stands for any size."""
    if type(value) is {np}.ndarray and value.shape == shape and value.dtype == {np}.{dtype}:
        return value
    array = {np}.asarray(value, dtype={np}.{dtype})
    wanted = [want for want, size in zip(shape, array.shape) if want not in (None, size)]
    if array.ndim != len(shape) or wanted:
        raise ValueError(f"{label} has shape {array.shape}, but {shape} is needed")
    return array
'''
WRITTEN = {
    "checked": CHECKED,
    "erf": ERF,
    "ratio_or_0": RATIO,
    "product_or_0": PRODUCT,
    "logsumexp": LOGSUMEXP,
    "softmax": SOFTMAX,
    "norm": NORM,
    "logdet": LOGDET,
    "adjugate": ADJUGATE,
    "adjugate_change": ADJUGATE_CHANGE,
    "winner": WINNER,
    "gather": GATHER,
    "scatter": SCATTER,
    "put": PUT,
    "diagonal": DIAGONAL,
}


def definitions(text: ArrayText) -> list[str]:
    """The functions that a module's text calls, each after those that it calls itself."""
    found: dict[str, str] = {}
    known = {**WRITTEN, **text.library.lacks}
    while missing := [name for name in text.functions if name not in found]:
        for name in missing:
            if name in known:
                body = known[name].replace("{np}", text.namespace)
                body = body.replace("{dtype}", text.dtype)
                found[name] = body.replace("{name}", text.function_name(name))
            else:
                found[name] = _composed(name, text.functions[name], text)
    return list(found.values())[::-1]


def _composed(name: str, count: int, text: ArrayText) -> str:
    """A composed function, from the stable formula of its record."""
    record = FUNCTIONS[name]
    program = Program((FOLD, UNITS))
    parameters = record.parameters[:count]
    leaves = [program.shared("input", (), {"name": p, "shape": ()}) for p in parameters]
    for leaf, parameter in zip(leaves, parameters, strict=True):
        program.names[leaf] = [parameter]
    template = formula(name, count, {}, exact=False)
    assert template is not None, name  # every record has a formula or a native function
    root = template.run(program, leaves)
    naming = Naming(parameters)
    lines, pieces = statements(program, [root], text, naming, {})
    doc = record.doc or record.signature() + ", without overflow" * (record.stable is not None)
    body = [f"    {line}" for line in lines]
    head = f"def {text.function_name(name)}({', '.join(map(naming.of, parameters))}):"
    return "\n".join([head, f'    """{_sentence(doc)}"""', *body, f"    return {pieces[root]}", ""])


def _sentence(text: str) -> str:
    """A docstring's first line: a full stop, nothing that could end it early."""
    clean = text.replace("\\", "").replace('"', "'").strip().split("\n")[0]
    return clean.rstrip(".") + "."
