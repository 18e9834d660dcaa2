"""Integers and options of a mechanism's constructor, checked and described."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from ldpcore.errors import ParameterError


def checked_integer(
    parameter: str, value: object, *, minimum: int, maximum: int | None = None, example: int | None = None
) -> int:
    """Return value as an int, or say what is wrong with it.

    Parameters
    ----------
    parameter
        Its name in the message.
    value
        Any integer type; bool is refused.
    minimum, maximum
        Bounds, inclusive; no upper bound where None.
    example
        A value that works, for the message; `minimum` where None.

    Raises
    ------
    ParameterError
        If value is not an integer or lies outside the bounds.
    """
    rule = f"{parameter} must be an integer of at least {minimum}"
    if maximum is not None:
        rule += f" and at most {maximum}"
    advice = f"try {minimum if example is None else example}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(parameter, f"{rule}, got {value!r}; {advice}") from None
    if isinstance(value, bool) or number < minimum or (maximum is not None and number > maximum):
        raise ParameterError(parameter, f"{rule}, got {value!r}; {advice}")
    return number


def option_names(mechanism: type[Any]) -> tuple[str, ...]:
    """Return the options of a mechanism's constructor beyond epsilon and domain_size."""
    return tuple(entry.name for entry in fields(mechanism) if entry.init and entry.default is not MISSING)


def option_defaults(mechanism: type[Any]) -> Mapping[str, object]:
    """Return the options of a mechanism with their defaults."""
    return {entry.name: entry.default for entry in fields(mechanism) if entry.name in option_names(mechanism)}
