"""Subscriptions in the file: made, read, changed, deleted, searched and followed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.conditions import AllOf, AnyOf, Group, Matcher, Negated, NumberComparison, Subscription
from pointsman.errors import InputError, StoreError
from pointsman.patterns.pattern import Pattern
from pointsman.store.queue import Queue
from pointsman.subscriptions.candidates import Subscriptions
from pointsman.subscriptions.leaf_rows import leaf_row
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.found import check_consistent, everything, found_by_gates, stored
from tests.subscriptions.strategies import metadata, subjects, subscriptions

EU, DARK, LARGE = Matcher("region", "EU"), Matcher(None, "dark*", partial=True), NumberComparison("size", ">", 5)
NOW = 1_000_000.0


def made(id: str, **changes: Any) -> WildcardSubscription:
    """A subscription of this id."""
    return WildcardSubscription(**{"id": id, "owner": "ada", "destinations": ("inbox",), "condition": EU, **changes})


EVERYTHING = [
    made("plain"),
    made("pattern", condition=None, pattern=Pattern("orders.>")),
    made("mqtt", pattern=Pattern("orders/+", "mqtt"), owner="bob"),
    made("number", condition=LARGE, enabled=False),
    made("groups", condition=Subscription(Group(True, (EU, DARK)), Group(False, (Matcher("a", ""),)))),
    made("tree", condition=AnyOf((AllOf((EU, Negated(DARK))), LARGE)), expires=12.5, description='ä\n"quoted"'),
    made("many", destinations=("b", "a", 'c"'), owner="ö"),
]


def test_what_is_stored_comes_back_as_it_was(registry: Registry) -> None:
    """Each by its id, and all in the order in which they came."""
    for subscription in EVERYTHING:
        registry.create(subscription)
    for subscription in EVERYTHING:
        found = registry.get(subscription.id)
        assert found is not None
        assert found.subscription == subscription
    assert stored(registry) == EVERYTHING
    assert registry.count() == len(EVERYTHING)
    assert registry.get("nobody") is None
    check_consistent(registry)


def test_an_id_is_given_once(registry: Registry) -> None:
    """A second of the same id is refused, and changes nothing."""
    registry.create(made("one"))
    with pytest.raises(StoreError, match="'one'") as caught:
        registry.create(made("one", condition=DARK))
    assert caught.value.code == "subscription-exists"
    assert stored(registry) == [made("one")]
    check_consistent(registry)


def test_an_update_keeps_the_number_and_changes_all_else(registry: Registry) -> None:
    """The matchers that it no longer has are gone, unless others have them."""
    registry.create(made("other", condition=DARK))
    number = registry.create(made("one", condition=AllOf((EU, DARK))))
    registry.update(made("one", condition=LARGE, pattern=Pattern("a.b"), owner="bob", enabled=False))
    found = registry.get("one")
    assert found is not None
    assert found.number == number
    assert found.subscription == made("one", condition=LARGE, pattern=Pattern("a.b"), owner="bob", enabled=False)
    assert {leaf for _, leaf in registry.matchers()} == {DARK, LARGE}
    check_consistent(registry)


def test_a_change_to_what_it_was_keeps_its_matchers(registry: Registry) -> None:
    """They do not go and come back under another number, which every reader would have to follow."""
    registry.create(made("one", pattern=Pattern("a.>")))
    before = registry.matchers(), registry.patterns()
    registry.update(made("one", pattern=Pattern("a.>"), description="new"))
    assert (registry.matchers(), registry.patterns()) == before


def test_what_is_not_there_cannot_be_changed(registry: Registry) -> None:
    """To delete it is no mistake."""
    for change in (lambda: registry.update(made("one")), lambda: registry.enable("one")):
        with pytest.raises(StoreError, match="'one'") as caught:
            change()
        assert caught.value.code == "no-wildcard-subscription"
    assert registry.delete("one") is False


def test_a_matcher_is_stored_once_and_goes_with_its_last_user(registry: Registry) -> None:
    """So does a pattern."""
    for number in range(3):
        registry.create(made(str(number), condition=AllOf((EU, LARGE)), pattern=Pattern("orders.>")))
    assert {leaf for _, leaf in registry.matchers()} == {EU, LARGE}
    assert len(registry.patterns()) == 1
    assert registry.delete("1")
    assert registry.delete("0")
    assert {leaf for _, leaf in registry.matchers()} == {EU, LARGE}
    check_consistent(registry)
    assert registry.delete("2")
    assert registry.matchers() == registry.patterns() == registry.list() == []
    check_consistent(registry)


def test_a_number_is_never_given_again(registry: Registry) -> None:
    """Neither that of a subscription nor that of a matcher, so that nobody takes a new one for an old one."""
    first, (matcher, _) = registry.create(made("one")), registry.matchers()[0]
    registry.delete("one")
    assert registry.create(made("one")) > first
    assert registry.matchers()[0].number > matcher


def test_a_disabled_one_is_behind_no_gate(registry: Registry) -> None:
    """Until it is enabled again."""
    registry.create(made("one", pattern=Pattern("orders.*")))
    for enabled, expected in ((False, []), (False, []), (True, ["one"])):
        registry.enable("one", enabled)
        assert found_by_gates(registry, "orders.1", {"region": "EU"}, NOW) == expected
        assert [entry.subscription.enabled for entry in registry.list()] == [enabled]
        check_consistent(registry)


def test_listings_come_in_pages(registry: Registry) -> None:
    """All, those of an owner, and those of a matcher, which may be disabled or not be found by it."""
    made_ones = [
        made(str(number), owner="ab"[number % 2], condition=AllOf((EU, LARGE)) if number % 3 else DARK)
        for number in range(7)
    ]
    for subscription in made_ones:
        registry.create(subscription)
    registry.enable("4", False)
    for limit in (1, 2, 100):
        assert [entry.subscription.id for entry in everything(registry.list, limit)] == list("0123456")
        of_owner = everything(lambda **page: registry.by_owner("a", **page), limit)
        assert [entry.subscription.id for entry in of_owner] == list("0246")
        for leaf, expected in ((EU, "1245"), (LARGE, "1245"), (DARK, "036"), (Matcher("region", "US"), "")):
            of_matcher = everything(lambda leaf=leaf, **page: registry.by_matcher(leaf, **page), limit)
            assert [entry.subscription.id for entry in of_matcher] == list(expected)


def test_a_page_of_nothing_is_refused(registry: Registry) -> None:
    """It would look like the end."""
    for call in (registry.list, registry.changes, registry.matchers, registry.patterns):
        with pytest.raises(InputError, match="bad-usage"):
            call(limit=0)


def test_matchers_that_differ_in_one_field_are_different(registry: Registry) -> None:
    """Any key is not the key of no characters, and a number is not its text."""
    leaves = [
        Matcher(None, "1"),
        Matcher("", "1"),
        Matcher("k", "1"),
        Matcher("k", "1", partial=True),
        Matcher("k", "1.0"),
        NumberComparison("k", "=", 1),
        NumberComparison(None, "=", 1),
        NumberComparison("k", "<>", 1),
    ]
    for number, leaf in enumerate(leaves):
        registry.create(made(str(number), condition=leaf))
    assert [leaf for _, leaf in registry.matchers()] == leaves
    for number, leaf in enumerate(leaves):
        assert [entry.subscription.id for entry in registry.by_matcher(leaf)] == [str(number)]
    check_consistent(registry)


def test_changes_are_followed_by_version(registry: Registry) -> None:
    """Each subscription once, with its last change; who follows to the end knows what there is."""
    for id in "abc":
        registry.create(made(id))
    seen = list(everything(registry.changes, 2))
    assert [(change.kind, change.id) for change in seen] == [("created", id) for id in "abc"]
    registry.update(made("a", condition=DARK))
    registry.delete("b")
    registry.create(made("d"))
    registry.update(made("a", condition=LARGE))
    new = list(everything(lambda after, limit: registry.changes(max(after, seen[-1].version), limit)))
    assert [(change.kind, change.id) for change in new] == [("deleted", "b"), ("created", "d"), ("updated", "a")]
    again = [(change.kind, change.id) for change in registry.changes()]
    assert again == [("created", "c"), ("deleted", "b"), ("created", "d"), ("updated", "a")]


def test_what_is_removed_is_told_with_what_it_was(registry: Registry) -> None:
    """So that an index can take it out."""
    registry.create(made("one", condition=AllOf((EU, LARGE)), pattern=Pattern("orders/#", "mqtt")))
    registry.create(made("two"))
    registry.delete("one")
    with registry.reading() as connection:
        gone = list(connection.execute("SELECT kind, text FROM wildcard_gone ORDER BY version"))
    large, pattern = json.dumps(leaf_row(LARGE)), json.dumps(("orders/#", "mqtt"))
    assert gone == [("subscription", "one"), ("matcher", large), ("pattern", pattern)]


def test_who_follows_from_far_behind_is_told_that_deletions_are_forgotten(queue: Queue) -> None:
    """The file does not grow with each deletion; who is not so far behind has all of them."""
    registry = Registry(queue.store, Limits(deletions=4))
    registry.create(made("stays"))
    for number in range(10):
        registry.create(made(f"{number}"))
        registry.delete(f"{number}")
        check_consistent(registry)
    told = registry.changes()
    assert [(change.kind, change.id) for change in told] == [
        ("created", "stays"),
        ("forgotten", ""),
        ("deleted", "7"),
        ("deleted", "8"),
        ("deleted", "9"),
    ]
    assert registry.changes(after=told[1].version) == told[2:]
    assert registry.changes(after=told[2].version) == told[3:]


def test_what_is_beyond_the_limits_is_not_stored(queue: Queue) -> None:
    """Neither made so nor changed to it."""
    registry = Registry(queue.store, Limits(leaves=1))
    registry.create(made("one"))
    for call in (registry.create, registry.update):
        with pytest.raises(InputError, match="bad-subscription"):
            call(made("one" if call == registry.update else "two", condition=AllOf((EU, DARK))))
    assert stored(registry) == [made("one")]
    check_consistent(registry)


def test_the_gate_of_many_who_share_a_matcher_is_what_they_do_not_share(registry: Registry) -> None:
    """Be it another matcher or the subject, so that few are looked at for each message."""
    for number in range(40):
        registry.create(made(f"m{number}", condition=AllOf((EU, Matcher("customer", str(number))))))
        registry.create(made(f"p{number}", pattern=Pattern(f"orders.{number}")))
    shared = next(number for number, leaf in everything(registry.matchers) if leaf == EU)
    with registry.reading() as connection:
        assert sum(map(len, Subscriptions(connection, NOW).behind([shared], 100))) <= 4
    assert found_by_gates(registry, "orders.7", {"region": "EU", "customer": "9"}, NOW) == ["p7", "m9"]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_changes_leave_what_they_say_and_everybody_is_found(data: st.DataObject) -> None:
    """As a dict would, and as brute force would; and every table agrees with every other."""
    known: dict[str, WildcardSubscription] = {}
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        for _ in range(data.draw(st.integers(1, 10))):
            id = data.draw(st.sampled_from("abcd"))
            kind = data.draw(st.sampled_from(["store", "store", "store", "delete", "enable", "disable"]))
            if kind == "store":
                subscription = data.draw(subscriptions(id))
                (registry.update if id in known else registry.create)(subscription)
                known[id] = subscription
            elif kind == "delete":
                assert registry.delete(id) is (known.pop(id, None) is not None)
            elif id in known:
                registry.enable(id, kind == "enable")
                known[id] = replace(known[id], enabled=kind == "enable")
            check_consistent(registry)
        assert {each.id: each for each in stored(registry)} == known
        for _ in range(3):
            subject, pairs = data.draw(subjects), data.draw(metadata)
            expected = {id for id, each in known.items() if each.is_live(NOW) and each.matches(subject, pairs)}
            assert set(found_by_gates(registry, subject, pairs, NOW)) == expected
