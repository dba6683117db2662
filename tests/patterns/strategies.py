"""Patterns and subjects to try, small enough to meet each other and odd enough to find what is wrong."""

from __future__ import annotations

from hypothesis import strategies as st

from pointsman.errors import PatternError, SubjectError
from pointsman.patterns import DIALECTS, Pattern, Subject

NAMES = tuple(DIALECTS)

TOKENS = {
    "nats": ["a", "b", "é", "a*", ">b"],
    "amqp": ["a", "b", "", "é", "a*", "##"],
    "zato": ["a", "B", "", "ab", "A", " ", "a "],
    "mqtt": ["a", "b", "", "$a", "é", " "],
}
WILDCARDS = {
    "nats": ["*"],
    "amqp": ["*", "#", "#"],
    "zato": ["*", "**", "**", "a*", "*b", "a**b", "**a", "***", "*b*", "* a"],
    "mqtt": ["+"],
}
LAST = {"nats": [">"], "mqtt": ["#"]}


def pattern_texts(dialect: str) -> st.SearchStrategy[str]:
    """Texts that look like patterns of the dialect; a few are not valid."""
    token = st.sampled_from(TOKENS[dialect]) | st.sampled_from(WILDCARDS[dialect])
    tokens = st.lists(token, min_size=0 if dialect == "amqp" else 1, max_size=5)
    if dialect in LAST:
        tokens = st.builds(
            lambda front, last: front + last, tokens, st.lists(st.sampled_from(LAST[dialect]), max_size=1)
        )
    return tokens.map(DIALECTS[dialect].separator.join)


def patterns(dialect: str) -> st.SearchStrategy[Pattern]:
    """Valid patterns."""
    return (
        pattern_texts(dialect)
        .filter(lambda text: _is_valid(Pattern, text, dialect))
        .map(lambda text: Pattern(text, dialect))
    )


def subjects(dialect: str) -> st.SearchStrategy[Subject]:
    """Valid subjects of the same tokens, and of one that no pattern names."""
    token = st.sampled_from([*TOKENS[dialect], "zz"])
    texts = st.lists(token, min_size=0 if dialect == "amqp" else 1, max_size=6).map(DIALECTS[dialect].separator.join)
    return texts.filter(lambda text: _is_valid(Subject, text, dialect)).map(lambda text: Subject(text, dialect))


def _is_valid(kind: type[Pattern] | type[Subject], text: str, dialect: str) -> bool:
    try:
        kind(text, dialect)
    except (PatternError, SubjectError):
        return False
    return True
