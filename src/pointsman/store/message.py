"""A message as the queue stores it, with its checksum, and a draft of one: checked before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

from pointsman.errors import InputError, MessageError, StoreError
from pointsman.message import Message
from pointsman.store.transaction import SECOND

Tail = tuple[int, int, int, str]
"""The last fields of a message: subscription, until, token and file."""


class StoredMessage(NamedTuple):
    """A message in the queue. One that was popped is leased: it is what ``ack``, ``nack`` and ``extend`` take."""

    sequence: int
    """Its number in the file, in the order of putting."""
    routing_key: str
    data: bytes | str
    priority: int
    time: int
    """When it was put, in microseconds."""
    expires: int | None
    metadata_text: str | None
    envelope: str | None
    """The other fields of a ``Message``, as JSON, if it was put as one."""
    checksum: int
    given_id: str | None
    via: int
    attempts: int
    """How often it was popped for this subscription, this time included."""
    note: str | None
    error: str | None
    """What went wrong the last time."""
    subscription: int
    """The number of the subscription; 0 is the queue itself."""
    until: int
    """When the lease ends, in microseconds; 0 if it is not leased."""
    token: int
    file: str
    """What the ids begin with that the file gives."""

    @property
    def id(self) -> str:
        """Its id: the one it was put with, or else one of the file's."""
        return f"{self.file}-{self.sequence}" if self.given_id is None else self.given_id

    @property
    def metadata(self) -> Mapping[str, str]:
        """Its metadata."""
        found: dict[str, str] = json.loads(self.metadata_text) if self.metadata_text else {}
        return found

    @property
    def put_at(self) -> float:
        """When it was put, in seconds since 1970."""
        return self.time / SECOND

    @property
    def expires_at(self) -> float | None:
        """When it expires, in seconds since 1970."""
        return None if self.expires is None else self.expires / SECOND

    @property
    def body(self) -> bytes:
        """The data as bytes."""
        return self.data.encode() if isinstance(self.data, str) else self.data

    @property
    def message(self) -> Message:
        """The message as the rest of the system knows it."""
        fields: dict[str, Any] = {} if self.envelope is None else json.loads(self.envelope)
        time = fields.get("time")
        if self.envelope is None:
            fields["time"] = datetime.fromtimestamp(self.put_at, UTC)
        elif time is not None:
            fields["time"] = datetime.fromisoformat(time)
        return Message(self.routing_key, self.body, id=self.id, metadata=self.metadata, **fields)

    @property
    def is_missing(self) -> bool:
        """Whether the message, or its key, could not be found: what should have been read is NULL."""
        found: tuple[object, object] = (self.data, self.routing_key)
        return None in found

    @property
    def is_whole(self) -> bool:
        """Whether the message is what was put, by its checksum."""
        if self.is_missing:
            return False
        try:
            is_text = isinstance(self.data, str)
            data = self.data.encode(errors="surrogatepass") if isinstance(self.data, str) else self.data
            numbers = stamp(self.sequence, self.time, self.priority, self.expires, is_text=is_text)
            texts = (self.given_id, self.metadata_text, self.envelope)
            return checksum(numbers, self.routing_key, data, *texts) == self.checksum
        except (TypeError, AttributeError):
            # Damage can make a text of a number, and the other way round.
            return False


def as_stored(row: tuple[Any, ...], tail: Tail) -> StoredMessage:
    """The message of a row of the statements; ``tail`` is what all rows of one answer have in common."""
    return StoredMessage._make(row + tail)


def all_stored(rows: Iterable[tuple[Any, ...]], tail: Tail) -> list[StoredMessage]:
    """The messages of rows that have as many columns as they should, which saves half of the time."""
    new = tuple.__new__
    return [new(StoredMessage, row + tail) for row in rows]


def are_plain(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether all are what most messages are, whole, and cannot expire; False says nothing.

    One that has more than a key and data has another checksum. Raises ``TypeError`` and ``AttributeError`` for what is
    text, missing, or damaged.
    """
    heads: dict[str, int] = {}
    for sequence, key, data, priority, time, expires, _, _, value, _, _, _, _, _ in rows:
        head = heads.get(key)
        if head is None:
            head = heads[key] = crc32(key.encode())
        folded = sequence ^ time ^ (priority << 24)
        if crc32(data, head ^ (folded ^ (folded >> 32)) & 0xFFFFFFFF) != value or expires is not None:
            return False
    return True


def is_plain(message: StoredMessage) -> bool:
    """The same for one message; for what is text, missing or damaged it is False too."""
    sequence, key, data, priority, time, expires, _, _, value, _, _, _, _, _, _, _, _, _ = message
    if type(data) is not bytes or type(key) is not str or expires is not None:
        return False
    try:
        return plain_checksum(sequence, time, priority, key, data) == value
    except TypeError:
        return False


def stamp(sequence: int, time: int, priority: int, expires: int | None, *, is_text: bool) -> int:
    """What of a message is a number, in 32 bits: a change of any one bit of it changes them."""
    folded = sequence ^ time ^ (priority << 24) ^ (is_text << 31)
    if expires is not None:
        folded ^= ~expires
    return (folded ^ (folded >> 32)) & 0xFFFFFFFF


def checksum(
    stamp: int, key: str, data: bytes, given_id: str | None, metadata: str | None, envelope: str | None
) -> int:
    """The CRC-32 of everything that a consumer gets, and of the number under which it is stored (see ``stamp``)."""
    value = crc32(data, stamp ^ crc32(key.encode()))
    if given_id is None and metadata is None and envelope is None:
        return value
    return crc32(f"{given_id}\0{metadata}\0{envelope}".encode(), value)


def plain_checksum(sequence: int, time: int, priority: int, key: str, data: bytes) -> int:
    """The same for what most messages are: bytes and a key, and no more."""
    folded = sequence ^ time ^ (priority << 24)
    return crc32(data, crc32(key.encode()) ^ (folded ^ (folded >> 32)) & 0xFFFFFFFF)


def write_envelope(message: Message) -> str:
    """The fields of a message that the queue has no columns for, as ``StoredMessage.message`` reads them."""
    fields = {
        "content_type": message.content_type,
        "time": None if message.time is None else message.time.isoformat(),
        "source": message.source,
        "correlation_id": message.correlation_id,
        "causation_id": message.causation_id,
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


class DeadLetter(NamedTuple):
    """A delivery that was given up."""

    message: StoredMessage | None
    """None when nothing of it can be read any more."""
    sequence: int
    subscription: str
    """The name of the subscription; empty for the queue itself."""
    route: str | None
    attempts: int
    reason: str
    last_error: str | None
    died_at: float


class Sizes(NamedTuple):
    """How much is in which status: deliveries for the first four, whole messages for done and archived."""

    ready: int
    delayed: int
    leased: int
    dead: int
    done: int
    archived: int


# -- what is to be put, checked before anything is stored


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
