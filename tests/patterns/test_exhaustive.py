"""Every pattern of up to four tokens against every other one: brute force over all short subjects decides."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from pointsman.errors import PatternError, SubjectError
from pointsman.patterns import DIALECTS, Pattern, Subject
from tests import oracle, reference

PATTERN_TOKENS = {
    "nats": ["a", "b", "*", ">"],
    "amqp": ["a", "", "*", "#"],
    "zato": ["a", "", "*", "**", "a*"],
    "mqtt": ["a", "$a", "+", "#"],
}
SUBJECT_TOKENS = {
    "nats": (["a", "b", "z"], 6),
    "amqp": (["a", "", "z"], 7),
    "zato": (["a", "", "z", "az", "za"], 5),
    "mqtt": (["a", "$a", "", "z"], 6),
}


@cache
def all_patterns(dialect: str, longest: int) -> tuple[Pattern, ...]:
    """Every valid pattern of up to so many tokens."""
    found = {}
    for count in range(1, longest + 1):
        for tokens in product(PATTERN_TOKENS[dialect], repeat=count):
            try:
                pattern = Pattern(DIALECTS[dialect].separator.join(tokens), dialect)
            except PatternError:
                continue
            found[pattern.text] = pattern
    return tuple(found.values())


@cache
def all_subjects(dialect: str) -> tuple[Subject, ...]:
    """Every valid short subject."""
    alphabet, longest = SUBJECT_TOKENS[dialect]
    found = {}
    for count in range(longest + 1):
        for tokens in product(alphabet, repeat=count):
            try:
                subject = Subject(DIALECTS[dialect].separator.join(tokens), dialect)
            except SubjectError:
                continue
            found[subject.text] = subject
    return tuple(found.values())


@cache
def matched(text: str, dialect: str) -> int:
    """The subjects that a pattern matches, by the slow reference, as the bits of a number."""
    return sum(
        1 << index
        for index, subject in enumerate(all_subjects(dialect))
        if reference.matches(text, subject.text, dialect)
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_short_pattern_matches_the_short_subjects_the_reference_says(dialect: str) -> None:
    """No disagreement in any pair of a pattern of up to 3 tokens and a short subject."""
    subjects = all_subjects(dialect)
    for pattern in all_patterns(dialect, 3):
        found = sum(1 << index for index, subject in enumerate(subjects) if pattern.matches(subject))
        assert found == matched(pattern.text, dialect), pattern


@pytest.mark.parametrize("dialect", DIALECTS)
def test_contains_and_intersects_are_right_for_every_pair_of_short_patterns(dialect: str) -> None:
    """No disagreement in any pair of patterns of up to 4 tokens (3 for zato, which has one kind of token more)."""
    patterns = all_patterns(dialect, 3 if dialect == "zato" else 4)
    for one in patterns:
        mine = matched(one.text, dialect)
        for other in patterns:
            theirs = matched(other.text, dialect)
            assert one.contains(other) == (theirs & ~mine == 0), (one, other)
            assert one.intersects(other) == (theirs & mine != 0), (one, other)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_intersection_is_right_for_every_pair_of_short_patterns(dialect: str) -> None:
    """The patterns of the intersection match exactly the common subjects, for patterns of up to 3 tokens (zato: 2)."""
    patterns = all_patterns(dialect, 2 if dialect == "zato" else 3)
    for one in patterns:
        for other in patterns:
            common = 0
            for pattern in one.intersection(other):
                common |= matched(pattern.text, dialect)
            assert common == matched(one.text, dialect) & matched(other.text, dialect), (one, other)


def test_zatos_patterns_of_four_segments_are_compared_rightly_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brute force decides; where its subjects are too short to tell two patterns apart, the oracle does."""
    monkeypatch.setitem(PATTERN_TOKENS, "zato", ["a", "*", "**", "a*"])
    patterns = all_patterns.__wrapped__("zato", 4)
    assert len(patterns) == 340
    for one in patterns:
        mine = matched(one.text, "zato")
        for other in patterns:
            theirs = matched(other.text, "zato")
            if one.contains(other) != (theirs & ~mine == 0):
                assert one.contains(other) == oracle.contains(one.text, other.text, "zato"), (one, other)
            if one.intersects(other) != (theirs & mine != 0):
                assert one.intersects(other) == oracle.intersects(one.text, other.text, "zato"), (one, other)
