"""How a value of a message is read when it meets a literal: the one place that says which value is fit for which kind.

A value is a text, a number (compared as a 64-bit float), a boolean, a time, an object, an array, or None for NULL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

_INFINITE = float("inf")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch


def number_of(value: object) -> float | None:
    """The value as the nearest 64-bit float: numbers, and texts that are exactly one as JSON writes it.

    A number too large for a float is unfit.

    >>> number_of("10"), number_of("-2.5e3"), number_of("010"), number_of(" 1"), number_of("1e999"), number_of(True)
    (10.0, -2500.0, None, None, None, None)
    """
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    if type(value) is not str:
        return value if type(value) is float else None
    if _JSON_NUMBER(value) is None:
        return None
    number = float(value)
    return number if -_INFINITE < number < _INFINITE else None


def text_of(value: object) -> str | None:
    """The value as a text: texts only."""
    return value if type(value) is str else None


def boolean_of(value: object) -> bool | None:
    """The value as a boolean: booleans, and the texts ``true`` and ``false``."""
    if type(value) is str:
        return True if value == "true" else False if value == "false" else None
    return value if type(value) is bool else None


def time_of(value: object) -> datetime | None:
    """The value as a time: times only."""
    return value if isinstance(value, datetime) else None


def _nothing(_: object) -> None:
    return None


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"number": number_of, "text": text_of, "boolean": boolean_of, "time": time_of, "null": _nothing}
)
"""The reader of each kind of literal; it gives None for a value that is unfit."""

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "=": operator.eq,
        "<>": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
"""What each operator asks of two values of one kind; texts are ordered by their code points."""
