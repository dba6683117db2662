"""Every message goes through headers and comes back the same."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given

from pointsman.cloudevents.attributes import Value, check_attributes
from pointsman.cloudevents.data import natural_kind
from pointsman.cloudevents.envelope import DATA, TYPES, envelope, read
from pointsman.destinations import DeliveryFailed
from pointsman.destinations.http import HTTP_FORM, TAKEN_PREFIX, headers_of, is_header_value
from pointsman.message import Message
from tests.broker.destinations.deliveries import delivery
from tests.message.strategies import messages


def received(headers: dict[str, str], body: bytes) -> Message:
    """The message of a request, as a receiver reads it that knows Pointsman."""
    attributes: dict[str, Value] = {
        name.removeprefix(TAKEN_PREFIX): unquote(text)
        for name, text in headers.items()
        if name.startswith(TAKEN_PREFIX)
    }
    if "content-type" in headers:
        attributes["datacontenttype"] = headers["content-type"]
    check_attributes(attributes)
    content_type = headers.get("content-type")
    return read(envelope(HTTP_FORM, attributes, body, natural_kind(body, content_type, null=True)))


@given(messages)
@example(Message("a", metadata={"region": '%41 "x"'}))
@example(Message("a", metadata={"a": "5", TYPES: '{"a":"integer"}'}))
def test_a_message_comes_back_from_its_headers(message: Message) -> None:
    """All of its fields; how data is written in JSON has no meaning here."""
    assume(DATA not in message.metadata)
    given_one = delivery()._replace(message=message)
    if message.content_type and not is_header_value(message.content_type):
        with pytest.raises(DeliveryFailed):
            headers_of(given_one)
    else:
        assert received(headers_of(given_one), message.body) == message


@given(messages)
def test_no_header_can_break_out_of_its_line(message: Message) -> None:
    """Each is printable ASCII, so that nothing in a message can add a header or end the head."""
    given_one = delivery()._replace(message=message.replace(content_type=None), delivery_id=message.id)
    for name, text in headers_of(given_one).items():
        assert name.isascii()
        assert name == name.lower()
        assert text == "" or is_header_value(text)
