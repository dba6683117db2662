"""JSON from outside and JSON for outside: whatever is wrong with it is a MessageError."""

from __future__ import annotations

import base64
import json
from typing import Any, NoReturn

from pointsman.errors import MessageError


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Readers differ in which of two equal keys they take, so that taking either would lose something.
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has the same key twice")
    return members


_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_reject_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def parse(text: str | bytes) -> Any:
    """The value of a JSON text; bytes must be UTF-8, and a str must be one that UTF-8 can write.

    Raises MessageError ``bad-json``, with line and column where the syntax is at fault; a key that occurs twice, NaN
    and an integer of thousands of digits are errors as well.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode()
        elif not text.isascii():
            text.encode()
        return _decode(text)
    except UnicodeError as error:
        raise MessageError("bad-json", f"the text is not UTF-8: {error}") from None
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno} is not JSON: {error.msg}"
        raise MessageError("bad-json", problem, line=error.lineno, column=error.colno) from None
    except ValueError as error:
        raise MessageError("bad-json", f"the text is not usable JSON: {error}") from None
    except RecursionError:
        raise MessageError("bad-json", "the JSON is nested too deeply") from None


def compact(value: Any) -> bytes:
    """The value as JSON in UTF-8 without white space; always the same bytes for the same value.

    A text with a lone surrogate, which UTF-8 cannot hold, makes the whole value be written in ASCII with escapes.
    Raises MessageError ``bad-message`` if JSON has no such value.
    """
    try:
        try:
            return _encode(value).encode()
        except UnicodeEncodeError:
            return _encode_ascii(value).encode()
    except (TypeError, ValueError) as error:
        raise MessageError("bad-message", f"the value cannot be written as JSON: {error}") from None
    except RecursionError:
        raise MessageError("bad-message", "the value is nested too deeply to be written as JSON") from None


def gives_back(body: bytes, value: Any) -> bool:
    """Whether the JSON text means a value equal to this one."""
    try:
        return bool(parse(body) == value)
    except RecursionError:
        return False


def decode_base64(name: str, text: object) -> bytes:
    """The bytes of a strict Base64 text; raises MessageError naming the field."""
    if not isinstance(text, str):
        raise MessageError("bad-message", f"{name} is {type(text).__name__}, not text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise MessageError("bad-message", f"{name} is not Base64: {error}") from None


def is_nested_within(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested at most ``limit`` deep.

    >>> is_nested_within([[1]], 2), is_nested_within([[[]]], 2)
    (True, False)
    """
    level = [value]
    for _ in range(limit):
        level = [child for item in level if isinstance(item, (dict, list)) for child in _children(item)]
        if not level:
            return True
    return not any(isinstance(item, (dict, list)) for item in level)


def _children(item: dict[str, Any] | list[Any]) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item
