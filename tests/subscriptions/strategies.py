"""Generated subscriptions, and messages that they are likely to be about."""

from __future__ import annotations

from hypothesis import strategies as st

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
)
from pointsman.errors import InputError
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.model import WildcardSubscription

KEYS = ["title", "size", "region"]
VALUES = ["EU", "US", "10", "9.5", "Dark Matter", "dark matter of Europe", "", "EU-West", "ä"]
SUBJECTS = ["orders.eu", "orders.us.new", "plant.1.pressure", "orders"]

keys = st.none() | st.sampled_from(KEYS)
patterns = st.sampled_from(["EU", "US", "10", "*", "E?", "Dark*", "*att*", "dark", "Matter", "?", "", "d?rk*", "ä"])
matchers = st.builds(Matcher, keys, patterns, st.booleans())
comparisons = st.builds(
    NumberComparison, keys, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.sampled_from([9.5, 10, -1])
)
groups = st.builds(Group, st.booleans(), st.lists(matchers, max_size=3).map(tuple))
conditions: st.SearchStrategy[Condition] = st.recursive(
    matchers | comparisons | st.builds(Subscription, groups.filter(lambda group: bool(group.matchers)), groups),
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(ExactlyOneOf, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Negated, inner),
    ),
    max_leaves=6,
)
metadata = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
subjects = st.sampled_from(SUBJECTS)
subject_patterns = st.sampled_from(
    [
        Pattern("orders.>"),
        Pattern("orders.*"),
        Pattern("plant.1.pressure"),
        Pattern("#.eu", "amqp"),
        Pattern("orders/#", "mqtt"),
        Pattern("orders.**", "zato"),
    ]
)


@st.composite
def subscriptions(draw: st.DrawFn, id: str = "one") -> WildcardSubscription:
    """A subscription of this id; its pattern is there where its condition needs it, and often besides."""
    condition = draw(st.none() | conditions)
    pattern = draw(st.none() | subject_patterns)
    names = tuple(draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True)))
    owner = draw(st.sampled_from(["ada", "bob"]))
    enabled = draw(st.sampled_from([True, True, False]))
    expires = draw(st.none() | st.sampled_from([0.5, 2_000_000.0]))
    try:
        return WildcardSubscription(id, owner, names, pattern, condition, enabled, expires)
    except InputError:
        needed = pattern or draw(subject_patterns)
        return WildcardSubscription(id, owner, names, needed, condition, enabled, expires)
