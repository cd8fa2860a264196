"""Composed functions of the table as functions of C, from the stable formulas of their records."""

from __future__ import annotations

from collections.abc import Iterable

from ....algebra.rules import formula
from ....table.functions import FUNCTIONS
from ...c_names import CNames
from ...c_text import CText, c_values, is_composed, readable_passes
from ...program import Program
from .comments import comment


class Functions:
    """The composed functions that a file calls, each after those that it calls itself."""

    def __init__(self, text: CText, names: CNames) -> None:
        self.text, self.names = text, names
        self.called: dict[str, str] = {}  # operation -> name in the file
        self.definitions: list[str] = []
        self.dear: set[str] = set()  # those that call our vector maths, one number at a time
        text.function_name = self.name

    def name(self, op: str) -> str:
        """The name of a function, which is defined when it is first asked for."""
        if op not in self.called:
            self.called[op] = self.names.fresh(op)
            definition = self._definition(op)  # after those of the functions that it calls
            self.definitions.append(definition)
        return self.called[op]

    def define(self, ops: Iterable[str]) -> None:
        """Defines what these operations need."""
        for op in ops:
            if is_composed(op) and not self._is_ours(op):
                self.name(op)

    def _is_ours(self, op: str) -> bool:
        own, count = self.text.own_call, len(FUNCTIONS[op].parameters)
        return own is not None and own(op, ("",) * count) is not None

    def _definition(self, op: str) -> str:
        record = FUNCTIONS[op]
        program = Program(readable_passes())
        leaves = []
        for parameter in record.parameters:
            leaf = program.shared("input", (), {"name": parameter, "shape": ()})
            program.names[leaf] = [parameter]
            leaves.append(leaf)
        template = formula(op, len(leaves), {}, exact=False)
        assert template is not None, op  # it is composed
        root = template.run(program, leaves)
        kept, places = program.alive([root])
        names = CNames()
        lines, pieces = c_values(kept, [places[root]], self.text, names)
        arguments = ", ".join(f"{self.text.type} {names.of(p)}" for p in record.parameters)
        read = {kept.settings(row)["name"] for row in kept.in_order() if kept.is_leaf(row)}
        idle = [f"(void){names.of(p)};" for p in record.parameters if p not in read]
        body = [*idle, *lines, f"return {pieces[places[root]][0]};"]
        if any("careful_" in line for line in body) or self.dear & set(kept.ops):
            self.dear.add(op)
        told = record.doc or record.signature()
        return "\n".join(
            [
                comment(told.split("\n")[0]),
                f"static {self.text.type} {self.name(op)}({arguments})",
                "{",
                *(f"    {line}" for line in body),
                "}",
                "",
            ]
        )
