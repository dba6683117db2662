"""What is found through the gates in the file, and whether the file agrees with itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pointsman.errors import SubjectError
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.candidates import Subscriptions
from pointsman.subscriptions.control import Control
from pointsman.subscriptions.gates import Leaf, leaves
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.rows import StoredSubscription
from pointsman.subscriptions.trees import parse_tree, tree_holds

Entry = TypeVar("Entry")


def everything(page: Callable[..., Sequence[Entry]], limit: int = 2) -> Iterator[Entry]:
    """All entries of a listing, page by page, by the first field of the last one."""
    after = 0
    while entries := page(after=after, limit=limit):
        assert len(entries) <= limit
        assert after < entries[0][0]  # type: ignore[index]
        yield from entries
        after = entries[-1][0]  # type: ignore[index]


def stored(registry: Registry) -> list[WildcardSubscription]:
    """All subscriptions, in the order of their numbers."""
    return [entry.subscription for entry in everything(registry.list)]


def found_by_gates(
    registry: Registry, subject: str, metadata: Mapping[str, str], now: float, limit: int = 2
) -> list[str]:
    """The ids of those that match, as a resolver finds them: by what holds, gate by gate, page by page."""
    held = {number for number, leaf in everything(registry.matchers, limit) if leaf.holds(metadata)}
    fitting = {number for number, pattern in everything(registry.patterns, limit) if fits(pattern, subject)}
    numbers = set()
    with registry.reading() as connection:
        subscriptions = Subscriptions(connection, now)
        for page in subscriptions.behind(sorted([*held, *(-number for number in fitting)]), limit):
            for found in subscriptions.read(sorted(set(page))):
                holds = found.tree is None or tree_holds(parse_tree(found.tree), held)
                if holds and (found.pattern is None or found.pattern in fitting):
                    numbers.add(found.number)
    return [entry.subscription.id for entry in everything(registry.list) if entry.number in numbers]


def fits(pattern: Pattern, subject: str) -> bool:
    """Whether a pattern matches; not if its dialect has no such subject."""
    try:
        return pattern.matches(subject)
    except SubjectError:
        return False


def check_consistent(registry: Registry) -> None:
    """Every table says the same: how many there are, who uses what, and that nothing is left over."""
    entries: list[StoredSubscription] = list(everything(registry.list, 100))
    used: Counter[Leaf] = Counter()
    patterns: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        condition, pattern = entry.subscription.condition, entry.subscription.pattern
        used.update([] if condition is None else leaves(condition))
        patterns.update([] if pattern is None else [(pattern.text, pattern.dialect.name)])
    assert {leaf for _, leaf in everything(registry.matchers, 100)} == set(used)
    assert {(each.text, each.dialect.name) for _, each in everything(registry.patterns, 100)} == set(patterns)
    with registry.reading() as connection:
        control = Control.read(connection)
        assert control.subscriptions == len(entries)
        assert one(connection, "SELECT count(*) FROM wildcard_gone") == (control.gone,)
        assert one(connection, "SELECT coalesce(sum(uses), 0), count(*) FROM wildcard_matcher") == (
            sum(used.values()),
            len(used),
        )
        assert one(connection, "SELECT coalesce(sum(uses), 0) FROM wildcard_pattern") == (sum(patterns.values()),)
        assert one(connection, "SELECT count(*) FROM wildcard_use WHERE matcher > 0") == (sum(used.values()),)
        unequal = """
        SELECT count(*) FROM wildcard_matcher AS m
        WHERE uses <> (SELECT count(*) FROM wildcard_use AS u WHERE u.matcher = m.id)
        """
        assert one(connection, unequal) == (0,)
        orphans = """
        SELECT count(*) FROM wildcard_use WHERE subscription NOT IN (SELECT number FROM wildcard_subscription)
            OR (gate = 1 AND subscription IN (SELECT number FROM wildcard_subscription WHERE NOT enabled))
        """
        assert one(connection, orphans) == (0,)


def one(connection: Any, statement: str) -> tuple[Any, ...]:
    """The first row."""
    return tuple(next(iter(connection.execute(statement))))
