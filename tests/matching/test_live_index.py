"""The live index: what all engines do, and what is its own. Its cache and its changes have files of their own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pointsman.errors import PatternError, SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.matching.live_glob import make_glob_test
from pointsman.matching.live_read import make_reader
from pointsman.patterns import DIALECTS, Pattern, Subject
from pointsman.patterns.nodes import Glob
from tests import reference
from tests.matching.behaviour import Matches, MatchingBehaviour, Patterns, in_every_dialect


def ask(index: SubjectIndex[int], texts: Sequence[str]) -> Matches:
    """The answers of an index whose values are positions."""
    answers: Matches = []
    for text in texts:
        try:
            answers.append(sorted(index.match(text)))
        except SubjectError:
            answers.append(None)
    return answers


def filled(some: Patterns, cache_size: int = 10_000) -> SubjectIndex[int]:
    """An index of these patterns, in the dialect of the first."""
    index: SubjectIndex[int] = SubjectIndex(some[0][1], cache_size)
    for position, (text, dialect) in enumerate(some):
        assert index.add(Pattern(text, dialect), position)
    return index


class TestReference(MatchingBehaviour):
    """One pattern after the other, asked by itself."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Without any index."""
        parsed = [Pattern(text, dialect) for text, dialect in some]
        answers: Matches = []
        for text in texts:
            read: dict[str, Subject] = {}
            for name in {dialect for _, dialect in some}:
                try:
                    read[name] = Subject(text, name)
                except SubjectError:
                    continue
            found = [
                position
                for position, each in enumerate(parsed)
                if each.dialect.name in read and each.matches(read[each.dialect.name])
            ]
            answers.append(found if read else None)
        return answers


class TestIndexWithoutCache(MatchingBehaviour):
    """Every answer is worked out."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Fills an index and asks it."""
        return ask(filled(some, cache_size=0), texts)


class TestIndexWithCache(MatchingBehaviour):
    """The second answer comes from the cache."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Asks twice."""
        index = filled(some)
        first = ask(index, texts)
        misses = index.stats().cache_misses
        assert ask(index, texts) == first
        again = [answer for text, answer in zip(texts, first, strict=True) if answer is None or len(text) > 1_000]
        assert index.stats().cache_misses == misses + len(again)
        return first


class TestIndexAfterChanges(MatchingBehaviour):
    """What has come and gone leaves no trace."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Adds and takes away in a random order, asking in between, until the patterns are those that were given."""
        chance = random.Random(repr((some, texts)))
        index: SubjectIndex[int] = SubjectIndex(some[0][1], cache_size=3)
        pairs = [(Pattern(text, dialect), position) for position, (text, dialect) in enumerate(some)]
        there: set[int] = set()
        for _ in range(3):
            for pattern, position in chance.sample(pairs, len(pairs)):
                if chance.random() < 0.5:
                    assert index.add(pattern, position) == (position not in there)
                    there.add(position)
                else:
                    assert index.remove(pattern, position) == (position in there)
                    there.discard(position)
                ask(index, texts[:2])
        for pattern, position in chance.sample(pairs, len(pairs)):
            index.add(pattern, position)
        if not texts:
            return []
        assert index.stats().nodes == filled(some).stats().nodes
        return ask(index, texts)


def test_a_pair_is_added_once_and_removed_once() -> None:
    """The answers say whether anything changed."""
    index: SubjectIndex[str] = SubjectIndex()
    assert index.add("a.*", "x")
    assert not index.add("a.*", "x")
    assert index.add("a.*", "y")
    assert index.match("a.b") == ["x", "y"]
    assert index.remove("a.*", "x")
    assert not index.remove("a.*", "x")
    assert not index.remove("a.b", "y")
    assert not index.remove(Pattern("a.*", "amqp"), "y")
    assert index.match("a.b") == ["y"]
    assert len(index) == 1


def test_the_pairs_can_be_looked_up_and_listed() -> None:
    """As they were given, also from several dialects."""
    index: SubjectIndex[int] = SubjectIndex("zato")
    added = [("Orders.*", 1), ("orders.*", 2), ("a.B", 3), ("a**b", 4), ("x.**", 5), ("o*.x", 6)]
    for text, value in added:
        index.add(text, value)
    index.add(Pattern("a.b", "nats"), 3)
    assert sorted((str(pattern), value) for pattern, value in index) == sorted([*added, ("a.b", 3)])
    assert len(index) == 7
    assert ("ORDERS.*", 1) in index
    assert (Pattern("a.b", "nats"), 3) in index
    assert (Pattern("a.b", "amqp"), 3) not in index
    assert ("a.b", 4) not in index
    assert ("a.c", 3) not in index


@pytest.mark.parametrize(
    ("dialect", "one", "other"), [("amqp", "#", "#.#"), ("amqp", "*.#", "#.*"), ("zato", "**", "***")]
)
def test_patterns_that_only_mean_the_same_are_kept_apart(dialect: str, one: str, other: str) -> None:
    """Taking one away leaves the other, so that two who wrote them differently do not disturb each other."""
    assert Pattern(one, dialect) == Pattern(other, dialect)
    index: SubjectIndex[str] = SubjectIndex(dialect)
    assert index.add(one, "x")
    assert index.add(other, "x")
    assert index.match("a") == ["x", "x"]
    assert index.remove(one, "x")
    assert index.match("a") == ["x"]
    assert (one, "x") not in index
    assert (other, "x") in index


@pytest.mark.parametrize(("one", "other"), [("a.B", "A.b"), ("A.*", "a.*"), ("a**b", "A***b"), ("A*", "a*")])
def test_patterns_of_the_same_tokens_are_one(one: str, other: str) -> None:
    """Case, where the dialect ignores it, and the number of asterisks that cross make no second pattern."""
    index: SubjectIndex[str] = SubjectIndex("zato")
    assert index.add(one, "x")
    assert not index.add(other, "x")
    assert index.stats().patterns == 1
    assert index.remove(other, "x")
    assert len(index) == 0


@pytest.mark.parametrize(
    ("text", "subject"), [("a.b", "a.b"), ("a.*", "a.b"), ("a.**", "a.b"), ("a.b*", "a.b"), ("a**", "a.b")]
)
@pytest.mark.parametrize("count", [1, 15, 16, 17, 18, 100])
def test_a_pattern_has_any_number_of_values(text: str, subject: str, count: int) -> None:
    """Few and many are kept in different ways, and nothing is lost where one becomes the other."""
    index: SubjectIndex[int] = SubjectIndex("zato")
    for value in range(count):
        assert index.add(text, value)
        assert index.match(subject) == list(range(value + 1))
    for value in range(count - 1):
        assert index.remove(text, value)
        assert index.match(subject) == list(range(value + 1, count))
    assert index.remove(text, count - 1)
    assert index.match(subject) == []


def test_a_subject_of_another_dialect_is_read_by_its_text() -> None:
    """The text is what counts, not the dialect it came from."""
    index: SubjectIndex[str] = SubjectIndex("mqtt")
    index.add("+", "one level")
    index.add(Pattern("a.*", "nats"), "two tokens")
    assert sorted(index.match(Subject("a.b", "amqp"))) == ["one level", "two tokens"]
    assert index.match(Subject("a/b", "mqtt")) == []


def test_a_text_that_is_a_subject_nowhere_is_refused_in_the_dialect_of_the_index() -> None:
    """Also when the index is empty, and again when the dialect that allowed it has left."""
    index: SubjectIndex[str] = SubjectIndex("nats")
    with pytest.raises(SubjectError, match="nats subject is empty"):
        index.match("a..b")
    index.add(Pattern("x.*", "amqp"), "x")
    assert index.match("a..b") == []
    assert index.match("a..b") == []
    index.remove(Pattern("x.*", "amqp"), "x")
    with pytest.raises(SubjectError, match="nats subject is empty"):
        index.match("a..b")


def test_a_text_of_the_index_s_own_dialect_is_a_subject_without_any_pattern() -> None:
    """Nothing matches, and nothing is wrong."""
    index: SubjectIndex[str] = SubjectIndex("nats")
    assert index.match("a/b") == []
    index.add(Pattern("x", "zato"), "x")
    assert index.match("é") == []


def test_what_is_no_text_is_refused() -> None:
    """As by a subject."""
    for wrong in (1, None, b"a", ["a"]):
        with pytest.raises(SubjectError) as caught:
            SubjectIndex().match(wrong)  # type: ignore[arg-type]
        assert caught.value.code == "not-text"


class Topic(StrEnum):
    """Texts with names of their own."""

    NEW = "orders.new"


def test_a_text_of_a_class_of_its_own_is_read_as_text() -> None:
    """And is the same to the cache."""
    index: SubjectIndex[str] = SubjectIndex()
    index.add("orders.new", "x")
    assert index.match(Topic.NEW) == ["x"]
    assert index.match("orders.new") == ["x"]
    assert index.match(Topic.NEW) == ["x"]
    assert index.stats().cache_entries == index.stats().cache_misses == 1


@pytest.mark.parametrize("cache_size", [0, 10])
def test_the_list_belongs_to_the_caller(cache_size: int) -> None:
    """Changing it changes nothing else."""
    index: SubjectIndex[str] = SubjectIndex(cache_size=cache_size)
    index.add("a", "x")
    for _ in range(3):
        index.match("a").append("mine")
    assert index.match("a") == ["x"]


def test_a_call_that_raises_leaves_the_index_as_it_was() -> None:
    """Bad patterns and values are found before anything is done."""
    index: SubjectIndex[object] = SubjectIndex()
    index.add("a", 1)
    before = index.stats()
    for change in (index.add, index.remove):
        with pytest.raises(PatternError):
            change("a..b", 1)
        with pytest.raises(TypeError):
            change("a.*", [])  # type: ignore[arg-type]
    assert index.stats() == before


def test_the_numbers_say_what_is_there() -> None:
    """Patterns by kind, pairs, and the nodes of the tries, which go when they are not needed."""
    index: SubjectIndex[int] = SubjectIndex("zato")
    index.add("keep.*.this", 0)
    before = index.stats()
    assert (before.pairs, before.patterns, before.wildcards, before.nodes) == (1, 1, 1, 4)
    assert (before.exact, before.globs) == (0, 0)
    added = [
        ("a.b", 1),
        ("a.b", 2),
        ("a.*.c", 1),
        ("keep.*.that", 3),
        ("a*.b.c", 1),
        ("a**b", 1),
        ("p.q.a**b", 1),
        ("a.b.**.c.d", 1),
        ("a.**", 1),
    ]
    for text, value in added:
        index.add(text, value)
    full = index.stats()
    assert (full.pairs, full.patterns, full.exact, full.wildcards, full.globs) == (10, 9, 1, 5, 3)
    assert full.nodes == 4 + 3 + 1 + 3 + 0 + 2 + 4
    for text, value in reversed(added):
        assert index.remove(text, value)
    assert index.stats() == before


@in_every_dialect
def test_the_quick_reader_reads_what_a_subject_reads(dialect: str) -> None:
    """It splits what Subject allows, folded, and refuses what Subject refuses."""
    read = make_reader(DIALECTS[dialect])
    odd = st.text("aZ.*>+#/ $\t\x1c\x7f\0\ud800é", max_size=8)
    long = st.builds(lambda text, count: text * count, st.sampled_from(["a", "é", "a."]), st.integers(60, 300))

    @given(st.text() | odd | long | st.sampled_from(["a.Zato", "ZPSK", "x" * 65_535, "x" * 65_536]))
    def check(text: str) -> None:
        try:
            subject = Subject(text, dialect)
        except SubjectError:
            assert read(text) is None
        else:
            assert read(text) == DIALECTS[dialect].split(subject.folded)

    check()


@example("*b*ab", "ab")
@example("*b*b*", "b")
@example("a*a", "a")
@given(
    st.text("ab*", min_size=1, max_size=8).filter(lambda text: "*" in text and "**" not in text),
    st.text("ab", max_size=8),
)
def test_a_glob_is_tested_as_the_slow_reference_says(text: str, token: str) -> None:
    """The first place for each of its texts is as good as any."""
    node = Pattern(f"x.{text}", "zato").nodes[1]
    if isinstance(node, Glob):
        assert make_glob_test(node)(token) == reference.zato_glob(text, token)


def test_a_wildcard_of_another_dialect_is_an_error_unless_a_dialect_was_given() -> None:
    """As for ``Pattern``: it would match nothing, in silence."""
    with pytest.raises(PatternError, match="'#' is a wildcard in amqp"):
        SubjectIndex[str]().add("orders.#", "all")
    assert SubjectIndex[str]("nats").add("orders.#", "one")
