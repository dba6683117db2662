"""What is to be put, checked before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from pointsman.errors import InputError, MessageError, StoreError
from pointsman.store.transaction import SECOND

LONGEST_ID = 255
MAX_METADATA = 64 * 1024
LONGEST = 10 * 365 * 86_400
"""Delays and times to live, in seconds."""
LARGEST = (1 << 63) - 1
"""The largest number that SQLite holds."""


class PutId(str):
    """The id of a message that was put: a text, which also says whether the message was there already.

    >>> PutId("o-1") == "o-1", PutId("o-1").duplicate
    (True, False)
    """

    __slots__ = ()
    duplicate: ClassVar[bool] = False
    """Whether a message of this id was put before, so that nothing was put now."""


class DuplicateId(PutId):
    """The id of a message that was put before."""

    __slots__ = ()
    duplicate = True


class Draft(NamedTuple):
    """A message to be put; times are in seconds from now."""

    data: bytes | str
    routing_key: str | Sequence[str] = ""
    priority: int = 5
    delay: float | None = None
    expires: float | None = None
    id: str | None = None
    metadata: Mapping[str, str] | None = None


def data_bytes(data: object, max_bytes: int) -> bytes:
    """The data as bytes, for its checksum and its size. Raises ``MessageError`` and ``StoreError`` (``too-large``)."""
    if isinstance(data, str):
        try:
            data = data.encode()
        except UnicodeEncodeError:
            raise MessageError("bad-message", "the data holds a lone surrogate, which UTF-8 cannot write") from None
    if not isinstance(data, bytes):
        raise MessageError("bad-message", f"the data is {type(data).__name__}, not bytes or text")
    check_size(data, max_bytes)
    return data


def check_size(data: bytes, max_bytes: int) -> None:
    """Raises ``StoreError`` (``too-large``)."""
    if len(data) > max_bytes:
        raise StoreError("too-large", f"the data is {len(data):,} bytes long, and the limit is {max_bytes:,}")


def check_priority(priority: object) -> None:
    """Raises ``MessageError`` unless it is one."""
    if not isinstance(priority, int) or isinstance(priority, bool) or not 1 <= priority <= 10:
        raise MessageError("bad-message", f"the priority is {priority!r}, not a whole number from 1 to 10")


def check_id(id: object) -> None:
    """Raises ``MessageError`` unless it can be the id of a message."""
    if not isinstance(id, str) or not id or len(id) > LONGEST_ID:
        raise MessageError("bad-message", f"the id is not a text of 1 to {LONGEST_ID} characters")
    _check_text("the id", id)


def check_number(value: object, name: str, least: int = 0) -> None:
    """Raises ``InputError`` (``bad-setting``) unless it is a whole number that SQLite can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise InputError("bad-setting", f"{name} must be a whole number from {least} to {LARGEST}, got {value!r:.100}")


def microseconds(seconds: object, name: str) -> int:
    """A time in whole microseconds. Raises ``MessageError`` unless it is a number of seconds within reason."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST:
        raise MessageError("bad-message", f"{name} is {seconds!r}, not a number of seconds from 0 to {LONGEST:,}")
    return int(seconds * SECOND)


def metadata_text(metadata: Mapping[str, str]) -> str | None:
    """The metadata as JSON; None if there is none. Raises ``MessageError``, and ``StoreError`` (``too-large``)."""
    if not isinstance(metadata, Mapping):
        raise MessageError("bad-message", f"metadata is {type(metadata).__name__}, not a mapping")
    for key, value in metadata.items():
        _check_text(f"the metadata key {key!r}", key)
        _check_text(f"metadata[{key!r}]", value)
    text = json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":")) if metadata else None
    if text is not None and len(text) > MAX_METADATA:
        raise StoreError("too-large", f"the metadata is {len(text):,} characters long, and the limit {MAX_METADATA:,}")
    return text


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise MessageError("bad-message", f"{name} is {type(value).__name__}, not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise MessageError("bad-message", f"{name} holds a lone surrogate, which UTF-8 cannot write") from None
