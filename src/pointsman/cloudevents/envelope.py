"""Between a message and the attributes and data of a CloudEvent, in whichever form the event then takes.

``natural`` and ``plain`` are the mapping that a reader of the event expects. It cannot carry every message (think of
an empty subject or of a metadata key with a capital letter), so ``write`` reads its own result back and puts what did
not come back into one extension attribute, ``pointsman``, which ``read`` takes in again. An event of somebody else's
may have an attribute of that name: ``read`` takes it for ours only if ``write`` would have written exactly that event.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from pointsman._util import json_text
from pointsman._util.time import format_timestamp, parse_timestamp
from pointsman.cloudevents.attributes import Value, is_extension_name, text_of, types_of, value_of
from pointsman.cloudevents.data import Kind, chosen_kind, natural_kind
from pointsman.errors import MessageError
from pointsman.message import Message

# What a CloudEvent has and a message has not, by its key in the metadata.
TYPE = "cloudevents:type"
SUBJECT = "cloudevents:subject"
SCHEMA = "cloudevents:dataschema"
TIME = "cloudevents:time"
TYPES = "cloudevents:types"
DATA = "cloudevents:data"

OVERFLOW = "pointsman"
_TEXT_FIELDS = ("subject", "source", "content_type")


@dataclass(frozen=True, slots=True)
class Form:
    """What differs between structured JSON and the events of the ``cloudevents`` package."""

    #: The time is the text itself rather than a datetime.
    time_is_text: bool
    #: A JSON null can be told from no data.
    null: bool
    #: The types of extensions that do not look like a text.
    types: frozenset[str]


JSON_FORM = Form(time_is_text=True, null=True, types=frozenset({"integer", "boolean"}))
PACKAGE_FORM = Form(time_is_text=False, null=False, types=frozenset({"integer", "boolean", "timestamp", "binary"}))


@dataclass(frozen=True, slots=True)
class Envelope:
    """A CloudEvent: checked attributes, and data as bytes with the kind that it is written in."""

    form: Form
    attributes: dict[str, Value]
    body: bytes
    kind: Kind
    natural_kind: Kind = field(compare=False)


def envelope(form: Form, attributes: dict[str, Value], body: bytes, kind: Kind) -> Envelope:
    """The envelope of an event that was read."""
    content_type = cast("str | None", attributes.get("datacontenttype"))
    return Envelope(form, attributes, body, kind, natural_kind(body, content_type, null=form.null))


def write(message: Message, form: Form) -> Envelope:
    """The event that ``read`` makes an equal message of, for any message."""
    event = _natural(message, form)
    if read(event) == message:
        return event
    event.attributes.pop(OVERFLOW, None)
    lost = _difference(message, _plain(event))
    event.attributes[OVERFLOW] = json_text.compact(lost).decode()
    return event


def read(event: Envelope) -> Message:
    """The message that ``write`` makes an equal event of, for any event; raises MessageError if the event is none."""
    overflow = _overflow(event.attributes.get(OVERFLOW))
    if overflow is not None:
        rest = {name: value for name, value in event.attributes.items() if name != OVERFLOW}
        message = _with_overflow(_plain(replace(event, attributes=rest)), overflow)
        # This ends: what is written has at most the overflow that was inside of this one, which is shorter.
        if message is not None and write(message, event.form) == event:
            return message
    return _plain(event)


def _natural(message: Message, form: Form) -> Envelope:
    metadata = message.metadata
    attributes: dict[str, Value] = {
        "specversion": "1.0",
        "id": message.id,
        "source": message.source or "pointsman",
        "type": metadata.get(TYPE) or message.subject or "pointsman",
    }
    if message.subject and metadata.get(SUBJECT) != "absent":
        attributes["subject"] = message.subject
    if (time := _time_attribute(message, form)) is not None:
        attributes["time"] = time
    if message.content_type:
        attributes["datacontenttype"] = message.content_type
    if schema := metadata.get(SCHEMA):
        attributes["dataschema"] = schema
    attributes |= _extensions(message, form)
    natural = natural_kind(message.body, message.content_type, null=form.null)
    kind = chosen_kind(metadata.get(DATA), natural, message.body, message.content_type, null=form.null)
    return Envelope(form, attributes, message.body, kind, natural)


def _time_attribute(message: Message, form: Form) -> str | datetime | None:
    if not form.time_is_text:
        return message.time
    text = message.metadata.get(TIME)
    try:
        if text is not None and parse_timestamp(text) == message.time:
            return text
    except ValueError:
        pass
    return None if message.time is None else format_timestamp(message.time)


def _extensions(message: Message, form: Form) -> dict[str, Value]:
    texts = {name: text for name, text in message.metadata.items() if is_extension_name(name)}
    if message.correlation_id is not None:
        texts["correlationid"] = message.correlation_id
    if message.causation_id is not None:
        texts["causationid"] = message.causation_id
    types = types_of(message.metadata.get(TYPES))
    return {name: value_of(text, types.get(name), form.types) for name, text in texts.items()}


def _plain(event: Envelope) -> Message:
    """The message that is in the attributes and the data, ``pointsman`` being an extension like any other."""
    attributes = cast("dict[str, Any]", event.attributes)
    metadata: dict[str, str] = {}
    subject, kind = attributes.get("subject"), attributes["type"]
    if subject is None:
        subject = kind
        metadata[SUBJECT] = "absent"
    elif kind != subject:
        metadata[TYPE] = kind
    if "dataschema" in attributes:
        metadata[SCHEMA] = attributes["dataschema"]
    if event.kind != event.natural_kind:
        metadata[DATA] = event.kind
    time = _read_time(attributes.get("time"), metadata)
    extensions = _read_extensions(event.attributes, metadata)
    correlation_id, causation_id = extensions.pop("correlationid", None), extensions.pop("causationid", None)
    return Message(
        subject,
        event.body,
        metadata=metadata | extensions,
        id=attributes["id"],
        content_type=attributes.get("datacontenttype"),
        time=time,
        source=attributes["source"],
        correlation_id=correlation_id,
        causation_id=causation_id,
    )


def _read_time(value: object, metadata: dict[str, str]) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise MessageError("not-cloudevent", "the attribute 'time' is not a timestamp")
    try:
        time = parse_timestamp(value)
    except ValueError as error:
        raise MessageError("not-cloudevent", f"the time {value!r} cannot be read: {error}") from None
    if time is None or format_timestamp(time) != value:
        metadata[TIME] = value
    return time


def _read_extensions(attributes: dict[str, Value], metadata: dict[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    types: dict[str, str] = {}
    for name, value in attributes.items():
        if name in ("correlationid", "causationid") or is_extension_name(name):
            texts[name], kind = text_of(name, value)
            if kind is not None:
                types[name] = kind
    if types:
        metadata[TYPES] = json_text.compact(dict(sorted(types.items()))).decode()
    return texts


def _difference(wanted: Message, found: Message) -> dict[str, Any]:
    lost: dict[str, Any] = {}
    for name in _TEXT_FIELDS:
        if getattr(wanted, name) != getattr(found, name):
            lost[name] = getattr(wanted, name)
    keys = sorted(wanted.metadata.keys() | found.metadata.keys())
    metadata = {key: wanted.metadata.get(key) for key in keys if wanted.metadata.get(key) != found.metadata.get(key)}
    return lost | ({"metadata": metadata} if metadata else {})


def _overflow(value: object) -> dict[str, Any] | None:
    """What is in the attribute ``pointsman``; None if it cannot be what ``write`` put there."""
    if not isinstance(value, str) or not value.startswith("{"):
        return None
    try:
        overflow = json_text.parse(value)
    except MessageError:
        return None
    if not overflow.keys() <= {*_TEXT_FIELDS, "metadata"} or not isinstance(overflow.get("metadata", {}), dict):
        return None
    return cast("dict[str, Any]", overflow)


def _with_overflow(message: Message, overflow: dict[str, Any]) -> Message | None:
    metadata = dict(message.metadata) | overflow.get("metadata", {})
    kept = {key: value for key, value in metadata.items() if value is not None}
    try:
        return message.replace(**overflow | {"metadata": kept})
    except MessageError:
        return None
