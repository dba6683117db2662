"""Rules to try, and what they mean by the slow reference, which shares no code with the package."""

from __future__ import annotations

from functools import cache
from itertools import product

from hypothesis import strategies as st

from pointsman.access import EFFECTS, OPERATIONS, Operation, Principal, Rule
from pointsman.errors import SubjectError
from pointsman.patterns import DIALECTS, Subject
from tests import reference
from tests.patterns.strategies import patterns

SHORT_TOKENS = {
    "nats": ["a", "b", "zz"],
    "amqp": ["a", "", "zz"],
    "zato": ["a", "", "ab", "zz"],
    "mqtt": ["a", "$a", "", "zz"],
}


def principals(dialect: str) -> st.SearchStrategy[Principal]:
    """Principals with a few rules of all kinds."""
    rule = st.builds(Rule, st.sampled_from(OPERATIONS), st.sampled_from(EFFECTS), patterns(dialect))
    return st.lists(rule, max_size=6).map(lambda rules: Principal("p", tuple(rules)))


def matching_rules(principal: Principal, operation: Operation, subject: str, dialect: str) -> list[Rule]:
    """The rules about the operation that match, as they were given."""
    return [
        rule
        for rule in principal.rules
        if rule.operation == operation and reference.matches(rule.pattern.text, subject, dialect)
    ]


def is_allowed(principal: Principal, operation: Operation, subject: str, dialect: str) -> bool:
    """Whether a rule allows it and none denies it."""
    effects = {rule.effect for rule in matching_rules(principal, operation, subject, dialect)}
    return effects == {"allow"}


@cache
def short_subjects(dialect: str) -> tuple[str, ...]:
    """Every valid subject of up to four of the short tokens."""
    texts = {
        DIALECTS[dialect].separator.join(tokens)
        for count in range(5)
        for tokens in product(SHORT_TOKENS[dialect], repeat=count)
    }
    return tuple(text for text in sorted(texts) if _is_valid(text, dialect))


def _is_valid(text: str, dialect: str) -> bool:
    try:
        Subject(text, dialect)
    except SubjectError:
        return False
    return True
