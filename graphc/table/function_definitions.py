"""Functions that array libraries or JavaScript lack, as text; records name what they define.

{np} stands for the array library, {name} for the function's name in the module.
"""

from __future__ import annotations

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
RATIO_OR_0 = '''\
def {name}(a, b):
    """a / b, and 0 where b is 0."""
    return {np}.where(b == 0, 0, a / {np}.where(b == 0, 1, b))
'''
PRODUCT_OR_0 = '''\
def {name}(a, b):
    """a * b, and 0 where a is 0."""
    return {np}.where(a == 0, 0, a * b)
'''


# JavaScript.

JS_ERF = f"""\
const ERF_BELOW = [{", ".join(map(repr, ERF_BELOW))}];
const ERF_ABOVE = [{", ".join(map(repr, ERF_ABOVE))}];
function erf(x) {{
  const size = Math.abs(x);
  if (size < 1) return x * ERF_BELOW.reduce((sum, c) => sum * size * size + c, 0);
  const far = Math.min(size, 6), at = 2 / (2 + far);
  return Math.sign(x) * (1 - Math.exp(-far * far) * ERF_ABOVE.reduce((sum, c) => sum * at + c, 0));
}}
"""
JS_POWER = """\
function power(x, y) {
  return x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y);
}
"""
JS_MAXIMUM = """\
function maximum(a, b) {
  return a > b || a !== a ? a : b;
}
"""
JS_MINIMUM = """\
function minimum(a, b) {
  return a < b || a !== a ? a : b;
}
"""
