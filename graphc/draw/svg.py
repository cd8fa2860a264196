"""SVG: what Graphviz made, reduced to shapes and text, with stable ids and full texts as titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from ..errors import GraphcError
from .labels import HIDDEN

SVG = "http://www.w3.org/2000/svg"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
DRAWN = ("svg", "g", "title", "text", "polygon", "polyline", "path", "ellipse")
KEPT = {
    *("id", "class", "transform", "width", "height", "viewBox", "fill", "stroke", "d", "points"),
    *("stroke-width", "stroke-dasharray", "fill-opacity", "stroke-opacity", "cx", "cy", "rx", "ry"),
    *("x", "y", "text-anchor", "font-family", "font-size", "font-style", "font-weight"),
    SPACE,
}


CLASSES = {"adjoint": "adjoint", "local": "local"}  # other roles are labels


def tag(name: str) -> str:
    """The name of an SVG element as the parser gives it."""
    return f"{{{SVG}}}{name}"


def cleaned(
    picture: bytes, name: str, titles: Mapping[str, str], roles: Mapping[str, Sequence[str]]
) -> Any:
    """The drawing as an element tree in which only shapes and text are left.

    `titles` are those of nodes and edges by id, `roles` say what each of their texts is.
    """
    try:
        root = ElementTree.fromstring(picture)
    except ElementTree.ParseError as error:
        raise GraphcError(f"Graphviz made an SVG file that cannot be read: {error}") from None
    stack = [root]
    while stack:
        element = stack.pop()
        element[:] = [child for part in element for child in _unwrapped(part)]
        for key in [key for key in element.attrib if key not in KEPT]:
            del element.attrib[key]
        _retitled(element, titles)
        texts = element.findall(tag("text"))
        for text, role in zip(texts, roles.get(element.get("id", ""), ()), strict=False):
            text.set("class", CLASSES.get(role, "label"))
        stack.extend(element)
    root.set("role", "img")
    root.set("aria-label", name)
    for part in root.findall(f"{tag('g')}[@class='graph']"):
        _title_of(part).text = name
    return root


def _unwrapped(element: Any) -> list[Any]:
    """The element; what a link or its group holds; nothing for what is not drawn."""
    name = element.tag.removeprefix(f"{{{SVG}}}") if isinstance(element.tag, str) else ""
    link = name == "a" or (name == "g" and element.get("id", "").startswith("a_"))
    if link:
        return [child for part in element for child in _unwrapped(part)]
    hidden = name == "text" and element.get("fill") == HIDDEN
    hidden = hidden or (name == "polyline" and element.get("stroke") == HIDDEN)
    return [element] if name in DRAWN and not hidden else []


def _retitled(element: Any, titles: Mapping[str, str]) -> None:
    words = element.get("class", "").split()
    if words:
        element.set("class", " ".join(dict.fromkeys(words)))
    identity = element.get("id")
    if identity in titles:
        _title_of(element).text = titles[identity]


def _title_of(element: Any) -> Any:
    title = element.find(tag("title"))
    if title is None:
        title = ElementTree.Element(tag("title"))
        element.insert(0, title)
    return title


def text_of(root: Any) -> str:
    """The element tree as text."""
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
