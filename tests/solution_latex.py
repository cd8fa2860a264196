"""A reader of the mathematics in Markdown and LaTeX solutions of scalar graphs."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|\S")
WORDS = {"sin", "cos", "tanh", "log"}


def equations(page: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """(left, [(relation, side)]) of every equation of a Markdown page, as plain text."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for block in re.findall(r"\\begin\{aligned\}\n(.*?)\n\\end\{aligned\}", page, re.DOTALL):
        for line in block.split(" \\\\\n"):
            left, _, rest = line.split(" && ")[0].partition("&")
            if left.strip():
                found.append((plain(left), []))
            if rest.startswith(r"\quad"):  # a long side goes on
                relation, side = found[-1][1].pop()
                found[-1][1].append((relation, f"{side} {rest.removeprefix(chr(92) + 'quad')}"))
                continue
            parts = re.split(r"(?:^| )(=|\\approx) ", rest)[1:]
            found[-1][1].extend(zip(parts[::2], parts[1::2], strict=True))
    return [
        (left, [("=" if r == "=" else "≈", plain(side)) for r, side in sides])
        for left, sides in found
    ]


def plain(latex: str) -> str:
    """LaTeX as text that can be evaluated, products written out."""
    derivative = re.fullmatch(r"\s*\\frac\{d (.*)\}\{d (.*)\}\s*", latex)
    if derivative:
        return f"d {plain(derivative[1])} / d {plain(derivative[2])}"
    tokens = TOKEN.findall(latex)
    return Parser(tokens).row(len(tokens))


class Parser:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place = tokens, 0

    def row(self, end: int) -> str:
        parts: list[str] = []
        while self.place < end:
            token = self.tokens[self.place]
            self.place += 1
            if token in ("+", "-", ","):
                parts.append(token if token != "," else ", ")
            elif token in (r"\cdot", r"\,"):
                continue  # products are recognised by their factors
            elif token == "^":
                base, exponent = parts.pop(), self.group()
                parts.append(f"exp({exponent})" if base == "E" else f"{base}**({exponent})")
            else:
                if parts and parts[-1] not in ("+", "-", ", "):
                    parts.append("*")
                parts.append(self.factor(token))
        return "".join(parts)

    def group(self) -> str:
        """What stands in braces."""
        if self.tokens[self.place] != "{":
            self.place += 1
            return self.tokens[self.place - 1]
        start, depth = self.place + 1, 0
        for end in range(self.place, len(self.tokens)):
            depth += (self.tokens[end] == "{") - (self.tokens[end] == "}")
            if not depth:
                break
        self.place = start
        inside = self.row(end)
        self.place = end + 1
        return inside

    def fence(self, opening: str, closing: str) -> str:
        start, depth = self.place, 1
        for end in range(start, len(self.tokens)):
            depth += (self.tokens[end] == opening) - (self.tokens[end] == closing)
            if not depth:
                break
        if opening == r"\left":
            self.place += 1  # the bracket itself
        inside = self.row(end)
        self.place = end + (2 if opening == r"\left" else 1)
        return f"({inside})"

    def factor(self, token: str) -> str:
        if token == "{":
            self.place -= 1
            return self.group()
        if token == r"\left":
            return self.fence(r"\left", r"\right")
        if token == "(":
            return self.fence("(", ")")
        if token == r"\frac":
            above = self.group()
            return f"(({above})/({self.group()}))"
        if token == r"\sigma":
            return f"sigmoid{self.factor(self.next())}"
        if token == r"\operatorname":
            name = self.group().replace("*", "")
            return f"{name}{self.factor(self.next())}"
        if token.startswith("\\") and token[1:] in WORDS:
            return f"{token[1:]}({self.factor(self.next())})"
        if token == "e":
            return "E"
        if token.isalpha():
            index = ""
            if self.place < len(self.tokens) and self.tokens[self.place] == "_":
                self.place += 1
                index = self.group()
            name = token + index
            if name in "Sz":  # S(i, t) and z(i, j)
                return name + self.fence("(", ")") if self.next() == "(" else name
            return name
        if token[0].isdigit():
            return token
        raise ValueError(f"{token!r} in {' '.join(self.tokens)}")

    def next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]
