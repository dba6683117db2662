"""Generated subscriptions and messages for the column and Spark forms, small enough to meet each other often."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from pointsman import Pattern, PointsmanError
from pointsman.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExactlyOneOf,
    Group,
    Matcher,
    Negated,
    NumberComparison,
    Subscription,
    write_condition,
)
from pointsman.patterns import DIALECTS
from pointsman.subscriptions.gates import gates
from pointsman.subscriptions.model import WildcardSubscription

METADATA = pa.map_(pa.string(), pa.string())
NOW = 1_000.0
KEYS = ("a", "b", "é")
VALUES = ("", "x", "xy", "yx", "x y", "y xy", "X-y", "é x", "日本", "1", "2", "-1.5", "2.0", "1e3", "01", "1 2")
GLOBS = ("", "x", "*", "?", "x*", "*x", "*x*", "??", "x?", "é", "*本", "1", "*y*x*", "x y", "日?")
SUBJECTS = ("a", "b", "a.b", "a.b.c", "A.b", "a/b", "a/b/c", "b/c", "$s/a", "a..b", "", "a b", "é.b", ".a", "/a")
PATTERN_TEXTS = (
    *("a", "*", ">", "a.*", "a.>", "#", "a.#", "*.b", "#.b", "a.b", "é.*", "**", "a*.b", "A.*", "**.b"),
    *("a/b", "a/+", "a/#", "+/b", "+", "/a", "$s/#", "a.b/c"),
)

matchers = st.builds(Matcher, st.sampled_from((*KEYS, None)), st.sampled_from(GLOBS), st.booleans())
comparisons = st.builds(
    NumberComparison,
    st.sampled_from((*KEYS, None)),
    st.sampled_from(("<", "<=", "=", "<>", ">=", ">")),
    st.sampled_from((-1.5, 0, 1, 2, 1000)),
)
groups = st.builds(Group, st.booleans(), st.lists(matchers, max_size=3).map(tuple))
sides = st.builds(
    Subscription, st.builds(Group, st.booleans(), st.lists(matchers, min_size=1, max_size=3).map(tuple)), groups
)


def _trees(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    two = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(AllOf), several.map(AnyOf), two.map(ExactlyOneOf), inner.map(Negated), inner.map(Negated)
    )


conditions: st.SearchStrategy[Condition] = st.recursive(st.one_of(matchers, comparisons, sides), _trees, max_leaves=6)


def _patterns() -> list[Pattern]:
    found = []
    for dialect in DIALECTS:
        for text in PATTERN_TEXTS:
            try:
                found.append(Pattern(text, dialect))
            except PointsmanError:
                continue
    return found


PATTERNS = _patterns()


class Parts(NamedTuple):
    """A subscription that may be refused."""

    pattern: Pattern | None
    condition: Condition | None
    enabled: bool
    expires: float | None

    def usable(self) -> bool:
        """Whether it includes something."""
        return self.pattern is not None or (self.condition is not None and gates(self.condition) is not None)


subscriptions = st.builds(
    Parts,
    st.one_of(st.none(), st.sampled_from(PATTERNS)),
    st.one_of(st.none(), conditions, conditions),
    st.sampled_from((True, True, True, False)),
    st.sampled_from((None, None, NOW, NOW + 1)),
).filter(Parts.usable)
metadata = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), min_size=2),
)
messages = st.tuples(st.one_of(st.none(), st.sampled_from(SUBJECTS)), metadata)


def made(parts: Parts, number: int) -> WildcardSubscription:
    """The subscription itself."""
    return WildcardSubscription(
        f"s{number}", "owner", ("there",), parts.pattern, parts.condition, parts.enabled, parts.expires
    )


def table_of(subscriptions: Sequence[WildcardSubscription], *, columns: bool) -> pa.Table:
    """The table; with ``columns``, conditions of includes and excludes are columns instead of JSON."""
    rows = [_row(subscription, columns) for subscription in subscriptions]
    matcher = pa.struct([("key", pa.string()), ("pattern", pa.string()), ("partial", pa.bool_())])
    group = pa.struct([("all", pa.bool_()), ("matchers", pa.list_(matcher))])
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("subscription_id", "pattern", "dialect", "condition")),
            *(("includes", group), ("excludes", group)),
            *(("enabled", pa.bool_()), ("expires", pa.float64())),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


def _row(subscription: WildcardSubscription, columns: bool) -> dict[str, Any]:
    condition, pattern = subscription.condition, subscription.pattern
    row: dict[str, Any] = {
        "subscription_id": subscription.id,
        "pattern": None if pattern is None else pattern.text,
        "dialect": None if pattern is None else pattern.dialect.name,
        "enabled": None if subscription.enabled else False,
        "expires": subscription.expires,
    }
    if columns and isinstance(condition, Subscription):
        row |= {name: _group(getattr(condition, name)) for name in ("includes", "excludes")}
    elif condition is not None:
        row["condition"] = json.dumps(write_condition(condition))
    return row


def _group(group: Group) -> dict[str, Any] | None:
    if not group.matchers:
        return None
    return {
        "all": group.all,
        "matchers": [{"key": each.key, "pattern": each.pattern, "partial": each.partial} for each in group.matchers],
    }


def brute_force(
    subscriptions: Sequence[WildcardSubscription], messages: Sequence[tuple[str | None, dict[str, str] | None]]
) -> list[tuple[int, int]]:
    """Every message against every subscription: the pairs of their numbers."""
    return [
        (row, number)
        for row, (subject, metadata) in enumerate(messages)
        for number, subscription in enumerate(subscriptions)
        if subscription.is_live(NOW)
        and (subject is not None or subscription.pattern is None)
        and subscription.matches(subject or "", metadata or {})
    ]
