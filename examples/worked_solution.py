"""A worked solution, and what a teacher would say about somebody else's."""

from pathlib import Path

import graphc as gc

graph = gc.load(Path(__file__).parent / "fig27.gc")
point = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}

print(graph.explain("y10", wrt="y2", at=point, mode="paths"))

work = {
    "values": {"y4": "0.3", "y5": "0.21", "y6": "0.27", "y7": "0.2955", "y8": "0.978"},
    "derivatives": {"y7": "0.2609", "y8": "0.0788", "y9": "0.289", "y2": "0.3475"},
}
print(graph.grade(work, of="y10", at=point))
