"""The fast style on CuPy for graphs of scalars: one element-wise kernel computes every result.

The arguments broadcast inside the kernel, so each is read once and each result is written once,
and no intermediate value goes through memory.
"""

from __future__ import annotations

from ... import readable
from ...array_text import ArrayText
from ...c_names import CNames
from ...c_text import CText, c_statements
from ...module import Task
from ...naming import Naming
from ...program import ProgramRow

MOST_PARAMETERS = 60  # arrays of a kernel: its arguments have to fit into 4 kB
MOST_OPERATIONS = 4000  # of a kernel, which the device's compiler takes as one piece
KERNEL = '''\
# One pass over the points. No operations are contracted, so that each rounds as NumPy's does.
{name} = cp.ElementwiseKernel(
    "{inputs}",
    "{outputs}",
    """
{body}
    """,
    "{want}",
    options=("--fmad=false",),
)
'''


def body(one: Task, text: ArrayText, naming: Naming) -> list[str]:
    """A call of the kernel, whose definition is added to the module's, and the results."""
    program = one.program
    distinct = list(dict.fromkeys(one.rows()))
    computed = [r for r in distinct if not program.is_leaf(r) and program.ops[r] != "const"]
    size = len(one.read) + len(computed)
    if not computed or not one.read or size > MOST_PARAMETERS:
        return readable.body(one, text, naming)
    if len(program) > MOST_OPERATIONS:
        return readable.body(one, text, naming)
    name = naming.fresh("kernel")
    text.preamble += kernel(one, computed, text.dtype, name).splitlines()
    names = {row: _name(one, row, text, naming) for row in distinct}
    outputs = ", ".join(names[row] for row in computed)
    arguments = ", ".join(naming.of(one.graph.names[row]) for row in one.read)
    lines = [f"{outputs} = {name}({arguments})"]
    results = readable.Returned(one, text, names, naming, frozenset(computed))
    returned = results.tree(one.results)
    if results.needs_points:
        lines.insert(0, readable.points_line(one, text, naming))
    return [*lines, *results.lines, *readable.returning(returned)]


def _name(one: Task, row: ProgramRow, text: ArrayText, naming: Naming) -> str:
    """What a result is called in the function: the node that it is."""
    program = one.program
    if program.ops[row] == "const":
        return text.number(program.settings(row)["value"])[0]
    if program.is_leaf(row):
        return naming.of(program.settings(row)["name"])
    return naming.of(program.names[row][0]) if row in program.names else naming.numbered("result")


def kernel(one: Task, computed: list[ProgramRow], dtype: str, name: str) -> str:
    """The definition of the kernel."""
    names, text = CNames(("i", "n")), CText(dtype)  # which a kernel calls a point and their number
    inputs = [names.of(one.graph.names[row]) for row in one.read]
    stems = [one.program.names.get(row, ["result"])[0] for row in computed]
    outputs = [names.fresh(f"out_{stem}") for stem in stems]
    targets = list(zip(computed, outputs, strict=True))
    lines = c_statements(one.program, targets, text, names)
    return KERNEL.format(
        name=name,
        inputs=", ".join(f"{dtype} {identifier}" for identifier in inputs),
        outputs=", ".join(f"{dtype} {identifier}" for identifier in outputs),
        body="\n".join(f"    {_quoted(line)}" for line in lines),
        want=one.asked.want.name,
    )


def _quoted(line: str) -> str:
    """A line inside a string of Python: a user's own code may hold anything."""
    return line.replace("\\", "\\\\").replace('"', '\\"')
