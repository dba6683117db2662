"""Generated questions about messages with odd values: predicates, and conditions on the metadata."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from pointsman.conditions import AllOf, AnyOf, ExactlyOneOf, Group, Matcher, Negated, NumberComparison, Subscription
from pointsman.conditions.predicate import Predicate
from tests.conditions.strategies import operators, render, trees, written
from tests.pipeline.predicates.odd import KEYS, ODD_TEXTS, floats, moments

_texts = st.sampled_from([text for text in ODD_TEXTS if "\x00" not in text])
_literals = st.one_of(
    _texts, st.integers(-12, 12), floats.filter(lambda number: number > 0), st.sampled_from([0.0, -0.0, 2**53])
)
_fields = st.sampled_from(
    ["subject", "id", '"source"', "content_type", "metadata.a", "metadata['']", "metadata['ключ']"]
)
_patterns = st.lists(
    st.sampled_from(["%", "_", "a", "B", "k", "\u017f", "\n", "\U0001f600", ".", "\\", "*"]), max_size=7
)


def _compared(field: str, sign: str, literal: Any) -> str:
    return f"{field} {sign} {written(literal)}"


def _written_time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


plain_predicates = st.one_of(
    st.builds(_compared, _fields, operators, _literals),
    st.builds(_compared, st.just("time"), operators, moments.map(_written_time)),
    st.lists(moments.map(_written_time), min_size=1, max_size=14).map(lambda times: f"time IN ({str(times)[1:-1]})"),
    st.builds(
        lambda field, literals, no: f"{field} {no} IN ({', '.join(map(written, literals))})",
        _fields,
        st.lists(_literals | st.booleans() | st.none(), min_size=1, max_size=20),
        st.sampled_from(["", "NOT"]),
    ),
    st.builds(
        lambda field, how, signs: f"{field} {how} {written(''.join(signs))}",
        _fields,
        st.sampled_from(["LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE"]),
        _patterns,
    ),
    st.builds(
        "{} IS {} NULL".format, st.sampled_from(["time", "metadata.b", "causation_id"]), st.sampled_from(["", "NOT"])
    ),
    st.sampled_from(
        [
            "metadata.a",
            "NOT subject",
            "(metadata.a = 1) IS NOT TRUE",
            "metadata.a > FALSE",
            "time = NULL",
        ]
    ),
)
plain_trees = st.recursive(
    plain_predicates,
    lambda inner: st.one_of(
        st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
        st.builds("({}) IS {}".format, inner, st.sampled_from(["TRUE", "FALSE", "NULL", "NOT TRUE"])),
    ),
    max_leaves=5,
).map(Predicate)
any_trees = trees.map(render).map(Predicate)

_globs = st.sampled_from(ODD_TEXTS) | st.text("ab*?.\\\n\U0001f600", max_size=6)


def conditions(partial: st.SearchStrategy[bool]) -> st.SearchStrategy[Any]:
    """Conditions on the metadata."""
    keys = st.none() | st.sampled_from(KEYS)
    matchers = st.builds(Matcher, keys, _globs, partial)
    groups = st.builds(Group, st.booleans(), st.lists(matchers, max_size=3).map(tuple))
    return st.recursive(
        matchers
        | st.builds(NumberComparison, keys, operators, floats | st.sampled_from([0.0, -0.0, 1, 10]))
        | st.builds(Subscription, groups.filter(lambda group: bool(group.matchers)), groups),
        lambda inner: st.one_of(
            st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
            st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
            st.builds(ExactlyOneOf, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Negated, inner),
        ),
        max_leaves=4,
    )
