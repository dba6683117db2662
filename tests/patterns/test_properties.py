"""What must hold for every pattern and subject, in every dialect; the inputs are generated."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import LimitError, PointsmanError
from pointsman.patterns import DIALECTS, Pattern, Subject, Template
from tests import oracle, reference
from tests.patterns.strategies import NAMES, patterns, subjects

in_every_dialect = pytest.mark.parametrize("dialect", NAMES)


@in_every_dialect
def test_a_pattern_matches_what_the_slow_reference_says(dialect: str) -> None:
    """The matcher and the reference agree."""

    @given(patterns(dialect), subjects(dialect))
    def check(pattern: Pattern, subject: Subject) -> None:
        assert pattern.matches(subject) == reference.matches(pattern.text, subject.text, dialect)

    check()


@in_every_dialect
def test_captures_put_back_into_the_pattern_give_the_subject(dialect: str) -> None:
    """Captures hold everything the wildcards stand for, and nothing else."""

    @given(patterns(dialect), subjects(dialect))
    def check(pattern: Pattern, subject: Subject) -> None:
        captures = pattern.captures(subject)
        assert (captures is not None) == pattern.matches(subject)
        if captures is not None:
            assert Subject(pattern.fill(captures), dialect) == subject

    check()


@in_every_dialect
def test_containment_is_what_a_search_through_all_subjects_says(dialect: str) -> None:
    """Contains agrees with the oracle, which is exact."""

    @given(patterns(dialect), patterns(dialect))
    def check(one: Pattern, other: Pattern) -> None:
        assert one.contains(other) == oracle.contains(one.text, other.text, dialect)
        assert one.contains(one)

    check()


@in_every_dialect
def test_two_patterns_intersect_when_a_search_finds_a_common_subject(dialect: str) -> None:
    """Intersects agrees with the oracle, which is exact, and does not depend on the order."""

    @given(patterns(dialect), patterns(dialect))
    def check(one: Pattern, other: Pattern) -> None:
        assert one.intersects(other) == oracle.intersects(one.text, other.text, dialect)
        assert one.intersects(other) == other.intersects(one)

    check()


@in_every_dialect
def test_the_intersection_matches_what_both_match(dialect: str) -> None:
    """The patterns of an intersection together match the common subjects, and are within both."""

    @given(patterns(dialect), patterns(dialect), st.lists(subjects(dialect), max_size=5))
    def check(one: Pattern, other: Pattern, some: list[Subject]) -> None:
        try:
            common = one.intersection(other)
        except LimitError:
            return
        assert bool(common) == one.intersects(other)
        for pattern in common:
            assert one.contains(pattern)
            assert other.contains(pattern)
            assert not any(pattern is not each and each.contains(pattern) for each in common)
        for subject in some:
            both = one.matches(subject) and other.matches(subject)
            assert any(pattern.matches(subject) for pattern in common) == both

    check()


@in_every_dialect
def test_the_text_of_a_pattern_comes_back_and_parses_to_the_same(dialect: str) -> None:
    """Parsing and writing are each other's way back, also through a pickle."""

    @given(patterns(dialect))
    def check(pattern: Pattern) -> None:
        again = Pattern(str(pattern), dialect)
        assert again.text == pattern.text
        assert again.nodes == pattern.nodes
        assert Pattern.of(pattern.nodes, pattern.dialect).nodes == pattern.nodes
        assert Pattern(Pattern.of(pattern.nodes, pattern.dialect).text, dialect).nodes == pattern.nodes
        assert pickle.loads(pickle.dumps(pattern)) == pattern

    check()


@in_every_dialect
def test_patterns_are_equal_when_they_match_the_same_subjects(dialect: str) -> None:
    """Equality is containment both ways, and equal patterns have one hash."""

    @given(patterns(dialect), patterns(dialect))
    def check(one: Pattern, other: Pattern) -> None:
        same = oracle.contains(one.text, other.text, dialect) and oracle.contains(other.text, one.text, dialect)
        assert (one == other) == same
        if same:
            assert hash(one) == hash(other)

    check()


@in_every_dialect
def test_a_literal_is_more_specific_than_anything_with_a_wildcard(dialect: str) -> None:
    """Sorted by specificity, literals come first, then patterns without a wildcard for many tokens."""

    @given(patterns(dialect), patterns(dialect))
    def check(one: Pattern, other: Pattern) -> None:
        if one.is_literal and not other.is_literal:
            assert one.specificity < other.specificity
        if one.specificity.many < other.specificity.many:
            assert one.specificity < other.specificity

    check()


@in_every_dialect
def test_only_the_projects_own_errors_come_out_of_arbitrary_text(dialect: str) -> None:
    """Whatever the text, parsing it and working with it ends well or in a PointsmanError."""

    @given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
    def check(first: str, second: str, third: str) -> None:
        try:
            pattern, other = Pattern(first, dialect), Pattern(second, dialect)
            pattern.contains(other)
            pattern.intersects(other)
            hash(pattern)
            for target in DIALECTS:
                pattern.convert(target)
            Template(second, pattern)
            pattern.intersection(other)
            pattern.captures(third)
        except PointsmanError as error:
            assert str(error)
            assert error.help

    check()
