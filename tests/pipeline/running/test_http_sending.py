"""What a worker does with the deliveries of a task to an endpoint: when it tries again, and when it gives up."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pointsman.destinations import Delivered, DeliveryFailed
from pointsman.pipeline.destinations.http import Result, Sending, SendingOptions

DOWN = DeliveryFailed("down")
REFUSED = DeliveryFailed("refused", retry=False)


class Scripted:
    """A sink that does with each attempt at a delivery what is written for it, and succeeds after that."""

    def __init__(self, script: dict[str, list[DeliveryFailed]]) -> None:
        self._script = {name: list(failures) for name, failures in script.items()}
        self._under_way = 0
        self.most = 0
        self.attempts: list[str] = []

    async def open(self) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""

    async def deliver(self, delivery: Delivered) -> None:
        """As it is written."""
        self.attempts.append(delivery.delivery_id)
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        failures = self._script.get(delivery.delivery_id, [])
        if failures:
            raise failures.pop(0)


def row(name: str, **changes: Any) -> dict[str, Any]:
    """A delivery as it comes from Spark."""
    fields = dict.fromkeys(("content_type", "source", "correlation_id", "causation_id", "metadata", "body", "time"))
    return {"delivery_id": name, "route": "r", "id": f"m{name}", "subject": "a.b", **fields, **changes}


def send(
    script: dict[str, list[DeliveryFailed]], rows: list[dict[str, Any]], **options: Any
) -> tuple[dict[str, Result], Scripted, list[float]]:
    """What became of each, the sink, and how long it waited between attempts."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def main() -> list[Result]:
        read = SendingOptions(url="http://localhost/", **options)
        return await Sending("hook", read, sink, Random(1), sleep).send_all(rows)

    sink = Scripted(script)
    return {result.delivery_id: result for result in asyncio.run(main())}, sink, waits


def test_what_may_pass_is_tried_again_after_waits_that_grow() -> None:
    """Each wait is random, up to twice what the one before it could be; what may not pass is tried once."""
    results, sink, waits = send({"1": [DOWN] * 3, "2": [REFUSED]}, [row("1"), row("2")], attempts=4, wait=1.0)
    assert results == {"1": Result("1", None, 4), "2": Result("2", "refused", 1)}
    assert sink.attempts.count("1") == 4
    assert [wait <= longest for wait, longest in zip(waits, (1.0, 2.0, 4.0), strict=True)] == [True] * 3


@given(st.lists(st.none() | st.floats(0, 5), max_size=6), st.floats(0.01, 20), st.floats(0.01, 20))
def test_no_wait_is_longer_than_allowed_nor_shorter_than_asked_for(
    asked: list[float | None], wait: float, longest: float
) -> None:
    """An endpoint that asks for a longer wait than is allowed is not tried again."""
    failures = [DeliveryFailed("busy", after=after) for after in asked]
    results, _, waits = send({"1": failures}, [row("1")], attempts=10, wait=wait, longest_wait=longest)
    allowed = next((number for number, after in enumerate(asked) if after is not None and after > longest), None)
    assert results["1"].attempts == (len(asked) + 1 if allowed is None else allowed + 1)
    assert (results["1"].reason is None) == (allowed is None)
    for waited, after in zip(waits, asked, strict=False):
        assert (after or 0.0) <= waited <= longest


def test_after_failures_in_a_row_the_rest_is_not_attempted() -> None:
    """A refusal says that the endpoint is there; a success as well."""
    script = {"1": [DOWN], "2": [REFUSED], "3": [DOWN], "5": [DOWN], "6": [DOWN]}
    rows = [row(str(number)) for number in range(1, 10)]
    results, sink, _ = send(script, rows, attempts=1, failures=2, concurrency=1)
    assert sink.attempts == ["1", "2", "3", "4", "5", "6"]
    assert results["4"] == Result("4", None, 1)
    assert results["7"].attempts == 0
    assert results["7"].reason == "not attempted, after 2 that failed one after the other; the last: down"


def test_no_more_are_under_way_than_may_be() -> None:
    """However many rows there are."""
    results, sink, _ = send({}, [row(str(number)) for number in range(50)], concurrency=3)
    assert sink.most == 3
    assert {result.reason for result in results.values()} == {None}


def test_a_row_that_is_no_message_fails_alone() -> None:
    """It is not sent, and the others are."""
    results, sink, _ = send({}, [row("1", id=""), row("2", time=1 << 62), row("3", metadata=[("a", None), ("b", "c")])])
    assert sink.attempts == ["3"]
    assert {name: result.reason is None for name, result in results.items()} == {"1": False, "2": False, "3": True}
