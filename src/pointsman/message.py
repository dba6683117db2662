"""The message: what is routed. Its shape is that of CloudEvents 1.0, to and from which it converts without loss."""

from __future__ import annotations

import base64
import dataclasses
import uuid
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pointsman._util import json_text
from pointsman._util.time import format_timestamp, parse_timestamp, with_fixed_offset
from pointsman.errors import MessageError

if TYPE_CHECKING:
    from cloudevents.core.v1.event import CloudEvent

_OWN_ID: Any = object()
SHOWN_BODY = 60
"""Bytes of a body in the ``repr`` of a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message; it never changes, so it is safe to share between threads.

    Two messages are equal when all of their fields are; the hash is that of the id. Every text must be encodable as
    UTF-8. The subject is not held to a dialect here, because only the routing table knows which.

    Raises MessageError ``bad-message``, naming the field, if a field has the wrong type, the id is empty or the time
    has no UTC offset.

    >>> message = Message("orders.created", b"{}", id="1", metadata={"region": "EU"})
    >>> message.metadata["region"], message.correlation_id, message.causation_id
    ('EU', '1', None)
    """

    subject: str
    body: bytes = b""
    _: KW_ONLY
    #: Copied, and read-only afterwards.
    metadata: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    content_type: str | None = None
    #: With an offset of whole minutes; a named time zone is replaced by the offset it has at that time.
    time: datetime | None = field(default_factory=lambda: datetime.now(UTC))
    source: str = "pointsman"
    #: The message's own id unless given; None says that it is not known.
    correlation_id: str | None = _OWN_ID
    causation_id: str | None = None

    def __repr__(self) -> str:
        """The fields that tell messages apart; a long body is cut."""
        body = f"{self.body[:SHOWN_BODY]!r}{'…' if len(self.body) > SHOWN_BODY else ''}"
        return f"Message({self.subject!r}, {body}, id={self.id!r}, metadata={dict(self.metadata)!r})"

    def __post_init__(self) -> None:
        _check_text("subject", self.subject)
        _check_text("id", self.id)
        if not self.id:
            raise MessageError("bad-message", "the id is empty")
        if self.correlation_id is _OWN_ID:
            object.__setattr__(self, "correlation_id", self.id)
        _check_text("source", self.source)
        for name in ("content_type", "correlation_id", "causation_id"):
            if (value := getattr(self, name)) is not None:
                _check_text(name, value)
        object.__setattr__(self, "body", _checked_body(self.body))
        object.__setattr__(self, "metadata", _checked_metadata(self.metadata))
        object.__setattr__(self, "time", _checked_time(self.time))

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only mapping cannot be pickled, and a message that is read again is to be checked again.
        fields = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return _restore, (fields | {"metadata": dict(self.metadata)},)

    def replace(self, **changes: Any) -> Message:
        """The message with some fields changed; a new id leaves the correlation as it is.

        Raises MessageError as the constructor does, and TypeError for a field that does not exist.

        >>> Message("orders.created", id="1").replace(subject="orders.paid").subject
        'orders.paid'
        """
        return dataclasses.replace(self, **changes)

    @property
    def original_subject(self) -> str:
        """The subject that the message came with, before any translation."""
        return self.subject

    def json(self) -> Any:
        """The body, read as JSON. Raises MessageError ``bad-json``.

        >>> Message("orders.created", b'{"amount": 5}').json()["amount"]
        5
        """
        return json_text.parse(self.body)

    def caused(self, subject: str, body: bytes = b"", **fields: Any) -> Message:
        """A new message that this one is the cause of.

        Its correlation id is this one's (this one's id if that is not known) and its causation id is this one's id.
        Nothing else is inherited: not the metadata, and not the source, since whoever reacts to a message is seldom
        who sent it. ``fields`` are the other fields of the constructor. Raises MessageError as the constructor does.

        >>> child = Message("orders.created", id="1").caused("invoices.created", id="2")
        >>> child.correlation_id, child.causation_id
        ('1', '1')
        """
        correlation_id = self.id if self.correlation_id is None else self.correlation_id
        return Message(subject, body, correlation_id=correlation_id, causation_id=self.id, **fields)

    def reply(self, body: bytes = b"", *, subject: str | None = None, **fields: Any) -> Message:
        """An answer: what ``caused`` makes, sent to the subject in the metadata key ``reply-to`` unless one is given.

        Raises MessageError if there is neither, and otherwise as the constructor does.

        >>> Message("stock.query", metadata={"reply-to": "inbox.7"}).reply(b"12").subject
        'inbox.7'
        """
        to = self.metadata.get("reply-to") if subject is None else subject
        if to is None:
            problem = "there is nowhere to reply to: no subject is given and the metadata has no 'reply-to'"
            raise MessageError("bad-message", problem)
        return self.caused(to, body, **fields)

    def to_dict(self) -> dict[str, Any]:
        r"""The message as a dict that JSON can hold; ``from_dict`` makes an equal message of it.

        The body is a text under ``body``, or Base64 under ``body_base64`` if it is not UTF-8.

        >>> message = Message("a.b", b"hello", id="1", time=None)
        >>> message.to_dict()["body"], message.replace(body=b"\xff").to_dict()["body_base64"]
        ('hello', '/w==')
        """
        try:
            body = {"body": self.body.decode()}
        except UnicodeDecodeError:
            body = {"body_base64": base64.b64encode(self.body).decode()}
        return {
            "subject": self.subject,
            **body,
            "metadata": dict(self.metadata),
            "id": self.id,
            "content_type": self.content_type,
            "time": None if self.time is None else format_timestamp(self.time),
            "source": self.source,
            "correlation_id": self.correlation_id,
            "causation_id": self.causation_id,
        }

    @staticmethod
    def from_dict(mapping: Mapping[str, Any]) -> Message:
        """The message that a dict describes; only ``subject`` is required.

        What is left out is filled in as for a new message; None for the time or the correlation id stays None. A body
        that is an object, a list, a number or a boolean becomes compact JSON, and the content type
        ``application/json`` if none is given. Raises MessageError, also for keys that no message has.

        >>> message = Message.from_dict({"subject": "orders.created", "body": {"amount": 5}})
        >>> message.body, message.content_type
        (b'{"amount":5}', 'application/json')
        """
        if not isinstance(mapping, Mapping):
            raise MessageError("bad-message", f"a message is an object, not {type(mapping).__name__}")
        fields = dict(mapping)
        if unknown := fields.keys() - _DICT_KEYS:
            raise MessageError("bad-message", f"a message has no {', '.join(sorted(map(repr, unknown)))}")
        if "subject" not in fields:
            raise MessageError("bad-message", "the subject is missing")
        if "body" in fields and "body_base64" in fields:
            raise MessageError("bad-message", "there are both a body and a body_base64")
        if "body_base64" in fields:
            fields["body"] = json_text.decode_base64("body_base64", fields.pop("body_base64"))
        elif "body" in fields:
            fields |= _body_fields(fields["body"], fields.get("content_type"))
        if fields.get("time") is not None:
            fields["time"] = _parsed_time(fields["time"])
        return Message(**fields)

    def to_cloudevent_json(self) -> str:
        """The message as a CloudEvent in structured JSON; never fails and loses nothing."""
        from pointsman import cloudevents

        return cloudevents.to_json(self)

    @staticmethod
    def from_cloudevent_json(text: str | bytes) -> Message:
        """The message that a CloudEvent in structured JSON is; raises MessageError if the text is none."""
        from pointsman import cloudevents

        return cloudevents.from_json(text)

    def to_cloudevent(self) -> CloudEvent:
        """The message as an event of the ``cloudevents`` package; raises MissingExtraError without the package."""
        from pointsman import cloudevents

        return cloudevents.to_event(self)

    @staticmethod
    def from_cloudevent(event: CloudEvent) -> Message:
        """The message that an event of the ``cloudevents`` package is.

        Raises MissingExtraError without the package, and MessageError for an event that JSON could not hold.
        """
        from pointsman import cloudevents

        return cloudevents.from_event(event)


_DICT_KEYS = {item.name for item in dataclasses.fields(Message)} | {"body_base64"}


def _restore(fields: dict[str, Any]) -> Message:
    return Message(**fields)


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise MessageError("bad-message", f"{name} is {type(value).__name__}, not text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise MessageError("bad-message", f"{name} holds a lone surrogate, which UTF-8 cannot write") from None


def _is_ascii(value: object) -> bool:
    return isinstance(value, str) and value.isascii()


def _checked_body(body: object) -> bytes:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    hint = "encode it" if isinstance(body, str) else "Message.from_dict makes JSON of an object, a list or a number"
    raise MessageError("bad-message", f"body is {type(body).__name__}, not bytes: {hint}")


def _checked_metadata(metadata: object) -> Mapping[str, str]:
    if not isinstance(metadata, Mapping):
        raise MessageError("bad-message", f"metadata is {type(metadata).__name__}, not a mapping")
    copied = dict(metadata)
    for key, value in copied.items():
        if not (_is_ascii(key) and _is_ascii(value)):
            _check_text(f"the metadata key {key!r}", key)
            _check_text(f"metadata[{key!r}]", value)
    return MappingProxyType(copied)


def _checked_time(time: object) -> datetime | None:
    if time is None:
        return None
    if not isinstance(time, datetime):
        raise MessageError("bad-message", f"time is {type(time).__name__}, not a datetime")
    try:
        return with_fixed_offset(time)
    except (ValueError, OverflowError) as error:
        raise MessageError("bad-message", f"time cannot be used: {error}") from None


def _parsed_time(text: object) -> datetime:
    _check_text("time", text)
    try:
        time = parse_timestamp(str(text))
    except ValueError as error:
        raise MessageError("bad-message", f"time {text!r} cannot be read: {error}") from None
    if time is None:
        raise MessageError("bad-message", f"time {text!r} is before the year 1")
    return time


def _body_fields(body: object, content_type: object) -> dict[str, Any]:
    if isinstance(body, str):
        _check_text("body", body)
        return {"body": body.encode()}
    if isinstance(body, (dict, list, int, float)):
        return {
            "body": json_text.compact(body),
            "content_type": "application/json" if content_type is None else content_type,
        }
    problem = f"body is {type(body).__name__}, not text, an object, a list, a number or a boolean"
    raise MessageError("bad-message", problem)
