"""Requests: a message whose reply comes back, of one handler or of several gathered."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Received
from pointsman.errors import AccessError, RoutingError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until

SUPPLIERS = ("one", "two", "three")


def prices(**gather: Any) -> RoutingTable:
    """A table that asks three suppliers."""
    settings = {"timeout": "5s", "aggregation": "min", "field": "price"} | gather
    return RoutingTable.parse(
        f"""
dialect: nats
destinations: {{one: {{}}, two: {{}}, three: {{}}}}
routes:
  - name: best-price
    pattern: prices.ask
    strategy: scatter-gather
    gather: {settings!r}
    destinations: [one, two, three]
"""
    )


def answering(broker: Broker, prices: dict[str, Any]) -> None:
    """Handlers of the suppliers, each with its price."""
    for name, price in prices.items():
        broker.handler(name)(lambda _, price=price: {"price": price})


def gathered(body: bytes) -> dict[str, Any]:
    """The result of a gathering."""
    result: dict[str, Any] = json.loads(body)
    result["result"] = result["result"]["price"]
    result["answers"] = sorted([name, value["price"]] for name, value in result["answers"])
    return result


@in_loop
async def test_a_request_gives_what_the_handler_returned() -> None:
    """As bytes, text or JSON; with the correlation and the cause of the request."""
    async with MemoryBroker() as broker:
        broker.on("double", name="double")(lambda message: {"twice": 2 * message.json()["number"]})
        reply = await broker.request("double", {"number": 21}, id="asked")
        assert (reply.body, reply.correlation_id, reply.causation_id) == (b'{"twice":42}', "asked", "asked")


@in_loop
async def test_many_requests_at_a_time_each_get_their_own_reply() -> None:
    """Whatever the order in which they are answered."""
    async with MemoryBroker() as broker:

        @broker.on("echo", name="echo", concurrency=20)
        async def echo(message: Received) -> bytes:
            await asyncio.sleep(0.001 * (20 - int(message.body)))
            return message.body

        replies = await asyncio.gather(*(broker.request("echo", str(number)) for number in range(20)))
        assert [int(reply.body) for reply in replies] == list(range(20))


@in_loop
async def test_a_request_that_nobody_answers_ends_with_its_timeout() -> None:
    """By the broker's clock; a reply that comes later is dropped."""
    async with MemoryBroker(lease=1000) as broker:
        kept: list[Received] = []
        broker.on("slow", name="slow", ack="manual")(kept.append)
        slow = asyncio.create_task(broker.request("slow", timeout=30))
        later = asyncio.create_task(broker.request("slow", timeout=31))
        await until(lambda: len(kept) == 2)
        await broker.advance(29)
        assert not slow.done()
        await broker.advance(1)
        with pytest.raises(TimeoutError):
            await slow
        assert not later.done()
        await broker.advance(1)
        with pytest.raises(TimeoutError):
            await later
        assert await kept[0].ack("late")
        assert await kept[1].ack("later")
        await broker.settle()
        assert broker.queue.dead_letters() == []
        sizes = broker.queue.size()
        assert (sizes.ready, sizes.leased) == (0, 0)


@in_loop
async def test_the_timeout_of_a_request_is_kept_without_a_clock_of_the_test(tmp_path: Path) -> None:
    """In the real time."""
    async with Broker(tmp_path / "app.db") as broker:
        broker.on("silent", name="silent")(lambda _: None)
        with pytest.raises(TimeoutError):
            await broker.request("silent", timeout=0.05)


@in_loop
async def test_a_request_to_nobody_fails_at_once() -> None:
    """Whatever its timeout: no route and no subscription takes the subject."""
    async with MemoryBroker() as broker:
        with pytest.raises(RoutingError, match="nobody takes requests to 'nobody'") as caught:
            await broker.request("nobody", timeout=1e6)
        assert caught.value.code == "no-responders"


@in_loop
async def test_a_reply_is_a_message_whose_json_keeps_numbers_as_they_are() -> None:
    """Whole numbers of any size stay whole, also when answers are gathered and the smallest is chosen."""
    large = 9007199254740993
    async with MemoryBroker(prices()) as broker:
        answering(broker, {"one": large, "two": large - 1, "three": 2**70})
        broker.on("plain", name="plain")(lambda message: message.json())
        result = (await broker.request("prices.ask")).json()
        assert result["result"] == {"price": large - 1}
        assert {name: answer["price"] for name, answer in result["answers"]} == {
            "one": large,
            "two": large - 1,
            "three": 2**70,
        }
        reply = await broker.request("plain", {"whole": 2, "half": 2.5, "float": 2.0})
        assert reply.body == b'{"whole":2,"half":2.5,"float":2.0}'


ACCESS = RoutingTable.parse(
    """
dialect: nats
access:
  asker: {publish: ["ask.*"]}
  other: {publish: ["ask.*", "mine.>"]}
"""
)


@in_loop
async def test_a_reply_goes_only_where_the_requester_may_publish_itself() -> None:
    """Or to its own inbox: a principal cannot have others publish for it."""
    async with MemoryBroker(ACCESS) as broker:
        heard: list[str] = []
        broker.on("ask.*", name="answers")(lambda _: "yes")
        broker.on("admin.>", name="admin")(lambda message: heard.append(message.subject))
        broker.on("mine.>", name="mine")(lambda message: heard.append(message.subject))
        with pytest.raises(AccessError) as caught:
            await broker.publish("ask.it", metadata={"reply-to": "admin.delete"}, principal="asker")
        assert caught.value.code == "reply-refused"
        await broker.publish("ask.it", metadata={"reply-to": "mine.answers"}, principal="other")
        await until(lambda: heard == ["mine.answers"])
        assert (await broker.request("ask.it", principal="asker")).body == b"yes"
        await broker.settle()
        assert heard == ["mine.answers"]


@in_loop
async def test_nobody_has_replies_sent_to_the_inbox_of_another() -> None:
    """The name of an inbox gives no right to it."""
    async with MemoryBroker(ACCESS) as broker:
        seen: list[str] = []
        broker.on("ask.*", name="answers")(lambda message: seen.append(message.metadata["reply-to"]) or "yes")
        await broker.request("ask.it", principal="asker")
        with pytest.raises(AccessError, match="inbox of another"):
            await broker.publish("ask.it", metadata={"reply-to": seen[0]}, principal="other")


@in_loop
async def test_a_request_that_is_cancelled_does_not_harm_the_next_one() -> None:
    """Also when it was the one that made the inbox."""
    for steps in range(12):
        async with MemoryBroker() as broker:
            broker.on("a", name="h")(lambda _: "yes")
            first = asyncio.create_task(broker.request("a"))
            for _ in range(steps):
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert (await broker.request("a", timeout=10)).body == b"yes"


@in_loop
async def test_two_requests_of_one_correlation_do_not_take_each_others_place() -> None:
    """The second one is still answered when the first one was given up."""
    async with MemoryBroker() as broker:
        kept: list[Received] = []
        broker.on("a", name="h", ack="manual", concurrency=2)(kept.append)
        first = asyncio.create_task(broker.request("a", id="one", correlation_id="c"))
        await until(lambda: len(kept) == 1)
        second = asyncio.create_task(broker.request("a", id="two", correlation_id="c"))
        await until(lambda: len(kept) == 2)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await kept[1].ack("yes")
        assert (await second).body == b"yes"


@in_loop
async def test_an_answer_may_be_given_by_hand() -> None:
    """With ``ack(answer)``, or by publishing a reply."""
    async with MemoryBroker() as broker:

        @broker.on("by-ack", name="one", ack="manual")
        async def by_ack(message: Received) -> None:
            await message.ack({"by": "ack"})

        @broker.on("by-publish", name="two")
        async def by_publish(message: Received) -> None:
            await broker.publish(message.message.reply(b"published"))

        assert (await broker.request("by-ack")).body == b'{"by":"ack"}'
        assert (await broker.request("by-publish")).body == b"published"


@in_loop
async def test_an_answer_to_a_subject_is_published_like_any_message() -> None:
    """Who asked by hand says where the answer goes."""
    async with MemoryBroker() as broker, broker.subscribe("answers") as answers:
        broker.on("a", name="h")(lambda _: "yes")
        await broker.publish("a", metadata={"reply-to": "answers"})
        assert (await anext(answers)).body == b"yes"


@in_loop
async def test_a_scatter_gather_request_gives_the_result_when_all_have_answered() -> None:
    """Aggregated as the table says."""
    async with MemoryBroker(prices()) as broker:
        answering(broker, {"one": 30, "two": 10, "three": 20})
        result = (await broker.request("prices.ask")).body
        assert gathered(result) == {
            "result": 10,
            "source": "two",
            "answers": [["one", 30], ["three", 20], ["two", 10]],
            "missing": [],
            "reason": "all",
        }


@in_loop
async def test_a_quorum_is_enough_and_what_comes_later_is_dropped() -> None:
    """Two of three."""
    async with MemoryBroker(prices(quorum=2)) as broker:
        release = asyncio.Event()
        answering(broker, {"one": 30, "two": 10})

        @broker.handler("three")
        async def late(_: Received) -> dict[str, int]:
            await release.wait()
            return {"price": 1}

        result = gathered((await broker.request("prices.ask")).body)
        assert (result["result"], result["missing"], result["reason"]) == (10, ["three"], "quorum")
        release.set()
        await broker.settle()


@in_loop
async def test_at_its_timeout_a_gathering_gives_what_is_there() -> None:
    """One supplier has no handler; the clock ends it."""
    async with MemoryBroker(prices()) as broker:
        answering(broker, {"one": 30, "three": 20})
        asking = asyncio.create_task(broker.request("prices.ask", timeout=60))
        await until(lambda: bool(broker.queue.messages()))
        await broker.advance(4)
        assert not asking.done()
        await broker.advance(1)
        result = gathered((await asking).body)
        assert (result["result"], result["missing"], result["reason"]) == (20, ["two"], "timeout")


@in_loop
async def test_a_gathering_survives_a_restart(tmp_path: Path) -> None:
    """Its answers so far, its deadline and where its result goes are in the file."""
    async with Broker(tmp_path / "app.db", prices(timeout="1h")) as broker:
        answering(broker, {"one": 30})
        async with broker.subscribe("result", name="result"):
            pass
        await broker.publish("prices.ask", metadata={"reply-to": "result"})
        while broker.queue.size("destination:one").ready or broker.queue.size("destination:one").leased:
            await asyncio.sleep(0.001)
    async with Broker(tmp_path / "app.db", prices(timeout="1h")) as broker:
        answering(broker, {"two": 40, "three": 50})
        async with broker.subscribe("result", name="result") as results:
            result = gathered((await anext(results)).body)
    assert (result["result"], result["source"], result["reason"]) == (30, "one", "all")


@in_loop
async def test_answers_may_come_as_messages_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    """Under the subject that the table names; one to a request that nobody made is logged, and harms nothing."""
    table = prices(answers="prices.answer", target="metadata['from']")
    async with MemoryBroker(table) as broker, broker.subscribe("result") as results:
        await broker.publish("prices.ask", correlation_id="c", metadata={"reply-to": "result"})
        with caplog.at_level(logging.WARNING, "pointsman.broker"):
            await broker.publish("prices.answer", {"price": 1}, correlation_id="other", metadata={"from": "one"})
        assert "nothing was asked for 'other'" in caplog.text
        for number, name in enumerate(SUPPLIERS):
            await broker.publish("prices.answer", {"price": 7 - number}, correlation_id="c", metadata={"from": name})
        assert gathered((await anext(results)).body)["result"] == 5
