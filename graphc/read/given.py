"""Values that users give with names; a string among them is an exact number."""

from __future__ import annotations

from typing import Any

from ..algebra.given import array_from_user, from_user
from ..shapes import Shape, check_fit
from .expressions import constant


def given(value: Any, shape: Shape, name: str) -> Any:
    """A value that came with the declaration, checked against the shape if there is one."""
    if not shape and not isinstance(value, (list, tuple)):
        return number(value, name)
    values = array(value, f"the value of {name!r}")
    if shape:
        check_fit(values, shape, name)
    return values


def array(value: Any, what: str) -> Any:
    """An array that a user gave; strings in it are exact numbers."""
    return array_from_user(value, what, constant)


def number(value: Any, name: str) -> Any:
    return (
        constant(value, f"the value of {name!r}")
        if isinstance(value, str)
        else from_user(value, f"the value of {name!r}")
    )
