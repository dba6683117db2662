"""What the broker does with a decision: no message that it accepts is left without a place to look for it."""

from __future__ import annotations

import logging

import pytest

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Received
from pointsman.errors import InputError, NamingError, PatternError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


@in_loop
async def test_a_subject_of_another_dialect_is_delivered_as_the_table_decides() -> None:
    """It need not be a subject in the dialect of the table, also when it is translated."""
    table = RoutingTable.parse(
        """
dialect: nats
destinations: {plant: , line: }
translations: [{from: "old/+", to: "new line/$1", dialect: mqtt}]
routes:
  - {name: plant, pattern: "plant 1/#", dialect: mqtt, destinations: [plant]}
  - {name: line, pattern: "new line/+", dialect: mqtt, destinations: [line]}
"""
    )
    async with MemoryBroker(table) as broker:
        seen: list[str] = []
        for name in ("plant", "line"):
            broker.handler(name)(lambda message: seen.append(message.subject))
        await broker.publish("plant 1/line//temp")
        await broker.publish("old/7")
        await until(lambda: sorted(seen) == ["new line/7", "plant 1/line//temp"])


@in_loop
async def test_a_route_that_cannot_choose_leaves_a_dead_letter_and_the_others_deliver() -> None:
    """With the reason; before, the message was gone."""
    table = RoutingTable.parse(
        """
destinations: {audit: , one: , two: }
routes:
  - {name: all, pattern: ">", destinations: [audit]}
  - {name: sticky, pattern: ">", strategy: balanced, balance: sticky, key: metadata.customer, destinations: [one, two]}
"""
    )
    async with MemoryBroker(table) as broker:
        seen: list[str] = []
        for name in table.destinations:
            broker.handler(name)(lambda _, name=name: seen.append(name))
        published = await broker.publish("orders.new", id="m")
        assert published.deliveries == 1
        await until(lambda: seen == ["audit"])
        (letter,) = broker.queue.dead_letters()
        assert (letter.message.id, letter.route, letter.subscription) == ("m", "sticky", "destination:one")
        assert letter.reason == "the route 'sticky' cannot choose: there is no key to choose one of one, two by"


@in_loop
async def test_what_no_route_takes_goes_to_the_destination_for_it() -> None:
    """Under the name of no route, and only what no route takes."""
    table = RoutingTable.parse(
        "destinations: {one: , lost: }\nunrouted: lost\nroutes: [{name: r, pattern: a, destinations: [one]}]"
    )
    async with MemoryBroker(table) as broker:
        seen: list[tuple[str, str]] = []
        broker.handler("one")(lambda message: seen.append(("one", message.subject)))
        broker.handler("lost")(lambda message: seen.append(("lost", message.subject)))
        assert (await broker.publish("a")).deliveries == 1
        assert (await broker.publish("b")).deliveries == 1
        await until(lambda: sorted(seen) == [("lost", "b"), ("one", "a")])


@in_loop
async def test_a_message_outside_an_enforced_naming_standard_is_refused() -> None:
    """Nothing of it is stored."""
    table = RoutingTable.parse("naming: {standard: cim, enforce: true}\nroutes: []")
    async with MemoryBroker(table) as broker:
        with pytest.raises(NamingError):
            await broker.publish("graph.event.structure.added")
        await broker.publish("graph.events.structure.added")


@in_loop
async def test_the_functions_of_a_table_are_called_by_the_broker() -> None:
    """As condition, translation and aggregation; all of them Python's own."""
    table = """
destinations: {cheap: , dear: }
translations: [{from: "raw.>", function: cleaned}]
routes:
  - {name: some, pattern: "clean.>", when: {function: is_wanted}, destinations: [cheap]}
  - name: ask
    pattern: ask
    strategy: scatter-gather
    destinations: [cheap, dear]
    gather: {aggregation: {function: sum}}
"""
    functions = {
        "cleaned": lambda subject: subject.replace("raw.", "clean."),
        "is_wanted": lambda message: message.original_subject == "raw.yes" and message.subject == "clean.yes",
        "sum": lambda answers: sum(answers.values()),
    }
    async with MemoryBroker(RoutingTable.parse(table, functions=functions)) as broker:
        seen: list[Received] = []
        broker.handler("cheap")(lambda message: seen.append(message) or 3)
        broker.handler("dear")(lambda _: 39)
        assert (await broker.publish("raw.yes")).deliveries == 1
        assert (await broker.publish("raw.no")).deliveries == 0
        assert (await broker.request("ask")).json()["result"] == 42
        assert [message.subject for message in seen] == ["clean.yes", "ask"]


def test_a_broker_is_not_made_without_the_functions_of_its_table() -> None:
    """The error names the function."""
    table = RoutingTable.parse("routes: [{name: r, pattern: a, when: {function: f}, destinations: [d]}]")
    with pytest.raises(InputError, match="'f'") as caught:
        Broker(":memory:", table)
    assert caught.value.code == "function-not-given"


@in_loop
async def test_a_table_without_declared_destinations_names_them_freely() -> None:
    """A handler may be given for each that a route names, and for no other."""
    async with MemoryBroker(RoutingTable.parse("routes: [{name: r, pattern: a, destinations: [d]}]")) as broker:
        seen: list[str] = []
        broker.handler("d")(lambda message: seen.append(message.subject))
        await broker.publish("a")
        await until(lambda: seen == ["a"])


@in_loop
async def test_a_wildcard_of_another_dialect_is_an_error_unless_the_dialect_was_chosen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A broker without a table has amqp's, where ``>`` would match nothing, in silence."""
    broker = Broker(":memory:")
    with pytest.raises(PatternError, match="'>' is a wildcard in nats") as caught:
        broker.on("orders.>")(print)
    assert (caught.value.code, caught.value.column) == ("foreign-wildcard", 8)
    with caplog.at_level(logging.WARNING):
        Broker(":memory:", RoutingTable.parse("dialect: amqp")).on("orders.>")(print)
    assert "'>' is a wildcard in nats" in caplog.text
