"""What must hold for all rules, patterns and subjects, in every dialect; the slow reference decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.access import Access, Principal, Rule, narrow, unusable_rules
from pointsman.access.access import PatternList, plainly_apart, sample, widest
from pointsman.errors import LimitError
from pointsman.patterns import DIALECTS, Pattern, Subject
from tests import oracle, reference
from tests.access.strategies import is_allowed, matching_rules, principals, short_subjects
from tests.patterns.strategies import NAMES, patterns, subjects

in_every_dialect = pytest.mark.parametrize("dialect", NAMES)


def evaluated_before(rule: Rule, dialect: str) -> object:
    """Sorts rules as they must be tried, written down a second time: Zato's asterisk is greater than all else."""
    text = rule.pattern.text
    if dialect == "zato":
        return [(character == "*", character) for character in text.lower()]
    return rule.pattern.specificity, text


@in_every_dialect
def test_a_check_gives_what_trying_every_rule_gives(dialect: str) -> None:
    """Allowed when a rule allows and none denies; the rule named is the first of those that decide."""

    @given(principals(dialect), st.lists(subjects(dialect), max_size=6), st.sampled_from(["publish", "subscribe"]))
    def check(principal: Principal, some: list[Subject], operation: str) -> None:
        access = Access([principal])
        for subject in some:
            verdict = access.check("p", operation, subject.text)
            matching = matching_rules(principal, operation, subject.text, dialect)
            deciding = [rule for rule in matching if rule.effect == "deny"] or matching
            first = min(deciding, key=lambda rule: evaluated_before(rule, dialect), default=None)
            assert verdict.rule is first
            assert verdict.allowed == is_allowed(principal, operation, subject.text, dialect)
            assert ("may not" not in verdict.reason) == verdict.allowed

    check()


@in_every_dialect
def test_a_narrowed_subscription_delivers_what_it_asked_for_and_may_read(dialect: str) -> None:
    """No more and no less, for generated subjects and for every short one."""

    @given(principals(dialect), patterns(dialect), st.lists(subjects(dialect), max_size=6))
    def check(principal: Principal, pattern: Pattern, some: list[Subject]) -> None:
        access = Access([principal])
        try:
            narrowing = access.narrow("p", pattern)
        except LimitError:
            return
        for subject in (*(each.text for each in some), *short_subjects(dialect)):
            asked = reference.matches(pattern.text, subject, dialect)
            delivered = narrowing.delivers(subject)
            assert delivered == (asked and is_allowed(principal, "subscribe", subject, dialect))
            assert delivered == (pattern.matches(subject) and access.check("p", "subscribe", subject).allowed)
            assert not (narrowing.nothing and delivered)
            assert not narrowing.whole or delivered == asked

    check()


@in_every_dialect
def test_what_remains_is_within_what_was_asked_for_and_says_nothing_twice(dialect: str) -> None:
    """No pattern is within another one or within what is denied, and all that is denied cuts into one."""

    @given(principals(dialect), patterns(dialect))
    def check(principal: Principal, pattern: Pattern) -> None:
        try:
            narrowing = narrow(principal, pattern)
        except LimitError:
            return
        allowed = principal.patterns("subscribe", "allow")
        for each in narrowing.patterns:
            assert pattern.contains(each)
            assert any(rule.contains(each) for rule in allowed)
            assert not any(other is not each and other.contains(each) for other in narrowing.patterns)
            assert not any(denied.contains(each) for denied in principal.patterns("subscribe", "deny"))
        for denied in narrowing.denied:
            assert any(denied.intersects(each) for each in narrowing.patterns)
        usable = [rule for rule in allowed if rule.intersects(pattern)]
        assert narrowing.nothing or usable

    check()


@in_every_dialect
def test_unusable_rules_are_those_that_one_rule_denies_and_those_that_match_nothing(dialect: str) -> None:
    """The exact search through all subjects decides."""

    @given(principals(dialect))
    def check(principal: Principal) -> None:
        found = {id(each.rule): each for each in unusable_rules(principal)}
        for rule in principal.rules:
            denying = [
                other
                for other in principal.rules
                if other.effect == "deny"
                and other.operation == rule.operation
                and oracle.contains(other.pattern.text, rule.pattern.text, dialect)
            ]
            unusable = found.get(id(rule))
            if not oracle.intersects(rule.pattern.text, rule.pattern.text, dialect):
                assert unusable is not None
                assert unusable.kind == "matches-nothing"
            elif rule.effect == "allow" and denying:
                assert unusable is not None
                assert unusable.kind == "always-denied"
                assert unusable.denied_by in denying
            else:
                assert unusable is None

    check()


@in_every_dialect
def test_an_unusable_rule_can_be_taken_away(dialect: str) -> None:
    """Nothing that was allowed is refused without it, and the other way round."""

    @given(principals(dialect))
    def check(principal: Principal) -> None:
        useless = {id(each.rule) for each in unusable_rules(principal)}
        left = Access([Principal("p", tuple(rule for rule in principal.rules if id(rule) not in useless))])
        access = Access([principal])
        for subject in short_subjects(dialect):
            for operation in ("publish", "subscribe"):
                verdicts = [each.check("p", operation, subject).allowed for each in (access, left)]
                assert verdicts[0] == verdicts[1]

    check()


@in_every_dialect
def test_a_list_of_patterns_finds_those_that_contain_another_one(dialect: str) -> None:
    """All of them, though it compares only those that match one of its subjects."""

    @given(st.lists(patterns(dialect), max_size=6), patterns(dialect))
    def check(some: list[Pattern], pattern: Pattern) -> None:
        found = sorted(PatternList(some, DIALECTS[dialect]).containing(pattern))
        assert found == [position for position, each in enumerate(some) if each.contains(pattern)]
        subject = sample(pattern)
        assert subject is None or reference.matches(pattern.text, subject, dialect)

    check()


@in_every_dialect
def test_the_widest_patterns_match_what_all_of_them_match(dialect: str) -> None:
    """And none of them is within another."""

    @given(st.lists(patterns(dialect), max_size=6))
    def check(some: list[Pattern]) -> None:
        kept = widest(some, DIALECTS[dialect])
        assert all(any(each.contains(pattern) for each in kept) for pattern in some)
        assert not any(one is not other and one.contains(other) for one in kept for other in kept)
        assert [each for each in some if any(each is one for one in kept)] == kept

    check()


@in_every_dialect
def test_patterns_that_are_plainly_apart_have_no_subject_in_common(dialect: str) -> None:
    """The quick test never says so wrongly."""

    @given(patterns(dialect), patterns(dialect))
    def check(one: Pattern, other: Pattern) -> None:
        if plainly_apart(one, other):
            assert not oracle.intersects(one.text, other.text, dialect)

    check()
