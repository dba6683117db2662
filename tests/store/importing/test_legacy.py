"""Legacy patterns: the translation means what SQLite's LIKE meant, or says where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pointsman.errors import PatternError
from pointsman.patterns import Pattern
from pointsman.store.migrate.patterns import CASE, NO_TOPIC, Usage, translate_legacy, usage

PATTERNS = st.text("abA.*%_#é", max_size=8)
WITH_ZATO = st.text("abA.*%", max_size=8).map(lambda text: text if set(".*") & set(text) else f"{text}*")
TOPICS = st.text("abAB.*%_#é", max_size=8)


@pytest.fixture(scope="module")
def sqlite() -> Iterator[apsw.Connection]:
    """A database to ask."""
    with closing(apsw.Connection(":memory:")) as connection:
        yield connection


def took(sqlite: apsw.Connection, pattern: str, topic: str, *, case: bool) -> bool:
    """Whether MiniQ took a message of this topic; ``case`` sets aside that LIKE makes nothing of case."""
    if not pattern:
        return True
    if "." not in pattern and "*" not in pattern:
        return pattern == topic
    sqlite.pragma("case_sensitive_like", case)
    return bool(sqlite.execute("SELECT ? LIKE ?", (topic, pattern.replace("*", "%"))).get)


def takes(patterns: tuple[str, ...], topic: str) -> bool:
    """Whether the translation takes it."""
    return any(Pattern(pattern, "amqp").matches(topic) for pattern in patterns)


@given(pattern=PATTERNS, topics=st.lists(TOPICS, min_size=20, max_size=20))
@example(pattern="*", topics=[""])
@example(pattern="*.", topics=[".", "a.", "a..", ""])
@example(pattern=".*", topics=[".", ".a", "..a", ""])
@example(pattern="a.*", topics=["a", "a.", "a.b", "a.b.b", "A.b"])
@example(pattern="a_b.a", topics=["a.b.a", "a_b.a", "ab.a"])
def test_the_translation_contains_the_old_meaning_and_is_exact_if_it_says_so(
    sqlite: apsw.Connection, pattern: str, topics: list[str]
) -> None:
    """For topics in the case of the pattern."""
    translation = translate_legacy(pattern)
    for topic in [*topics, pattern, pattern.replace("*", "a.b"), pattern.replace("*", ""), pattern.replace("_", ".")]:
        old, new = took(sqlite, pattern, topic, case=True), takes(translation.new, topic)
        assert new >= old
        if translation.exact:
            assert new == old


@given(pattern=WITH_ZATO, topics=st.lists(TOPICS, min_size=20, max_size=20))
@example(pattern="a*", topics=["A.b", "a"])
@example(pattern="*.*", topics=[".", "a.", "a.b.a"])
def test_the_zato_pattern_is_exact_with_case(sqlite: apsw.Connection, pattern: str, topics: list[str]) -> None:
    """For topics that the zato dialect has at all."""
    zato = translate_legacy(pattern).zato
    assert zato is not None
    for topic in [*topics, pattern.replace("*", "B.b"), pattern.replace("*", ""), pattern.swapcase()]:
        if topic and topic.isascii() and "#" not in topic:
            assert Pattern(zato, "zato").matches(topic) == took(sqlite, pattern, topic, case=False)


@given(pattern=PATTERNS, topic=TOPICS)
def test_what_case_changes_is_said(sqlite: apsw.Connection, pattern: str, topic: str) -> None:
    """A topic is lost only where the translation says that case counts now."""
    translation = translate_legacy(pattern)
    if took(sqlite, pattern, topic, case=False) and not takes(translation.new, topic):
        assert CASE in translation.differences


@given(pattern=PATTERNS)
def test_what_is_not_exact_says_why(pattern: str) -> None:
    """And what is in words has some."""
    translation = translate_legacy(pattern)
    assert translation.meaning
    assert translation.exact or translation.differences
    assert ("_" in pattern and ("." in pattern or "*" in pattern)) == (translation.plain is not None)


@pytest.mark.parametrize(
    ("old", "new", "exact", "zato"),
    [
        ("", "#", True, None),
        ("*", "#", True, "**"),
        ("orders", "orders", True, None),
        ("orders.created", "orders.created", True, "orders.created"),
        ("orders.*", "orders.*.#", True, "orders.*.**"),
        ("*.created", "*.#.created", True, "*.**.created"),
        ("orders.*.paid", "orders.*.#.paid", True, "orders.*.**.paid"),
        ("*.*", "*.*.#", True, "*.**.*.**"),
        ("orders*", "*.#", False, "orders**"),
        ("orders.eu*", "orders.*.#", False, "orders.eu**"),
        ("user_events.*", "*.*.#", False, None),
        ("orders.#", "orders.*", False, None),
    ],
)
def test_patterns_that_people_write(old: str, new: str, exact: bool, zato: str | None) -> None:
    """The table of the documentation."""
    translation = translate_legacy(old)
    assert (translation.new, translation.exact, translation.zato) == ((new,), exact, zato)


def test_an_underscore_was_mostly_meant_as_itself() -> None:
    """So the pattern for that is given, too."""
    translation = translate_legacy("user_events.*")
    assert translation.plain == "user_events.*.#"
    assert "if it was meant as itself, write user_events.*.#" in translation.differences


def test_messages_without_a_topic_are_named_where_they_come_in() -> None:
    """LIKE is never true of NULL, but they have an empty key now."""
    assert translate_legacy("*").differences == NO_TOPIC
    assert Pattern("#", "amqp").matches("")
    assert not Pattern(translate_legacy("orders*").new[0], "amqp").matches("")


def test_a_pattern_that_no_dialect_has_is_refused() -> None:
    """By the dialect's own error."""
    with pytest.raises(PatternError, match="too-long"):
        translate_legacy("a." + "b" * 300)
    with pytest.raises(PatternError, match="not-utf8"):
        translate_legacy("a.\udcff")


def test_usage_names_what_is_gained_and_lost() -> None:
    """Of the topics that there are."""
    topics = [("orders.created", 3), ("Orders.created", 2), ("orders", 5), ("users.created", 1)]
    found = usage([translate_legacy("orders.*"), translate_legacy("orders*"), translate_legacy("orders")], topics)
    assert found == [
        Usage(5, 3, (), ("Orders.created",)),
        Usage(10, 11, ("users.created",), ()),
        Usage(5, 5, (), ()),
    ]
