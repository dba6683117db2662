"""The fields of a message, what may be in them, and its dict form."""

import copy
import json
import pickle
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import MessageError
from pointsman.message import Message
from tests.message.strategies import json_values, messages, times

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_new_message_gets_an_id_and_a_time_and_is_the_root_of_its_correlation():
    """What is not given is filled in: an id of its own, the present time, and its own id as correlation id."""
    before = datetime.now(UTC)
    message = Message("orders.created")
    assert uuid.UUID(message.id).version == 4
    assert before <= message.time <= datetime.now(UTC)
    assert (message.body, dict(message.metadata), message.content_type) == (b"", {}, None)
    assert (message.source, message.correlation_id, message.causation_id) == ("pointsman", message.id, None)
    assert Message("orders.created").id != message.id


def test_none_for_time_and_correlation_id_stays_none():
    """None says 'not known', which is not the same as leaving the field out."""
    message = Message("a", time=None, correlation_id=None)
    assert message.time is None
    assert message.correlation_id is None


@pytest.mark.parametrize("body", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_every_kind_of_bytes_becomes_bytes(body):
    """A bytearray or memoryview is copied, so that a later change of it cannot change the message."""
    message = Message("a", body)
    assert message.body == b"abc"
    assert type(message.body) is bytes


def test_the_metadata_is_a_read_only_copy():
    """Neither the caller's dict nor the message's mapping can change the metadata."""
    given_metadata = {"region": "EU"}
    message = Message("a", metadata=given_metadata)
    given_metadata["region"] = "US"
    assert message.metadata == {"region": "EU"}
    with pytest.raises(TypeError):
        message.metadata["region"] = "US"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"subject": b"a"}, "subject is bytes, not text"),
        ({"subject": "\ud800"}, "subject holds a lone surrogate"),
        ({"body": "text"}, "body is str, not bytes"),
        ({"metadata": [("a", "b")]}, "metadata is list, not a mapping"),
        ({"metadata": {1: "b"}}, "the metadata key 1 is int"),
        ({"metadata": {"a": 1}}, "metadata['a'] is int"),
        ({"metadata": {"a": "\udfff"}}, "metadata['a'] holds a lone surrogate"),
        ({"id": ""}, "the id is empty"),
        ({"id": None}, "id is NoneType"),
        ({"content_type": 1}, "content_type is int"),
        ({"source": None}, "source is NoneType"),
        ({"correlation_id": 1}, "correlation_id is int"),
        ({"causation_id": 1}, "causation_id is int"),
        ({"time": "2026-05-01T12:00:00Z"}, "time is str, not a datetime"),
        ({"time": datetime(2026, 5, 1)}, "time cannot be used: the time has no UTC offset"),
        ({"time": datetime(1, 1, 1, tzinfo=timezone(timedelta(seconds=1)))}, "time cannot be used"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(fields, named):
    """The error says which field is wrong and what it is instead."""
    with pytest.raises(MessageError) as caught:
        Message(**{"subject": "a"} | fields)
    assert named in caught.value.problem
    assert caught.value.code == "bad-message"


def test_a_named_time_zone_becomes_the_offset_it_has_at_that_time():
    """Also in the hour that a clock change repeats, where Python finds equal instants of two zones unequal."""
    berlin = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)
    message = Message("a", time=berlin)
    assert message.time == datetime(2024, 10, 27, 1, 30, tzinfo=UTC)
    assert message.time.isoformat() == "2024-10-27T02:30:00+01:00"


def test_an_offset_with_seconds_becomes_utc():
    """Timestamps on the wire have offsets of whole minutes only."""
    odd = timezone(timedelta(minutes=9, seconds=21))
    assert Message("a", time=NOON.astimezone(odd)).time.isoformat() == NOON.isoformat()


def test_a_time_zone_without_an_offset_is_no_time_zone():
    """A tzinfo that answers None makes the time as naive as none at all."""

    class Nowhere(tzinfo):
        def utcoffset(self, _when):
            return None

    with pytest.raises(MessageError):
        Message("a", time=datetime(2026, 5, 1, tzinfo=Nowhere()))


def test_messages_are_equal_by_all_fields_and_hashed_by_id():
    """The order of the metadata does not matter; any other difference does."""
    one = Message("a", id="1", time=NOON, metadata={"x": "1", "y": "2"})
    same = Message("a", id="1", time=NOON, metadata={"y": "2", "x": "1"})
    other = one.replace(metadata={"x": "1"})
    assert one == same
    assert hash(one) == hash(same) == hash(other)
    assert one != other
    assert len({one, same, other}) == 2


@given(messages)
def test_pickling_and_copying_give_an_equal_message(message):
    """Messages cross process boundaries, where the read-only metadata must come out read-only again."""
    for again in (pickle.loads(pickle.dumps(message)), copy.copy(message), copy.deepcopy(message)):
        assert again == message
        assert type(again.metadata) is type(message.metadata)


def test_replace_changes_what_is_named_and_checks_it():
    """A new id leaves the correlation as it is, and a wrong value is found as in a new message."""
    message = Message("a", id="1")
    assert message.replace(id="2", subject="b").correlation_id == "1"
    with pytest.raises(MessageError):
        message.replace(subject=None)
    with pytest.raises(TypeError):
        message.replace(nonsense=1)


def test_a_caused_message_continues_the_correlation_and_inherits_nothing_else():
    """The chain of causes can be followed back to the root by the ids."""
    root = Message("orders.created", id="1", source="/shop", metadata={"region": "EU"}, content_type="text/plain")
    child = root.caused("invoices.created", b"x", source="/billing")
    grandchild = child.caused("mail.sent")
    assert (child.correlation_id, child.causation_id) == ("1", "1")
    assert (grandchild.correlation_id, grandchild.causation_id) == ("1", child.id)
    assert (child.body, child.source, child.metadata, child.content_type) == (b"x", "/billing", {}, None)
    assert grandchild.source == "pointsman"


def test_a_message_of_unknown_correlation_starts_one_with_its_id():
    """Where the correlation of the parent is not known, its id is the best there is."""
    assert Message("a", id="1", correlation_id=None).caused("b").correlation_id == "1"
    assert Message("a", id="1", correlation_id="").caused("b").correlation_id == ""


def test_a_reply_goes_to_the_subject_given_or_else_to_the_one_asked_for():
    """The metadata key 'reply-to' is where the sender waits."""
    question = Message("stock.query", id="1", metadata={"reply-to": "inbox.7"})
    reply = question.reply(b"12", content_type="text/plain")
    assert (reply.subject, reply.body, reply.causation_id) == ("inbox.7", b"12", "1")
    assert question.reply(subject="elsewhere").subject == "elsewhere"


def test_a_reply_to_nowhere_is_an_error():
    """Without a subject and without 'reply-to' there is nobody to answer."""
    with pytest.raises(MessageError, match="nowhere to reply to"):
        Message("stock.query").reply(b"12")


@given(messages)
def test_the_dict_form_passes_through_json_without_loss(message):
    """What to_dict makes is JSON, and from_dict makes an equal message of it."""
    again = Message.from_dict(json.loads(json.dumps(message.to_dict())))
    assert again == message


@given(times)
def test_the_dict_form_keeps_the_offset_of_the_time(time):
    """Not only the instant comes back but also the offset it was given in."""
    again = Message.from_dict(Message("a", time=time).to_dict()).time
    assert (again, again.utcoffset()) == (time, time.utcoffset())


def test_a_body_that_is_not_utf8_is_base64_in_the_dict_form():
    """A text stays readable, and bytes stay exact."""
    assert Message("a", "é".encode()).to_dict()["body"] == "é"
    form = Message("a", b"\xff").to_dict()
    assert form["body_base64"] == "/w=="
    assert "body" not in form


@given(json_values.filter(lambda value: value is not None and not isinstance(value, str)))
def test_a_body_may_be_written_as_a_json_value(value):
    """An object, list, number or boolean becomes compact JSON of the content type application/json."""
    message = Message.from_dict({"subject": "a", "body": value})
    assert json.loads(message.body) == value
    assert message.content_type == "application/json"


def test_a_content_type_that_is_given_is_kept():
    """Only a missing content type is filled in, and only for a JSON value."""
    typed = {"subject": "a", "body": [1, 2], "content_type": "application/x+json"}
    assert Message.from_dict(typed).content_type == "application/x+json"
    assert Message.from_dict({"subject": "a", "body": "[1]"}).content_type is None


def test_what_a_dict_leaves_out_is_filled_in_and_what_is_none_is_not():
    """A dict with a subject alone is a new message."""
    new = Message.from_dict({"subject": "a"})
    assert new.time is not None
    assert new.correlation_id == new.id
    old = Message.from_dict({"subject": "a", "time": None, "correlation_id": None})
    assert (old.time, old.correlation_id) == (None, None)


@pytest.mark.parametrize(
    ("mapping", "named"),
    [
        ([], "a message is an object, not list"),
        ({}, "the subject is missing"),
        ({"subject": "a", "sbject": 1, "x": 2, 3: 4}, "a message has no 'sbject', 'x', 3"),
        ({"subject": "a", "body": "", "body_base64": ""}, "both a body and a body_base64"),
        ({"subject": "a", "body_base64": "/w"}, "body_base64 is not Base64"),
        ({"subject": "a", "body_base64": "é"}, "body_base64 is not Base64"),
        ({"subject": "a", "body_base64": 1}, "body_base64 is int"),
        ({"subject": "a", "body": None}, "body is NoneType"),
        ({"subject": "a", "body": b""}, "body is bytes"),
        ({"subject": "a", "body": "\ud800"}, "body holds a lone surrogate"),
        ({"subject": "a", "body": float("nan")}, "cannot be written as JSON"),
        ({"subject": "a", "body": [{1}]}, "cannot be written as JSON"),
        ({"subject": "a", "body": 10**5000}, "cannot be written as JSON"),
        ({"subject": "a", "id": None}, "id is NoneType"),
        ({"subject": "a", "time": 5}, "time is int"),
        ({"subject": "a", "time": "2026-05-01T12:00:00"}, "cannot be read"),
        ({"subject": "a", "time": "2026-02-30T12:00:00Z"}, "cannot be read"),
        ({"subject": "a", "time": "2026-05-01T12:00:00+01:60"}, "cannot be read"),
        ({"subject": "a", "time": "2026-05-01T12:00:00+24:00"}, "cannot be read"),
        ({"subject": "a", "time": "0000-01-01T12:00:00Z"}, "before the year 1"),
    ],
)
def test_a_dict_that_is_no_message_is_refused(mapping, named):
    """The error names what is wrong."""
    with pytest.raises(MessageError) as caught:
        Message.from_dict(mapping)
    assert named in caught.value.problem


def test_a_body_nested_too_deeply_is_refused():
    """Deep nesting is an error of the message and never a RecursionError."""
    body = []
    for _ in range(200_000):
        body = [body]
    with pytest.raises(MessageError, match="nested too deeply"):
        Message.from_dict({"subject": "a", "body": body})


def test_a_lone_surrogate_inside_a_json_body_is_escaped():
    """JSON can hold what UTF-8 cannot, and the body says so in ASCII."""
    assert Message.from_dict({"subject": "a", "body": ["\ud800é"]}).body == b'["\\ud800\\u00e9"]'


KEYS = st.sampled_from([*Message("a").to_dict(), "body_base64", "other"])


@given(json_values | st.dictionaries(KEYS, json_values).map(lambda found: {"subject": "a"} | found))
def test_any_json_is_a_message_or_a_message_error(value):
    """Nothing but MessageError comes out of from_dict, whatever goes in."""
    with suppress(MessageError):
        assert isinstance(Message.from_dict(value), Message)


def test_a_body_that_is_no_bytes_is_an_error_that_says_what_to_write() -> None:
    """Objects go through ``from_dict``, texts are encoded."""
    with pytest.raises(MessageError, match=r"body is dict, not bytes: Message.from_dict makes JSON"):
        Message("a.b", {"x": 1})
    with pytest.raises(MessageError, match="body is str, not bytes: encode it"):
        Message("a.b", "text")


def test_json_gives_the_body_with_its_numbers_as_they_are() -> None:
    """Whole numbers of any size stay whole; what is no JSON is an error."""
    assert Message("a", b'{"n": 9007199254740993, "x": 2, "y": 2.0}').json() == {
        "n": 9007199254740993,
        "x": 2,
        "y": 2.0,
    }
    assert isinstance(Message("a", b"2").json(), int)
    with pytest.raises(MessageError):
        Message("a", b"{").json()
