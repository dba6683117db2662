"""The body of a message as JSON, for predicates: parsed within limits, walked by paths."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import msgspec

from pointsman.conditions.values import number_of
from pointsman.text.json_text import is_nested_within

MAX_BODY_BYTES = 4 * 1024 * 1024
"""A longer body is not read."""
MAX_DIGITS = 4000
"""A whole number of more digits is read as a float, which is infinite; Python refuses to make an int of much more."""
MAX_BODY_NESTING = 100
"""A body with objects and arrays nested deeper is not read."""


def read_body(body: bytes) -> Any:
    """The JSON value of a body; None for a body that is not JSON, or beyond the limits.

    Whole numbers are ints of any size, others 64-bit floats.

    JSON is that of RFC 8259 in UTF-8, without NaN. If an object has a key twice, the last one counts.

    >>> read_body(b'{"amount": 5}'), read_body(b"five"), read_body(b'{"a": 1, "a": 2}')
    ({'amount': 5}, None, {'a': 2})
    """
    if len(body) > MAX_BODY_BYTES:
        return None
    try:
        value = _decoder.decode(body)
    except (ValueError, RecursionError):
        # What msgspec refuses and JSON allows: floats that are infinite, very large integers, lone surrogates.
        try:
            value = _slow_decoder.decode(body.decode())
        except (ValueError, RecursionError):
            return None
    if body.count(b"[") + body.count(b"{") > MAX_BODY_NESTING and not is_nested_within(value, MAX_BODY_NESTING):
        return None
    return value


def walk(value: Any, path: tuple[str | int, ...]) -> Any:
    """What is found along a path; None where the way ends.

    A text that UTF-8 cannot write, and a number too large for a float, are None as well.

    >>> walk({"items": [{"price": 2.0}]}, ("items", 0, "price")), walk({"items": []}, ("items", 0))
    (2.0, None)
    """
    for step in path:
        if isinstance(step, str):
            if type(value) is not dict:
                return None
            value = value.get(step)
        elif type(value) is list and step < len(value):
            value = value[step]
        else:
            return None
    if type(value) is str:
        return value if value.isascii() or _is_writable(value) else None
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is int:
        return value if number_of(value) is not None else None
    return value


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _whole_number(text: str) -> int | float:
    return int(text) if len(text) <= MAX_DIGITS else float(text)


_decoder = msgspec.json.Decoder()
_slow_decoder = json.JSONDecoder(parse_constant=_reject_constant, parse_int=_whole_number)
