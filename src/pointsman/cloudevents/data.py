"""The data of a CloudEvent: in which of three kinds the bytes of a body are written, and the bytes of each kind."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pointsman._util import json_text
from pointsman.errors import MessageError

#: A JSON value, a text, bytes, or no data at all.
Kind: TypeAlias = Literal["json", "text", "binary", "none"]

# Far below what Python's parser can do, so that what is written here can be read anywhere.
_DEPTH = 100
_MISSING = object()


def is_json_type(content_type: str | None) -> bool:
    """Whether the content type is one of JSON; without a content type it is.

    >>> is_json_type("application/problem+json; charset=utf-8"), is_json_type("text/plain")
    (True, False)
    """
    return not content_type or content_type.partition(";")[0].strip().lower().endswith(("/json", "+json"))


def exact_value(body: bytes) -> Any:
    """The JSON value that gives exactly these bytes when written compactly; ``_MISSING`` if there is none."""
    try:
        value = json_text.parse(body)
        return value if json_text.compact(value) == body else _MISSING
    except MessageError:
        return _MISSING


def natural_kind(body: bytes, content_type: str | None, *, null: bool) -> Kind:
    """The kind that needs no mark: none if empty, JSON or text as the content type says, else binary.

    ``null`` says whether a JSON null can be told from no data.
    """
    if not body:
        return "none"
    if is_json_type(content_type):
        value = exact_value(body)
        fits = _can_be_json(value, content_type, null=null) and json_text.is_nested_within(value, _DEPTH)
        return "json" if fits else "binary"
    return "text" if _is_utf8(body) else "binary"


def chosen_kind(wanted: str | None, natural: Kind, body: bytes, content_type: str | None, *, null: bool) -> Kind:
    """The kind wanted if the body can be written so, else the natural one."""
    if wanted == "binary":
        return "binary"
    if wanted == "text" and not is_json_type(content_type) and _is_utf8(body):
        return "text"
    if wanted == "json" and _can_be_json(exact_value(body), content_type, null=null):
        return "json"
    return natural


def body_of_value(value: Any, content_type: str | None) -> tuple[bytes, Kind]:
    """The bytes of data that is a value: a text is itself where the content type is not JSON, all else is JSON."""
    if isinstance(value, str) and not is_json_type(content_type):
        try:
            return value.encode(), "text"
        except UnicodeEncodeError:
            raise MessageError("bad-message", "data holds a lone surrogate, which UTF-8 cannot write") from None
    return json_text.compact(value), "json"


def _can_be_json(value: Any, content_type: str | None, *, null: bool) -> bool:
    if value is _MISSING or (value is None and not null):
        return False
    return not isinstance(value, str) or is_json_type(content_type)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
