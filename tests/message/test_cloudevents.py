"""Messages as CloudEvents and back: nothing is lost in either direction."""

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import example, given
from hypothesis import strategies as st

from pointsman.errors import MessageError, MissingExtraError
from pointsman.message import Message
from tests.message.strategies import attributes, content_types, json_values, messages, texts, time_texts, times

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
REQUIRED = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "paid"}


def written(message: Message) -> dict:
    """The JSON object that a message is written as."""
    return json.loads(message.to_cloudevent_json())


def read(**members: object) -> Message:
    """The message in a CloudEvent with the required attributes and these."""
    return Message.from_cloudevent_json(json.dumps(REQUIRED | members))


def same(one: object, other: object) -> bool:
    """Whether two values are equal and of equal types all the way down, so that 1 is not True."""
    return one == other and repr(one) == repr(other)


def sorted_items(mapping: dict) -> list:
    """The items of a mapping, in an order that does not depend on how it was made."""
    return sorted(mapping.items())


# Both round trips


@given(messages)
def test_every_message_comes_back_from_json(message):
    """Message to structured JSON to message is the identity, for texts and for bytes."""
    text = message.to_cloudevent_json()
    assert Message.from_cloudevent_json(text) == message
    assert Message.from_cloudevent_json(text.encode()) == message


@given(messages)
def test_every_message_comes_back_from_the_package(message):
    """Message to an event of the cloudevents package to message is the identity."""
    assert Message.from_cloudevent(message.to_cloudevent()) == message


@given(messages)
def test_a_message_crosses_from_one_form_to_the_other_and_back(message):
    """What one form marks in the metadata, the other form carries."""
    there = Message.from_cloudevent_json(Message.from_cloudevent(message.to_cloudevent()).to_cloudevent_json())
    assert Message.from_cloudevent(there.to_cloudevent()) == message


data_members = st.one_of(
    st.just({}),
    json_values.map(lambda value: {"data": value}),
    texts.map(lambda text: {"data": text}),
    st.sampled_from(["", "AAAA", "/w==", "eyJhIjoxfQ==", "bnVsbA=="]).map(lambda text: {"data_base64": text}),
)


@given(attributes, data_members, st.none() | time_texts)
def test_every_json_event_comes_back(event, data, time):
    """CloudEvent to message to CloudEvent has equal attributes, of equal types, and equal data in the same member."""
    event = event | data | ({} if time is None else {"time": time})
    message = Message.from_cloudevent_json(json.dumps(event))
    assert same(sorted_items(written(message)), sorted_items(event))


package_data = st.one_of(st.none(), st.binary(max_size=8), json_values, texts, st.just(b"null"), st.just(b'{"a":1}'))
package_extensions = st.dictionaries(st.sampled_from(["a", "b", "correlationid"]), times | st.binary(max_size=5))


@given(attributes, package_extensions, package_data, times)
def test_every_event_of_the_package_comes_back(event, extensions, data, time):
    """Event to message to event has equal attributes, timestamps and bytes among them, and equal data."""
    original = CloudEvent(event | extensions | {"time": time}, data)
    again = Message.from_cloudevent(original).to_cloudevent()
    assert same(sorted_items(again.get_attributes()), sorted_items(original.get_attributes()))
    assert same(again.get_data(), original.get_data())


@given(messages)
def test_what_is_written_is_what_the_package_can_read(message):
    """The package's own JSON reader takes our events and sees the same attributes."""
    if message.time is None:
        message = message.replace(time=NOON)
    event = JSONFormat().read(None, message.replace(metadata={}).to_cloudevent_json())
    assert event.get_id() == message.id
    assert event.get_time() == message.time


@given(messages)
def test_the_attributes_written_are_legal(message):
    """Required attributes are never empty and every name is of lower-case letters and digits."""
    event = written(message)
    assert all(event[name] for name in REQUIRED)
    assert all(event.get(name, "-") for name in ("subject", "datacontenttype", "dataschema"))
    names = event.keys() - {"data_base64"}
    assert all(name.isascii() and name.isalnum() and name == name.lower() for name in names)


# The mapping


def test_an_ordinary_message_is_an_ordinary_event():
    """No mark of ours is in an event that does not need one."""
    message = Message(
        "orders.paid",
        b'{"amount":5}',
        id="2",
        time=NOON,
        source="/shop",
        content_type="application/json",
        correlation_id="1",
        causation_id="1",
        metadata={"region": "EU"},
    )
    assert written(message) == {
        "specversion": "1.0",
        "id": "2",
        "source": "/shop",
        "type": "orders.paid",
        "subject": "orders.paid",
        "time": "2026-05-01T12:00:00Z",
        "datacontenttype": "application/json",
        "region": "EU",
        "correlationid": "1",
        "causationid": "1",
        "data": {"amount": 5},
    }


def test_what_only_an_event_has_is_kept_in_the_metadata():
    """Type, schema, exact time, types of extensions and kind of data each have their key."""
    message = read(
        subject="orders.1", dataschema="/s", time="2026-05-01T12:00:00.123456789z", n=5, yes=True, data_base64="e30="
    )
    assert message.metadata == {
        "cloudevents:type": "paid",
        "cloudevents:dataschema": "/s",
        "cloudevents:time": "2026-05-01T12:00:00.123456789z",
        "cloudevents:types": '{"n":"integer","yes":"boolean"}',
        "cloudevents:data": "binary",
        "n": "5",
        "yes": "true",
    }
    assert (message.subject, message.body) == ("orders.1", b"{}")
    assert message.time == NOON.replace(microsecond=123456)
    event = written(message)
    assert (event["type"], event["dataschema"], event["n"], event["yes"]) == ("paid", "/s", 5, True)


def test_a_leap_second_is_the_last_instant_before_it():
    """No datetime has a second 60, so the text is kept and the time stays in its minute."""
    message = read(time="2016-12-31T23:59:60Z")
    assert message.time == datetime(2016, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert written(message)["time"] == "2016-12-31T23:59:60Z"


def test_an_event_without_a_subject_is_sent_under_its_type():
    """The mark 'absent' keeps the subject out of the event on the way back."""
    message = read()
    assert (message.subject, message.metadata) == ("paid", {"cloudevents:subject": "absent"})
    assert (message.time, message.correlation_id) == (None, None)
    assert "subject" not in written(message)


def test_what_the_natural_form_cannot_carry_is_in_one_attribute():
    """The attribute 'pointsman' holds exactly what would not come back, and null for what would come back in excess."""
    message = Message("", id="1", source="", time=None, metadata={"Region-Code": "x", "plain": "y", "empty": ""})
    event = written(message)
    assert (event["plain"], event["empty"], event["source"], event["type"]) == ("y", "", "pointsman", "pointsman")
    assert json.loads(event["pointsman"]) == {
        "subject": "",
        "source": "",
        "metadata": {"Region-Code": "x", "cloudevents:subject": None},
    }


@pytest.mark.parametrize(
    "value",
    [
        "anything",
        "{",
        "[]",
        5,
        True,
        "{}",
        '{"metadata":{"a":"b"}}',
        '{"subject":5}',
        '{"source":"\\ud800"}',
        '{"other":1}',
    ],
)
def test_an_attribute_of_our_name_that_is_not_ours_is_an_extension(value):
    """An event of somebody else's with an attribute 'pointsman' comes back as it was."""
    message = read(pointsman=value)
    assert "pointsman" in message.metadata
    assert same(written(message)["pointsman"], value)


def test_metadata_that_looks_like_our_attribute_is_not_taken_for_it():
    """A message whose metadata imitates the overflow of another message comes back as it was."""
    imitation = Message("", id="1", time=None).to_cloudevent_json()
    message = Message("a", metadata={"pointsman": json.loads(imitation)["pointsman"]})
    assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message


def test_imitations_inside_of_imitations_come_back():
    """However deep the attribute is nested in itself, the message survives, and it takes no long time."""
    message = Message("a", metadata={"A": "b"})
    for _ in range(12):
        message = Message("a", metadata={"A": "b", "pointsman": written(message)["pointsman"]})
        assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"extra":"integer","extra":"integer"}', "[" * 200_000])
def test_types_that_are_not_a_json_object_are_metadata_like_any_other(text):
    """Anybody may write anything under the key; it comes back and does no harm."""
    message = Message("a", metadata={"extra": "5", "cloudevents:types": text})
    assert written(message)["extra"] == "5"
    assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message


@pytest.mark.parametrize("text", ["yesterday", "2026-05-01T13:00:00Z", "2026-05-01T12:00:00Z"])
def test_a_time_text_that_contradicts_the_time_or_adds_nothing_is_not_written(text):
    """The time of the message counts, and the metadata comes back all the same."""
    message = Message("a", time=NOON, metadata={"cloudevents:time": text})
    assert written(message)["time"] == "2026-05-01T12:00:00Z"
    assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", "integer"),
        ("007", "integer"),
        ("9" * 5000, "integer"),
        ("yes", "boolean"),
        ("5", "float"),
        ("5", ["integer"]),
        ("yesterday", "timestamp"),
        ("0000-01-01T00:00:00Z", "timestamp"),
        ("/w", "binary"),
    ],
)
def test_a_type_that_the_text_does_not_have_leaves_it_a_text(text, kind):
    """Metadata that claims a wrong type is kept as it is and does no harm."""
    message = Message("a", metadata={"extra": text, "cloudevents:types": json.dumps({"extra": kind})})
    assert written(message)["extra"] == text
    assert message.to_cloudevent().get_extension("extra") == text
    assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message
    assert Message.from_cloudevent(message.to_cloudevent()) == message


@pytest.mark.parametrize(
    ("body", "content_type", "member", "value"),
    [
        (b"", None, None, None),
        (b"null", None, "data", None),
        (b'{"a":1}', None, "data", {"a": 1}),
        (b'"text"', "application/json", "data", "text"),
        (b'{"a":1}', "application/vnd.shop+json;v=1", "data", {"a": 1}),
        (b'{"a": 1}', "application/json", "data_base64", "eyJhIjogMX0="),
        (b'{"a":1,"a":1}', "application/json", "data_base64", "eyJhIjoxLCJhIjoxfQ=="),
        (b"NaN", None, "data_base64", "TmFO"),
        (b"\xff", None, "data_base64", "/w=="),
        (b'{"a":1}', "text/plain", "data", '{"a":1}'),
        (b"\xff", "text/plain", "data_base64", "/w=="),
        (b'"\\ud800"', "application/json", "data", "\ud800"),
    ],
)
def test_the_data_is_json_or_text_or_base64(body, content_type, member, value):
    """A JSON value only where its compact text is the body, a text only where it is UTF-8, else Base64."""
    event = written(Message("a", body, content_type=content_type))
    assert {name: event[name] for name in ("data", "data_base64") if name in event} == (
        {} if member is None else {member: value}
    )


@pytest.mark.parametrize("depth", [1, 99, 100, 101, 300, 900, 1000, 5000, 200_000])
def test_a_body_of_any_depth_can_be_written_and_read(depth):
    """What is nested deeper than any reader is sure to accept is written as Base64."""
    message = Message("a", b"[" * depth + b"]" * depth)
    assert ("data" in written(message)) == (depth <= 100)
    assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message
    assert Message.from_cloudevent(message.to_cloudevent()) == message


@pytest.mark.parametrize(
    ("members", "body"),
    [
        ({"data": None}, b"null"),
        ({"data": ""}, b'""'),
        ({"data": "é", "datacontenttype": "text/plain"}, "é".encode()),
        ({"data": "", "datacontenttype": "text/plain"}, b""),
        ({"data": {"b": [1, 2.5]}, "datacontenttype": "text/plain"}, b'{"b":[1,2.5]}'),
        ({"data": ["\ud800é"]}, b'["\\ud800\\u00e9"]'),
        ({"data_base64": ""}, b""),
        ({}, b""),
    ],
)
def test_no_data_and_empty_data_and_null_are_told_apart(members, body):
    """Each gives its body, and each comes back in the member that it came in."""
    message = read(**members)
    assert message.body == body
    assert {k: v for k, v in written(message).items() if k.startswith("data")} == members


def test_an_attribute_that_is_null_counts_as_left_out():
    """So says the JSON format of CloudEvents."""
    assert read(subject=None, extra=None, time=None) == read()
    with pytest.raises(MessageError, match="'id' is missing"):
        read(id=None)


# What is refused


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("{", "bad-json", "line 1 is not JSON"),
        ("\n  nonsense", "bad-json", "line 2 is not JSON"),
        ('{"id":"1","id":"2"}', "bad-json", "the same key twice"),
        ('{"data":NaN}', "bad-json", "NaN is no JSON number"),
        ('{"data":' + "9" * 5000 + "}", "bad-json", "not usable JSON"),
        ("[" * 200_000, "bad-json", "nested too deeply"),
        (b"\xff", "bad-json", "not UTF-8"),
        ('"\ud800"', "bad-json", "not UTF-8"),
        ("[]", "not-cloudevent", "not an object"),
        (None, "bad-message", "not NoneType"),
        ('{"specversion":"1.0","id":"1","source":"/s"}', "not-cloudevent", "'type' is missing"),
        ('{"specversion":"0.3","id":"1","source":"/s","type":"t"}', "not-cloudevent", "specversion is '0.3'"),
    ],
)
def test_a_text_that_is_no_event_is_refused(text, code, named):
    """The error has the code of what is wrong and says it."""
    with pytest.raises(MessageError) as caught:
        Message.from_cloudevent_json(text)
    assert caught.value.code == code
    assert named in caught.value.problem


def test_a_syntax_error_has_a_line_and_a_column():
    """An editor can go to the place."""
    with pytest.raises(MessageError) as caught:
        Message.from_cloudevent_json('{"id":"1",\n "source": }')
    assert (caught.value.line, caught.value.column) == (2, 12)


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"specversion": 1.0}, "'specversion' is not a text"),
        ({"id": ""}, "'id' is not a text of at least one character"),
        ({"source": 5}, "'source' is not a text"),
        ({"type": ""}, "'type' is not a text"),
        ({"subject": ""}, "'subject' is not a text"),
        ({"datacontenttype": ""}, "'datacontenttype' is not a text"),
        ({"dataschema": 5}, "'dataschema' is not a text"),
        ({"time": 5}, "'time' is not a timestamp"),
        ({"time": "yesterday"}, "the time 'yesterday' cannot be read"),
        ({"Extra": "x"}, "the attribute name 'Extra'"),
        ({"extra\n": "x"}, "the attribute name 'extra\\n'"),
        ({"extra": 1.5}, "'extra' is of a type that CloudEvents does not have"),
        ({"extra": {"a": 1}}, "'extra' is of a type"),
        ({"extra": "\ud800"}, "lone surrogate"),
        ({"data": 1, "data_base64": ""}, "both data and data_base64"),
        ({"data_base64": "/w"}, "data_base64 is not Base64"),
        ({"data_base64": "/w==\n"}, "data_base64 is not Base64"),
        ({"data_base64": None}, "data_base64 is NoneType"),
        ({"data": "\ud800", "datacontenttype": "text/plain"}, "data holds a lone surrogate"),
    ],
)
def test_an_event_with_a_bad_part_is_refused(members, named):
    """The error names the attribute."""
    with pytest.raises(MessageError) as caught:
        read(**members)
    assert named in caught.value.problem


def test_a_number_that_no_float_holds_is_refused():
    """Reading it as infinity would lose it."""
    with pytest.raises(MessageError, match="cannot be written as JSON"):
        Message.from_cloudevent_json(json.dumps(REQUIRED)[:-1] + ',"data":1e999}')


event_keys = st.sampled_from([*REQUIRED, "subject", "time", "data", "data_base64", "pointsman", "datacontenttype"])
any_members = st.dictionaries(event_keys | st.text(max_size=3), json_values, max_size=4)


@given(st.one_of(json_values, any_members, any_members.map(lambda members: REQUIRED | members)).map(json.dumps))
@example("[" * 500 + "]" * 500)
def test_any_json_is_an_event_or_a_message_error(text):
    """Nothing but MessageError comes out of from_cloudevent_json, whatever goes in."""
    with suppress(MessageError):
        assert isinstance(Message.from_cloudevent_json(text), Message)


@given(st.text() | st.binary())
def test_any_text_is_an_event_or_a_message_error(text):
    """Nothing but MessageError comes out for texts that are not even JSON."""
    with pytest.raises(MessageError):
        Message.from_cloudevent_json(text)


# Events of the package


@pytest.mark.parametrize(
    ("data", "content_type", "body"),
    [
        ({"a": 1}, None, b'{"a":1}'),
        ([1], "application/json", b"[1]"),
        ("text", None, b'"text"'),
        ("text", "text/plain", b"text"),
        ({"a": 1}, "text/plain", b'{"a":1}'),
        (b'{"a":1}', "application/json", b'{"a":1}'),
        (bytearray(b"x"), "text/plain", b"x"),
        (None, None, b""),
        (b"", None, b""),
    ],
)
def test_the_data_of_the_package_is_a_value_a_text_or_bytes(data, content_type, body):
    """Each gives its body, and each comes back as what it was."""
    typed = {} if content_type is None else {"datacontenttype": content_type}
    message = Message.from_cloudevent(CloudEvent(REQUIRED | typed, data))
    assert message.body == body
    assert message.to_cloudevent().get_data() == data


class _Endless(list):
    """A list that cannot be compared."""

    __hash__ = None

    def __eq__(self, _other):
        raise RecursionError


@pytest.mark.parametrize("data", [(1, 2), {1: 2}, {"a": NOON}, float("nan"), {1}, "\ud83d\ude00", _Endless([1])])
def test_data_that_json_does_not_give_back_is_refused(data):
    """A tuple would come back as a list, and a date not at all."""
    with pytest.raises(MessageError):
        Message.from_cloudevent(CloudEvent(dict(REQUIRED), data))


def test_a_message_without_a_time_is_an_event_without_one():
    """The package would put the present time there."""
    assert "time" not in Message("a", time=None).to_cloudevent().get_attributes()


@pytest.mark.parametrize("changes", [{"time": "2026-05-01T12:00:00Z"}, {"time": 5}, {"id": ""}, {"extra": 10**5000}])
def test_an_event_that_was_spoiled_after_it_was_made_is_refused(changes):
    """The package hands out its own attributes, so that they may be anything by now."""
    event = CloudEvent(dict(REQUIRED))
    event.get_attributes().update(changes)
    with pytest.raises(MessageError) as caught:
        Message.from_cloudevent(event)
    assert caught.value.code == "not-cloudevent"


def test_what_is_not_an_event_is_refused():
    """A dict is not an event, even with the right keys."""
    with pytest.raises(MessageError, match="dict is not an event"):
        Message.from_cloudevent(dict(REQUIRED))


def test_a_timestamp_extension_crosses_into_json_and_back():
    """JSON has no timestamps, so the type of the extension goes into our attribute."""
    original = CloudEvent(REQUIRED | {"time": NOON, "expires": NOON, "key": b"\xff"})
    crossed = Message.from_cloudevent_json(Message.from_cloudevent(original).to_cloudevent_json())
    assert crossed.to_cloudevent().get_attributes() == original.get_attributes()


def test_without_the_package_json_works_and_events_name_the_extra(monkeypatch):
    """Structured JSON needs nothing installed; the events of the package need it."""
    monkeypatch.setitem(sys.modules, "cloudevents.core.v1.event", None)
    message = Message("a")
    assert Message.from_cloudevent_json(message.to_cloudevent_json()) == message
    for convert in (message.to_cloudevent, lambda: Message.from_cloudevent(message)):
        with pytest.raises(MissingExtraError, match=r"pointsman\[cloudevents\]"):
            convert()


@given(content_types.filter(bool))
def test_the_content_type_comes_back(content_type):
    """Whatever the content type is, also one that is none."""
    assert Message.from_cloudevent_json(Message("a", content_type=content_type).to_cloudevent_json()).content_type == (
        content_type
    )
