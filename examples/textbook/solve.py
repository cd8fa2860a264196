"""Solves the textbook: `solve.py ID` prints a worked solution, `--list` names the items."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from workbook import Solution, catalogue, exact, load, number, solve, written

import graphc as gc

MODES = {"FM": "forward", "PATH": "paths"}  # capabilities of an item that say how to derive


def workings(graph: gc.Graph, item: dict[str, Any]) -> Iterator[str]:
    """The steps to every derivative that is asked for; to that of the first output if none is."""
    asks = item["asks"]
    leaves = [*graph.input_names, *graph.param_names]
    at = None if any(graph[name].value is None for name in leaves) else {}
    mode = next((MODES[word] for word in item["capabilities"] if word in MODES), "reverse")
    asked_of = dict.fromkeys(ask["of"] for ask in asks if ask.get("of") in graph)
    for of in asked_of or graph.output_names[:1]:
        words = " ".join(ask["wrt"] or "" for ask in asks if ask.get("of") in (None, of))
        wrt = [name for name in words.replace(",", " ").split() if name in graph and name != of]
        if graph[of].shape == () and any(graph.count_paths(name, of) for name in wrt or leaves):
            yield graph.explain(of, list(dict.fromkeys(wrt)) or None, at, mode).text.rstrip()


def page(item: dict[str, Any], solution: Solution) -> str:
    """The worked solution of one item as text."""
    parts = [f"{item['id']}: {item['source']}", item["restatement"]]
    for graph in solution.graphs:
        parts += [graph.to_text().rstrip(), *workings(graph, item)]
    for ask, answer in zip(item["asks"], solution.answers, strict=True):
        parts.append(f"{ask['what']}\n    {written(answer)}")
    for erratum in solution.errata:
        parts.append(
            f"Erratum, {erratum.where}\n"
            f"    printed: {written(erratum.printed)}\n    right:   {written(erratum.right)}"
        )
    if "note" in item:
        parts.append(f"Note. {item['note']}")
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("id", nargs="*", help="items to solve, such as aggarwal-2.15")
    parser.add_argument("--list", action="store_true", help="the items of the catalogue")
    parser.add_argument("--all", action="store_true", help="solve every item")
    parser.add_argument("--json", action="store_true", help="print {id: [answers]}")
    parser.add_argument("--exact", action="store_true", help="in JSON, write 1/3 as such")
    asked = parser.parse_args(arguments)
    items, solvers = catalogue(), load()
    if asked.list:
        for identifier, item in items.items():
            print(f"{identifier:24} {len(item['asks']):2} questions  {item['source']}")
        return 0
    wanted = list(solvers) if asked.all else asked.id
    for identifier in wanted:
        if identifier not in solvers:
            near = get_close_matches(identifier, solvers, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            parser.error(f"there is no item {identifier!r}; {hint}--list names them all")
    if not wanted:
        parser.error("name an item, such as aggarwal-2.15; --list names them all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.KinkWarning)  # the items say which convention they use
        solutions = {identifier: solve(solvers[identifier]) for identifier in wanted}
    if asked.json:
        form = exact if asked.exact else number
        answers = {identifier: form(solved.answers) for identifier, solved in solutions.items()}
        print(json.dumps(answers, indent=1))
    else:
        print("\n\n\n".join(page(items[name], solved) for name, solved in solutions.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
