"""Deliveries to another queue: each once, with all that the message says."""

from __future__ import annotations

import asyncio
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from pointsman.destinations import DeliveryFailed, make_sink
from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.broker.destinations.deliveries import deliver, delivery


def sink(folder: Path, **options: Any) -> Any:
    """The sink of the queue ``out.db``."""
    return make_sink("there", "queue", {"path": "out.db", **options}, folder)


def test_a_message_is_in_the_queue_under_its_subject_and_the_id_of_the_delivery(tmp_path: Path) -> None:
    """With its body as it is, and the rest of it in the metadata."""
    given_one = delivery(
        b"\x00\xff",
        metadata={"region": "EU"},
        content_type="image/png",
        time=datetime(2026, 5, 1, tzinfo=UTC),
        source="/shop",
        causation_id="0",
    )
    assert deliver(sink(tmp_path), given_one) == [None]
    with Queue(tmp_path / "out.db") as queue:
        found = queue.pop("orders.*")
        assert found is not None
        assert (found.id, found.routing_key, found.data) == ("delivery-1", "orders.paid", b"\x00\xff")
        assert found.metadata == {
            "region": "EU",
            "pointsman-message-id": "message 1",
            "pointsman-route": "everything",
            "pointsman-subject": "orders.paid",
            "pointsman-source": "/shop",
            "pointsman-time": "2026-05-01T00:00:00Z",
            "pointsman-content-type": "image/png",
            "pointsman-correlation-id": "message 1",
            "pointsman-causation-id": "0",
        }


def test_a_delivery_that_comes_again_is_in_the_queue_once(tmp_path: Path) -> None:
    """At once, later, and also when it was consumed in between."""
    assert deliver(sink(tmp_path), delivery(), delivery(), delivery(number=2)) == [None] * 3
    assert deliver(sink(tmp_path), delivery()) == [None]
    with Queue(tmp_path / "out.db") as queue:
        taken = queue.pop_many(10)
        assert sorted(each.id for each in taken) == ["delivery-1", "delivery-2"]
        assert queue.ack_many(taken) == 2
    assert deliver(sink(tmp_path), delivery()) == [None]
    with Queue(tmp_path / "out.db") as queue:
        assert queue.pop() is None


def test_the_routing_key_and_the_dialect_are_options(tmp_path: Path) -> None:
    """The subject stands where its placeholder is."""
    assert deliver(sink(tmp_path, routing_key="in/{subject}", dialect="mqtt"), delivery()) == [None]
    with Queue(tmp_path / "out.db", dialect="mqtt") as queue:
        found = queue.pop("in/+")
        assert found is not None
        assert found.routing_key == "in/orders.paid"


def test_what_the_queue_will_never_take_is_not_tried_again(tmp_path: Path) -> None:
    """A body above its limit, and a key that its dialect does not have; the others are put."""
    too_large, good = delivery(bytes(17 << 20), number=1), delivery(number=2)
    first, second = deliver(sink(tmp_path), too_large, good)
    assert first is not None
    assert (first.retry, second) == (False, None)
    assert "[too-large]" in first.reason
    (third,) = deliver(sink(tmp_path, routing_key="k" * 256), delivery(number=3))
    assert third is not None
    assert not third.retry


def test_a_queue_that_another_process_has_locked_is_tried_again(tmp_path: Path) -> None:
    """As after all failures that are the queue's and not the message's."""
    there = sink(tmp_path)

    async def run() -> None:
        await there.open()
        await there.close()
        there._queue = Queue(tmp_path / "out.db", busy_timeout=0.05)
        with closing(apsw.Connection(str(tmp_path / "out.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DeliveryFailed, match=r"\[store-busy\]") as caught:
                await there.deliver(delivery())
            assert caught.value.retry
        await there.deliver(delivery())
        await there.close()

    asyncio.run(run())
    with Queue(tmp_path / "out.db") as queue:
        assert [each.id for each in queue.pop_many(10)] == ["delivery-1"]


def test_a_file_that_is_no_queue_is_refused_when_the_sink_is_opened(tmp_path: Path) -> None:
    """And is left as it is."""
    (tmp_path / "out.db").write_bytes(b"no database " * 1000)
    with pytest.raises(StoreError):
        deliver(sink(tmp_path), delivery())
    assert (tmp_path / "out.db").read_bytes() == b"no database " * 1000
