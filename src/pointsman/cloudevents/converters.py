"""Messages as CloudEvents 1.0, and back, without loss in either direction.

Structured JSON needs nothing else installed; the events of the ``cloudevents`` package need that package (the extra
``cloudevents``). How each part is mapped is shown in docs/messages.md.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, cast

from pointsman._util import json_text
from pointsman.cloudevents.attributes import check_attributes
from pointsman.cloudevents.data import Kind, body_of_value
from pointsman.cloudevents.envelope import JSON_FORM, PACKAGE_FORM, envelope, read, write
from pointsman.errors import MessageError, MissingExtraError
from pointsman.message import Message

if TYPE_CHECKING:
    from cloudevents.core.v1.event import CloudEvent


def to_json(message: Message) -> str:
    """The message as one CloudEvent in structured JSON, on one line.

    Never fails; ``from_json`` makes an equal message of it.

    >>> print(to_json(Message("orders.paid", b'{"amount":5}', id="1", time=None, correlation_id=None)))
    {"specversion":"1.0","id":"1","source":"pointsman","type":"orders.paid","subject":"orders.paid","data":{"amount":5}}
    """
    event = write(message, JSON_FORM)
    attributes = json_text.compact(event.attributes).decode()
    return attributes if event.kind == "none" else f"{attributes[:-1]},{_data_member(event.kind, event.body)}}}"


def from_json(text: str | bytes) -> Message:
    """The message that one CloudEvent in structured JSON is; bytes must be UTF-8.

    ``to_json`` makes an event of it again that has the same attributes, with their types, and the same data. An
    attribute that is null counts as left out, and a fraction in the data is read as a 64-bit float. Raises
    MessageError: ``bad-json`` (with line and column where the syntax is at fault), ``not-cloudevent`` or
    ``bad-message``.

    >>> from_json('{"specversion":"1.0","id":"1","source":"/shop","type":"paid","subject":"orders.1"}').subject
    'orders.1'
    """
    if not isinstance(text, (str, bytes)):
        raise MessageError("bad-message", f"a CloudEvent is read from text or bytes, not {type(text).__name__}")
    members = json_text.parse(text)
    if not isinstance(members, dict):
        raise MessageError("not-cloudevent", "the JSON is not an object")
    data = {name: members.pop(name) for name in ("data", "data_base64") if name in members}
    attributes = {name: value for name, value in members.items() if value is not None}
    check_attributes(attributes)
    body, kind = _json_data(data, attributes.get("datacontenttype"))
    return read(envelope(JSON_FORM, attributes, body, kind))


def to_event(message: Message) -> CloudEvent:
    """The message as an event of the ``cloudevents`` package.

    The data of the event is a parsed JSON value, a text, bytes or None, as the content type says. Raises
    MissingExtraError if the package is not installed; ``from_event`` makes an equal message of the event.
    """
    event_class = _event_class()
    event = write(message, PACKAGE_FORM)
    attributes = dict(event.attributes)
    result = event_class(attributes, _package_data(event.kind, event.body))
    if "time" not in event.attributes:
        # The package puts the present time where there is none, and that would be a time nobody gave.
        result.get_attributes().pop("time", None)
    return result


def from_event(event: CloudEvent) -> Message:
    """The message that an event of the ``cloudevents`` package is.

    ``to_event`` makes an event of it again that has the same attributes, with their types, and the same data. Data
    that is a text counts as JSON if the content type is JSON or absent, as it does in the package's own JSON format.
    Raises MissingExtraError if the package is not installed, MessageError if it is not an event of version 1.0 or if
    its data is a value that JSON does not give back (a tuple, a date, NaN).
    """
    if not isinstance(event, _event_class()):
        raise MessageError("not-cloudevent", f"{type(event).__name__} is not an event of CloudEvents 1.0")
    attributes = {name: value for name, value in event.get_attributes().items() if value is not None}
    check_attributes(attributes)
    if isinstance(attributes.get("time"), str):
        raise MessageError("not-cloudevent", "the attribute 'time' is a text, not a datetime")
    body, kind = _read_package_data(event.get_data(), attributes.get("datacontenttype"))
    return read(envelope(PACKAGE_FORM, attributes, body, kind))


def _data_member(kind: Kind, body: bytes) -> str:
    if kind == "binary":
        return f'"data_base64":"{b64encode(body).decode()}"'
    text = body.decode()
    return f'"data":{text if kind == "json" else json_text.compact(text).decode()}'


def _json_data(data: dict[str, Any], content_type: str | None) -> tuple[bytes, Kind]:
    if len(data) == 2:
        raise MessageError("not-cloudevent", "there are both data and data_base64")
    if "data_base64" in data:
        return json_text.decode_base64("data_base64", data["data_base64"]), "binary"
    return body_of_value(data["data"], content_type) if data else (b"", "none")


def _event_class() -> type[CloudEvent]:
    try:
        from cloudevents.core.v1.event import CloudEvent
    except ImportError:
        raise MissingExtraError("cloudevents", "cloudevents") from None
    return CloudEvent


def _package_data(kind: Kind, body: bytes) -> dict[str, Any] | str | bytes | None:
    if kind == "json":
        # The package names objects only, but reads and writes every JSON value.
        return cast("dict[str, Any]", json_text.parse(body))
    if kind == "text":
        return body.decode()
    return body if kind == "binary" else None


def _read_package_data(data: object, content_type: str | None) -> tuple[bytes, Kind]:
    if data is None:
        return b"", "none"
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data), "binary"
    body, kind = body_of_value(data, content_type)
    if kind == "json" and not json_text.gives_back(body, data):
        raise MessageError("bad-message", "the data of the event is a value that JSON does not give back")
    return body, kind
