"""Publishing again: which message, and that it ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.destinations import Delivered, DeliveryFailed, SubjectOptions, republished
from pointsman.destinations.subject import HOPS, MAXIMUM_HOPS
from pointsman.message import Message
from tests.broker.destinations.deliveries import delivery

TIME = datetime(2026, 5, 1, tzinfo=UTC)


def test_the_message_keeps_what_it_says_and_names_its_cause() -> None:
    """Subject, id, cause and hop count are new; all else is what it was."""
    given_one = delivery(
        b"\xff\x00", metadata={"region": "EU"}, content_type="image/png", time=TIME, source="/shop", correlation_id="c"
    )
    assert republished(given_one, SubjectOptions(subject="archive")) == Message(
        "archive",
        b"\xff\x00",
        metadata={"region": "EU", HOPS: "1"},
        id="delivery-1",
        content_type="image/png",
        time=TIME,
        source="/shop",
        correlation_id="c",
        causation_id="message 1",
    )


def test_a_message_without_a_correlation_is_the_beginning_of_one() -> None:
    """As for every message that another one causes."""
    assert republished(delivery(correlation_id=None), SubjectOptions(subject="a")).correlation_id == "message 1"


@pytest.mark.parametrize(
    ("template", "subject"),
    [
        ("archive", "archive"),
        ("archive.{subject}", "archive.orders.paid"),
        ("{subject}.{subject}", "orders.paid.orders.paid"),
        ("{other}", "{other}"),
    ],
)
def test_the_subject_stands_where_its_placeholder_is(template: str, subject: str) -> None:
    """And all other text is literal."""
    assert republished(delivery(), SubjectOptions(subject=template)).subject == subject


def test_a_circle_ends_at_the_limit() -> None:
    """The failure is not one to try again."""
    options = SubjectOptions(subject="{subject}")
    there = delivery()
    for number in range(MAXIMUM_HOPS):
        there = Delivered(f"delivery-{number}", "everything", "there", republished(there, options))
    with pytest.raises(DeliveryFailed, match="published again 16 times already") as caught:
        republished(there, options)
    assert not caught.value.retry


@given(st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.integers().map(str)))
def test_whatever_a_sender_writes_as_its_hop_count_the_circle_ends(count: str) -> None:
    """After one time the count is a number from 1 to the limit, or there is no next time."""
    try:
        hops = republished(delivery(metadata={HOPS: count}), SubjectOptions(subject="a")).metadata[HOPS]
    except DeliveryFailed:
        assert int(count) >= MAXIMUM_HOPS
    else:
        assert 1 <= int(hops) <= MAXIMUM_HOPS
