"""A bucket is read and written as a whole, and only what is asked for is decoded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError
from pointsman.pipeline.correlation.bucket import Bucket
from pointsman.routing.gather import GatherState
from pointsman.routing.saga.definition import Command, Done, SagaState
from pointsman.table.state import Key, Value

TEXTS = st.text(max_size=8)
SECONDS = st.floats(0, 1e9)
KEYS = st.builds(Key, st.sampled_from(["saga", "gather"]), TEXTS, TEXTS)


@st.composite
def states(draw: st.DrawFn) -> dict[Key, tuple[Value, float | None, dict[str, str]]]:
    """Keys with their states, the times at which they are due, and notes."""
    found: dict[Key, tuple[Value, float | None, dict[str, str]]] = {}
    for key in draw(st.lists(KEYS, unique=True, max_size=8)):
        value: Value
        if key.kind == "saga":
            done = (Done("step", (Command(draw(TEXTS), ((draw(TEXTS), draw(TEXTS)),)),)),)
            value = SagaState(key.name, key.correlation_id, draw(TEXTS), draw(SECONDS), done, (draw(TEXTS),))
        else:
            value = GatherState(key.correlation_id, ("a\n", "b"), draw(SECONDS), 2, (("a\n", {"x": draw(TEXTS)}),))
        found[key] = (value, draw(st.none() | SECONDS), draw(st.dictionaries(TEXTS, TEXTS, max_size=2)))
    return found


def filled(content: dict[Key, tuple[Value, float | None, dict[str, str]]]) -> Bucket:
    """A bucket with this content."""
    bucket = Bucket()
    for key, entry in content.items():
        bucket.put(key, *entry)
    return bucket


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(2**53, 2**70))
def test_the_numbers_of_answers_keep_their_value_and_kind(number: float) -> None:
    """A whole number stays whole, however large it is."""
    key = Key("gather", "prices", "1")
    found = Bucket(filled({key: (GatherState("1", ("a",), 1.0, 1, (("a", [number]),)), None, {})}).encode())[key]
    assert repr(found) == repr(GatherState("1", ("a",), 1.0, 1, (("a", [number]),)))


@given(states(), st.none() | st.integers(0, 10**15))
def test_a_bucket_is_read_as_it_was_written(
    content: dict[Key, tuple[Value, float | None, dict[str, str]]], timer: int | None
) -> None:
    """States, times, notes and the timer; also when it is written a second time without being looked at."""
    first = filled(content)
    first.timer = timer
    blob = Bucket(first.encode()).encode()
    again = Bucket(blob)
    assert (set(again), again.timer, again.is_changed) == (set(content), timer, False)
    assert {key: (again[key], again.due(key), again.notes(key)) for key in content} == content
    dues = [due for _, due, _ in content.values() if due is not None]
    assert again.earliest == min(dues, default=None)
    assert len(again.due_by(5e8)) == sum(due <= 5e8 for due in dues)


@given(states(), states())
def test_only_what_changed_is_other_than_before(
    before: dict[Key, tuple[Value, float | None, dict[str, str]]],
    changes: dict[Key, tuple[Value, float | None, dict[str, str]]],
) -> None:
    """What is put replaces what was there, what is dropped is gone, and the rest stays."""
    bucket = Bucket(filled(before).encode())
    for key, entry in changes.items():
        bucket.put(key, *entry)
    dropped = next(iter(before), None)
    if dropped is not None:
        bucket.drop(dropped)
    again = Bucket(bucket.encode())
    expected = {key: entry for key, entry in (before | changes).items() if key != dropped}
    assert {key: (again[key], again.due(key), again.notes(key)) for key in again} == expected


def test_an_entry_that_is_not_asked_for_stays_the_line_that_it_is() -> None:
    """Even one that could not be decoded: it concerns nobody else."""
    key, other = Key("saga", "order", "1"), Key("saga", "order", "2")
    state = SagaState("order", "1", "waiting", 5.0)
    blob = filled({key: (state, 9.0, {}), other: (state, None, {})}).encode()
    header, first, _ = blob.split(b"\n")
    bucket = Bucket(b"\n".join([header, first, b"unreadable"]))
    assert bucket[key] == state
    bucket.put(key, SagaState("order", "1", "done", 6.0), None, {})
    lines = bucket.encode().split(b"\n")
    assert lines[2] == b"unreadable"
    assert json.loads(lines[1])[0]["state"] == "done"
    with pytest.raises(InputError, match="the entry of '2' cannot be read") as caught:
        bucket[other]
    assert caught.value.code == "bad-state"


@pytest.mark.parametrize(
    ("blob", "problem"),
    [
        (b"", "cannot be read"),
        (b"{}", "cannot be read"),
        (b'{"format":"bucket/2"}', "a bucket of the format 'bucket/2' is not one of 'bucket/1'"),
        (b'{"format":"bucket/1","timer":null,"groups":[["saga","order",["1"],[null]]]}', "cannot be read"),
        (b'{"format":"bucket/1","timer":null,"groups":[]}\n[]', "has 1 entries and names 0"),
    ],
)
def test_what_is_no_bucket_is_refused(blob: bytes, problem: str) -> None:
    """A newer format included, so that nothing is misread."""
    with pytest.raises(InputError, match=problem) as caught:
        Bucket(blob)
    assert caught.value.code == "bad-state"
