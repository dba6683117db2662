"""What a process knows of subscriptions follows the file: what is committed, and nothing that was undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.conditions import Group, Matcher, Subscription
from pointsman.patterns.pattern import Pattern
from pointsman.store import schema
from pointsman.store.queue import Queue
from pointsman.store.transaction import Transaction
from pointsman.subscriptions.control import Control, Reader
from pointsman.subscriptions.limits import LIMITS, Limits
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.matchers import SERVICES, Matchers, Pair, Service
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.storing import Storing
from tests.subscriptions.strategies import metadata, subjects, subscriptions
from tests.subscriptions.test_registry import made

PAGE_BYTES = 4096


def found(live: LiveSubscriptions, transaction: Transaction, region: str) -> list[str]:
    """The ids of the subscriptions that match within a transaction."""
    resolver = live.resolver(transaction)
    if resolver is None:
        return []
    resolver.resolve("m", "a", {"region": region})
    return [match.id for match in resolver.matches("m")]


def create(transaction: Transaction, id: str, region: str) -> None:
    """A subscription, within a transaction."""
    storing = Storing(transaction, LIMITS)
    storing.add(made(id, condition=Matcher("region", region)))
    storing.finish()


def test_within_a_transaction_what_others_have_committed_is_found(queue: Queue, registry: Registry) -> None:
    """Also if it has changed something itself before it asks."""
    live = LiveSubscriptions(queue.store)
    assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == []
    for number in range(3):
        registry.create(made(str(number)))

        def both(transaction: Transaction) -> list[str]:
            queue.store.putter(transaction).put_each([(b"", "key")])
            assert not transaction.is_unchanged
            return found(live, transaction, "EU")

        expected = [str(each) for each in range(number + 1)]
        asked = both if number % 2 else lambda transaction: found(live, transaction, "EU")
        assert queue.store.write(asked) == expected


def test_what_was_undone_is_not_known(queue: Queue, registry: Registry) -> None:
    """A transaction that made a subscription, and resolved with it, failed; another one has its place now."""
    registry.create(made("first"))
    live = LiveSubscriptions(queue.store)
    queue.store.write(lambda transaction: found(live, transaction, "EU"))

    def fails(transaction: Transaction) -> None:
        create(transaction, "undone", "US")
        found(live, transaction, "US")
        raise RuntimeError("it is all undone")

    with pytest.raises(RuntimeError, match="undone"):
        queue.store.write(fails)
    queue.store.write(lambda transaction: create(transaction, "second", "ASIA"))
    assert queue.store.write(lambda transaction: found(live, transaction, "ASIA")) == ["second"]
    assert queue.store.write(lambda transaction: found(live, transaction, "US")) == []
    assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == ["first"]


class Interrupted:
    """Reads as a connection does, until it has read so many rows."""

    def __init__(self, connection: Reader, rows: int) -> None:
        self._connection = connection
        self._rows = rows

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> Iterator[Any]:
        """The rows of a statement."""
        for row in self._connection.execute(statement, parameters):
            self._rows -= 1
            if self._rows < 0:
                raise KeyboardInterrupt
            yield row


@pytest.mark.parametrize("rows", range(7))
def test_what_was_taken_up_in_part_is_read_anew(registry: Registry, rows: int) -> None:
    """A matcher that became a gate meanwhile is not missed, nor is one kept that is gone."""
    known = Matchers()
    excluded, gone = Matcher("region", "US"), Matcher("region", "U*")
    condition = Subscription(Group(False, (Matcher("region", "EU"),)), Group(False, (excluded,)))
    registry.create(made("first", condition=condition))
    registry.create(made("second", condition=gone))
    with registry.reading() as connection:
        known.refresh(connection)
    registry.delete("second")
    registry.create(made("third", condition=Matcher("kind", "test")))
    registry.create(made("fourth", condition=excluded))
    numbers = {leaf: number for number, leaf in registry.matchers()}
    with registry.reading() as connection:
        with suppress(KeyboardInterrupt):
            known.refresh(Interrupted(connection, rows))
        known.refresh(connection)
    pair = Pair("region", ["US"])
    assert known.page(Service(includes=True, partial=False), pair, 10) == [numbers[excluded]]
    assert known.page(Service(includes=False, partial=False), pair, 10) == []


class Blind:
    """A connection that answers nothing."""

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> Iterator[Any]:
        """Fails."""
        raise AssertionError(statement, parameters)


def test_the_last_changes_are_taken_up_without_reading_the_tables(registry: Registry) -> None:
    """What came, what went, and what another subscription is found by now."""
    known = Matchers()
    with registry.reading() as connection:
        known.refresh(connection)
    excluded = Matcher("region", "US")
    condition = Subscription(Group(False, (Matcher("region", "EU"),)), Group(False, (excluded,)))
    registry.create(made("first", condition=condition))
    registry.create(made("second", condition=Matcher("region", "U*")))
    registry.create(made("third", condition=excluded))
    registry.delete("second")
    numbers = {leaf: number for number, leaf in registry.matchers()}
    with registry.reading() as connection:
        control = Control.read(connection)
    known.refresh(Blind(), control)
    pair = Pair("region", ["US"])
    assert known.page(Service(includes=True, partial=False), pair, 10) == [numbers[excluded]]
    assert known.page(Service(includes=False, partial=False), pair, 10) == []


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), subscriptions()), max_size=12), st.lists(st.tuples(subjects, metadata))
)
def test_what_is_taken_up_is_the_same_with_and_without_reading_the_tables(
    changes: list[tuple[str, WildcardSubscription]], messages: list[tuple[str, dict[str, str]]]
) -> None:
    """Subscriptions are made, changed to others and deleted."""
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        told, reading = Matchers(), Matchers()
        for id, subscription in changes:
            stored = registry.get(id)
            if stored is None:
                registry.create(replace(subscription, id=id))
            elif id == "a":
                registry.delete(id)
            else:
                registry.update(replace(subscription, id=id))
            with registry.reading() as connection:
                control = Control.read(connection)
                told.refresh(connection, control)
                reading.refresh(connection, replace(control, recent=""))
            for subject, pairs in messages:
                assert sorted(told.patterns(subject)) == sorted(reading.patterns(subject))
                for pair in Pair.all_of(pairs):
                    for service in SERVICES:
                        assert told.page(service, pair, 100) == reading.page(service, Pair(pair.key, pair.values), 100)


def test_what_was_undone_is_not_taken_up(queue: Queue, registry: Registry) -> None:
    """The next who writes gives the same version to something else."""
    known = Matchers()
    registry.create(made("first"))
    with registry.reading() as connection:
        known.refresh(connection)

    def fails(transaction: Transaction) -> None:
        storing = Storing(transaction, LIMITS, noting=True)
        storing.add(made("second", condition=Matcher("region", "U*")))
        storing.finish()
        raise RuntimeError("it is all undone")

    with pytest.raises(RuntimeError, match="undone"):
        queue.store.write(fails)
    registry.create(made("third", condition=Matcher("region", "E*")))
    with registry.reading() as connection:
        control = Control.read(connection)
    known.refresh(Blind(), control)
    services = Service(includes=True, partial=False)
    assert known.page(services, Pair("region", ["US"]), 10) == []
    assert known.page(services, Pair("region", ["ES"]), 10) == [control.last_matcher]


def test_changes_that_somebody_did_not_note_are_read_from_the_tables(queue: Queue, registry: Registry) -> None:
    """Those that were noted before it do not hide them."""
    known = Matchers()
    registry.create(made("first"))
    with registry.reading() as connection:
        known.refresh(connection)
    registry.create(made("noted", condition=Matcher("region", "*S")))

    def unnoted(transaction: Transaction) -> None:
        storing = Storing(transaction, LIMITS)
        storing.add(made("unnoted", condition=Matcher("region", "U*")))
        storing.finish()

    queue.store.write(unnoted)
    with registry.reading() as connection:
        known.refresh(connection)
    assert len(known.page(Service(includes=True, partial=False), Pair("region", ["US"]), 10)) == 2


def test_changes_that_there_is_no_room_for_are_read_from_the_tables(registry: Registry) -> None:
    """The row of the last ones stays within a page of the file, however many and however large they are."""
    known = Matchers()
    registry.create(made("first"))
    with registry.reading() as connection:
        known.refresh(connection)
    registry.create(made("large", condition=Matcher("region", "US" + "x" * 5000)))
    for number in range(200):
        registry.create(made(f"{number}", condition=Matcher("region", f"*{number}")))
        with registry.reading() as connection:
            control = Control.read(connection)
        assert len(control.recent) < PAGE_BYTES / 2
    with pytest.raises(AssertionError):
        known.refresh(Blind(), control)
    with registry.reading() as connection:
        known.refresh(connection)
    found = [known.page(Service(True, False), Pair("region", [value]), 10) for value in ("E199", "E7")]
    assert [len(each) for each in found] == [3, 1]


def test_who_has_missed_deletions_that_are_forgotten_reads_everything_anew(queue: Queue) -> None:
    """What was known may be gone, and nobody says so any more."""
    registry = Registry(queue.store, Limits(deletions=3))
    registry.create(made("first", condition=Matcher("region", "US")))
    registry.create(made("second", condition=Matcher("region", "U*")))
    registry.create(made("third", condition=None, pattern=Pattern("a.*")))
    known = Matchers()
    with registry.reading() as connection:
        known.refresh(connection)
    registry.delete("first")
    for number in range(40):
        registry.create(made(f"{number}", condition=Matcher("region", f"*{number}")))
        registry.delete(f"{number}")
    with registry.reading() as connection:
        known.refresh(connection)
    pair = Pair("region", ["US"])
    assert known.page(Service(includes=True, partial=False), pair, 10) == [2]
    assert known.patterns("a.b") == [1]


def test_a_file_that_was_replaced_by_an_older_one_is_read_anew(tmp_path: Path) -> None:
    """Its version is lower than what is known."""
    with Queue(tmp_path / "queue.db") as queue:
        registry, live = Registry(queue.store), LiveSubscriptions(queue.store)
        registry.create(made("one"))
        registry.create(made("two"))
        assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == ["one", "two"]

        def back(transaction: Transaction) -> None:
            transaction.execute("DELETE FROM wildcard_use WHERE subscription = 2")
            transaction.execute("DELETE FROM wildcard_subscription WHERE number = 2")
            transaction.execute("UPDATE wildcard_control SET version = 1, subscriptions = 1")

        queue.store.write(back)
        assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == ["one"]


def test_a_file_from_before_changes_were_noted_is_taken_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 3 had no place for the last changes; those who know what was there take up what comes."""
    path = tmp_path / "queue.db"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", schema.STEPS[:3])
        patch.setattr(schema, "VERSION", 3)
        Queue(path).close()
    with Queue(path) as queue:
        registry = Registry(queue.store)
        registry.create(made("first"))
        with registry.reading() as connection:
            assert Control.read(connection).recent.count("\n") == 1
