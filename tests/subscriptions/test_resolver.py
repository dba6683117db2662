"""The resolver finds exactly the subscriptions that each by itself says match, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.conditions import AllOf, AnyOf, ExactlyOneOf, Group, Matcher, Negated, NumberComparison, Subscription
from pointsman.errors import InputError
from pointsman.patterns.pattern import Pattern
from pointsman.store.queue import Queue
from pointsman.subscriptions import matchers as matchers_module
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.matchers import SERVICES, Matchers, Pair, Service
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry
from tests.store.clock import Clock
from tests.subscriptions.strategies import metadata, subjects, subscriptions
from tests.subscriptions.test_registry import made

EU, SMALL = Matcher("region", "EU"), NumberComparison("size", "<", 5)


def found(live: LiveSubscriptions, subject: str, message: Mapping[str, str], limit: int = 2) -> list[str]:
    """The ids of the subscriptions that match, in pages."""
    ids: list[str] = []
    with live.reading() as resolver:
        resolved = resolver.resolve("one", subject, message)
        after = 0
        while page := resolver.matches(resolved, limit, after):
            assert len(page) <= limit
            assert after < page[0].number
            assert [each.number for each in page] == sorted({each.number for each in page})
            after = page[-1].number
            ids += [each.id for each in page]
        resolver.forget(resolved)
    return ids


@settings(max_examples=60)
@given(
    st.lists(subscriptions(), max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.none() | subscriptions()), max_size=6),
    st.lists(st.tuples(subjects, metadata), min_size=1, max_size=4),
)
def test_exactly_those_are_found_that_match(
    given_subscriptions: list[WildcardSubscription],
    changes: list[tuple[int, WildcardSubscription | None]],
    messages: list[tuple[str, dict[str, str]]],
) -> None:
    """With pages of 2 everywhere, before and after changes, in the order in which they were made."""
    clock = Clock(1_000.0)
    with Queue(":memory:", clock=clock) as queue:
        registry, live = Registry(queue.store), LiveSubscriptions(queue.store, page=2)
        wanted = {str(place): replace(each, id=str(place)) for place, each in enumerate(given_subscriptions)}
        for subscription in wanted.values():
            registry.create(subscription)
        for change in [None, *changes]:
            for subject, message in messages:
                expected = [
                    each.id for each in wanted.values() if each.is_live(clock.now) and each.matches(subject, message)
                ]
                assert found(live, subject, message) == expected
            if change is None or str(change[0]) not in wanted:
                continue
            id, subscription = str(change[0]), change[1]
            if subscription is None:
                assert registry.delete(id)
                del wanted[id]
            else:
                wanted[id] = replace(subscription, id=id)
                registry.update(wanted[id])


def test_a_matcher_for_any_key_holds_for_every_value(registry: Registry, queue: Queue) -> None:
    """Whole values, lexemes and numbers."""
    registry.create(made("whole", condition=Matcher(None, "EU")))
    registry.create(made("lexeme", condition=Matcher(None, "dar?", partial=True)))
    registry.create(made("number", condition=NumberComparison(None, ">=", 5)))
    live = LiveSubscriptions(queue.store)
    assert found(live, "a", {"x": "EU", "y": "EU", "z": "the dark, the dark"}) == ["whole", "lexeme"]
    assert found(live, "a", {"x": "5"}) == ["number"]
    assert found(live, "a", {}) == []


def test_distinct_matchers_are_counted(registry: Registry, queue: Queue) -> None:
    """One that holds for two lexemes is not two."""
    both = Group(True, (Matcher("title", "d*", partial=True), Matcher("title", "e*", partial=True)))
    registry.create(made("both", condition=Subscription(both)))
    live = LiveSubscriptions(queue.store)
    assert found(live, "a", {"title": "dark days"}) == []
    assert found(live, "a", {"title": "dark evening"}) == ["both"]


def test_what_is_excluded_is_not_found(registry: Registry, queue: Queue) -> None:
    """By groups, by not, and by xor; an empty group excludes nothing."""
    test = Matcher("kind", "test")
    registry.create(made("group", condition=Subscription(Group(False, (EU,)), Group(False, (test,)))))
    registry.create(made("not", condition=AllOf((EU, Negated(test)))))
    registry.create(made("xor", condition=ExactlyOneOf((EU, test, SMALL))))
    registry.create(made("or", condition=AnyOf((EU, test))))
    live = LiveSubscriptions(queue.store)
    assert found(live, "a", {"region": "EU"}) == ["group", "not", "xor", "or"]
    assert found(live, "a", {"region": "EU", "kind": "test"}) == ["or"]
    assert found(live, "a", {"kind": "test"}) == ["xor", "or"]
    assert found(live, "a", {"size": "4"}) == ["xor"]
    assert found(live, "a", {"region": "EU", "size": "4"}) == ["group", "not", "or"]


def test_the_four_services_keep_includes_and_excludes_apart(registry: Registry) -> None:
    """Those by which subscriptions are found are includes; in pages, ascending, strictly after."""
    includes = tuple(Matcher("title", f"{letter}*", partial) for letter in "abc" for partial in (False, True))
    excludes = Group(False, (Matcher("title", "*c"), Matcher("title", "*c", partial=True)))
    registry.create(made("one", condition=Subscription(Group(False, includes), excludes)))
    known = Matchers()
    with registry.reading() as connection:
        known.refresh(connection)
    leaves = dict(registry.matchers(limit=100))
    seen = {}
    for service in SERVICES:
        pair = Pair("title", ["a bc"])
        pages, after = [], 0
        while page := known.page(service, pair, 1, after):
            assert page[0] > after
            after = page[-1]
            pages += [leaves[number] for number in page]
        seen[service] = pages
    assert seen == {
        Service(True, False): [Matcher("title", "a*")],
        Service(True, True): [Matcher("title", "a*", True), Matcher("title", "b*", True)],
        Service(False, False): [Matcher("title", "*c")],
        Service(False, True): [Matcher("title", "*c", True)],
    }


def test_a_subscription_ends_at_its_time(tmp_path: Path) -> None:
    """To the moment; what is disabled does not come either, until it is enabled."""
    clock = Clock(100.0)
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        registry, live = Registry(queue.store), LiveSubscriptions(queue.store)
        registry.create(made("short", expires=200.0))
        registry.create(made("long"))
        registry.create(made("off", enabled=False))
        clock.now = 199.9
        assert found(live, "a", {"region": "EU"}) == ["short", "long"]
        clock.now = 200.0
        assert found(live, "a", {"region": "EU"}) == ["long"]
        registry.enable("off")
        assert found(live, "a", {"region": "EU"}) == ["long", "off"]
        registry.enable("long", False)
        assert found(live, "a", {"region": "EU"}) == ["off"]


def test_a_matcher_that_only_excluded_can_become_a_gate(registry: Registry, queue: Queue) -> None:
    """And is one no more when the subscription is gone that it was one for."""
    test = Matcher("kind", "test")
    registry.create(made("first", condition=Subscription(Group(False, (EU,)), Group(False, (test,)))))
    live = LiveSubscriptions(queue.store)
    assert found(live, "a", {"kind": "test"}) == []
    registry.create(made("second", condition=test))
    assert found(live, "a", {"kind": "test"}) == ["second"]
    registry.delete("second")
    assert found(live, "a", {"kind": "test"}) == []
    assert found(live, "a", {"region": "EU", "kind": "test"}) == []
    assert found(live, "a", {"region": "EU"}) == ["first"]


def test_a_subject_that_no_dialect_has_matches_no_pattern(registry: Registry, queue: Queue) -> None:
    """And does not keep conditions without a pattern from holding."""
    registry.create(made("pattern", pattern=Pattern("a.>"), condition=None))
    registry.create(made("condition"))
    live = LiveSubscriptions(queue.store)
    assert found(live, "a..b", {"region": "EU"}) == ["condition"]
    assert found(live, "a.b", {}) == ["pattern"]


def test_many_changes_at_once_are_taken_up(registry: Registry, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are followed one by one."""
    monkeypatch.setattr(matchers_module, "MOST_CHANGES", 3)
    live = LiveSubscriptions(queue.store)
    for round_number in range(3):
        for number in range(4):
            registry.create(made(f"{round_number} {number}", condition=Matcher("a", str(number))))
        assert len(found(live, "a", {"a": "1"})) == round_number + 1
    for number in range(4):
        registry.delete(f"1 {number}")
    assert found(live, "a", {"a": "1"}) == ["0 1", "2 1"]


def test_a_message_that_is_not_resolved_has_no_matches(registry: Registry, queue: Queue) -> None:
    """Nor one that was forgotten."""
    registry.create(made("one"))
    with LiveSubscriptions(queue.store).reading() as resolver:
        resolver.resolve("a", "s", {"region": "EU"})
        resolver.resolve("b", "s", {})
        assert [each.id for each in resolver.matches("a")] == ["one"]
        assert resolver.matches("b") == []
        resolver.forget("a")
        with pytest.raises(InputError, match="'a' is not resolved"):
            resolver.matches("a")
