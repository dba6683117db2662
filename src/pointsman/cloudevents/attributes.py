"""The attributes of a CloudEvent: their names, their types, and the text each has in the metadata of a message."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from pointsman._util import json_text
from pointsman._util.time import format_timestamp, parse_timestamp, with_fixed_offset
from pointsman.errors import MessageError

Value: TypeAlias = str | bool | int | datetime | bytes

REQUIRED = ("specversion", "id", "source", "type")
OPTIONAL = ("subject", "datacontenttype", "dataschema")
#: Names that no key of the metadata becomes an extension under.
TAKEN = frozenset({*REQUIRED, *OPTIONAL, "time", "data", "correlationid", "causationid"})

_NAME = re.compile("[a-z0-9]+")


def is_extension_name(name: object) -> bool:
    """Whether CloudEvents allows the name and has no meaning of its own for it."""
    return isinstance(name, str) and name not in TAKEN and _NAME.fullmatch(name) is not None


def check_attributes(attributes: Mapping[Any, Any]) -> None:
    """Raise MessageError ``not-cloudevent`` unless these are attributes of a CloudEvent 1.0 (the time aside)."""
    for name in REQUIRED:
        if name not in attributes:
            raise MessageError("not-cloudevent", f"the attribute {name!r} is missing")
    for name in (*REQUIRED, *OPTIONAL):
        value = attributes.get(name, "-")
        if not isinstance(value, str) or not value:
            raise MessageError("not-cloudevent", f"the attribute {name!r} is not a text of at least one character")
    if attributes["specversion"] != "1.0":
        raise MessageError("not-cloudevent", f"the specversion is {attributes['specversion']!r}, not '1.0'")
    for name in attributes:
        if name not in TAKEN and not is_extension_name(name):
            problem = f"the attribute name {name!r} is not made of the letters a to z and digits alone"
            raise MessageError("not-cloudevent", problem)


def text_of(name: str, value: object) -> tuple[str, str | None]:
    """The text of an attribute's value and its type, which is None for a text; raises MessageError for no such type."""
    try:
        match value:
            case str():
                return value, None
            case bool():
                return ("true" if value else "false"), "boolean"
            case int():
                return str(int(value)), "integer"
            case datetime():
                return format_timestamp(with_fixed_offset(value)), "timestamp"
            case bytes():
                return base64.b64encode(value).decode(), "binary"
    except (ValueError, OverflowError) as error:
        raise MessageError("not-cloudevent", f"the attribute {name!r} cannot be used: {error}") from None
    raise MessageError("not-cloudevent", f"the attribute {name!r} is of a type that CloudEvents does not have")


def _boolean(text: str) -> bool:
    return text == "true"


def _timestamp(text: str) -> datetime | str:
    return parse_timestamp(text) or text


def _binary(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_FROM_TEXT: Mapping[str, Callable[[str], Value]] = {
    "boolean": _boolean,
    "integer": int,
    "timestamp": _timestamp,
    "binary": _binary,
}


def value_of(text: str, kind: object, allowed: frozenset[str]) -> Value:
    """What ``text_of`` made this text and type from; the text itself if there is no such value or type."""
    if not isinstance(kind, str) or kind not in allowed:
        return text
    try:
        value = _FROM_TEXT[kind](text)
    except ValueError:
        return text
    return value if text_of("", value) == (text, kind) else text


def types_of(text: str | None) -> dict[str, Any]:
    """The types by attribute name, from their JSON text in the metadata; none if that is not what the text is."""
    try:
        types = {} if text is None else json_text.parse(text)
    except MessageError:
        return {}
    return types if isinstance(types, dict) else {}
