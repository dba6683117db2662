"""Small tables, and every short message that could be sent to them."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from pointsman.message import Message
from pointsman.patterns import Pattern, Subject, find_dialect
from pointsman.table.routing_table import RoutingTable
from tests.matching.behaviour import is_pattern, is_subject

TOKENS = {
    "nats": ["a", "b", "*", "*", ">"],
    "amqp": ["a", "b", "", "*", "*", "#", "#"],
    "zato": ["a", "b", "*", "**", "a*", "*b", "a**"],
    "mqtt": ["a", "$b", "", "+", "+", "#"],
}
SUBJECT_TOKENS = {"nats": ["a", "b", "x"], "amqp": ["a", "b", "x", ""], "mqtt": ["a", "$b", "x", "$x", ""]}
LONGEST = {"nats": 3, "amqp": 3, "zato": 2, "mqtt": 3}
PREDICATES = ["TRUE", "FALSE", "metadata.k = '1'", "metadata.k = '2'"]
METADATA: list[dict[str, str]] = [{}, {"k": "1"}, {"k": "2"}]


@cache
def subjects(dialect: str) -> tuple[str, ...]:
    """Every short subject of a few letters, one of which no pattern names.

    Long enough to tell the patterns apart; with ``a**b`` in two segments, Zato's would have to be longer.
    """
    if dialect == "zato":
        texts = ["".join(each) for length in range(1, 7) for each in product("abx.", repeat=length)]
    else:
        separator = find_dialect(dialect).separator
        tokens = SUBJECT_TOKENS[dialect]
        lengths = range(LONGEST[dialect] + (2 if dialect == "mqtt" else 3))
        texts = [separator.join(each) for length in lengths for each in product(tokens, repeat=length)]
    return tuple(dict.fromkeys(text for text in texts if is_subject(text, dialect)))


@cache
def matched(pattern: str, dialect: str) -> frozenset[str]:
    """Those of the subjects that a pattern matches."""
    parsed = Pattern(pattern, dialect)
    return frozenset(subject.text for subject in _parsed(dialect) if parsed.matches(subject))


@cache
def _parsed(dialect: str) -> tuple[Subject, ...]:
    return tuple(Subject(text, dialect) for text in subjects(dialect))


def patterns(dialect: str) -> st.SearchStrategy[str]:
    """Short patterns of few letters."""
    separator = find_dialect(dialect).separator
    tokens = st.lists(st.sampled_from(TOKENS[dialect]), min_size=1, max_size=LONGEST[dialect])
    return tokens.map(separator.join).filter(lambda text: is_pattern(text, dialect))


def literals(dialect: str) -> st.SearchStrategy[str]:
    """Short subjects as patterns; few of them, so that some are the same."""
    tokens = [token for token in dict.fromkeys(TOKENS[dialect]) if not set(token) & set("*>#+")]
    texts = st.lists(st.sampled_from(tokens), min_size=1, max_size=2).map(find_dialect(dialect).separator.join)
    return texts.filter(lambda text: is_pattern(text, dialect))


@st.composite
def tables(draw: st.DrawFn, dialect: str, strategy: str) -> RoutingTable:
    """A table of a few routes of one strategy."""
    routes: list[dict[str, Any]] = []
    for number in range(draw(st.integers(2, 5))):
        route: dict[str, Any] = {
            "name": f"r{number}",
            "pattern": draw(literals(dialect) if strategy == "direct" else patterns(dialect)),
            "strategy": strategy,
            "destinations": [draw(st.sampled_from(["one", "two"]))],
            "group": draw(st.sampled_from(["", "", "g"])),
            "enabled": draw(st.sampled_from([True, True, True, True, False])),
        }
        if strategy == "priority":
            route["priority"] = draw(st.integers(0, 1))
        if strategy == "content" or draw(st.integers(0, 4)) == 0:
            route["when"] = draw(st.sampled_from([PREDICATES[0], *PREDICATES]))
        routes.append(route)
    text = json.dumps({"dialect": dialect, "destinations": {"one": {}, "two": {}}, "routes": routes})
    return RoutingTable.parse(text)


def messages(table: RoutingTable) -> list[Message]:
    """Every short message that tells the routes of the table apart."""
    metadata = METADATA if any(route.predicate and "k" in route.predicate.text for route in table.routes) else [{}]
    return [Message(text, metadata=each) for text in subjects(table.dialect.name) for each in metadata]
