"""Subscriptions and messages by chance, small enough to meet each other often; for ``tests.agree_subscriptions``."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

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
from pointsman.errors import InputError, PatternError
from pointsman.patterns import DIALECTS
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.model import WildcardSubscription
from tests.fuzz import pattern as pattern_text
from tests.fuzz import subject as subject_text

NOW = 1_000.0
KEYS = ("a", "b", "é")
WORDS = ("x", "xy", "Dark", "é", "日本", "😀", "1", "2.0", "-1.5", "don't", "x-y")
PIECES = ("x", "y", "Da", "ark", "é", "日", " ", "?", "?", "*", "*", "*", "*", "1")
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
NUMBERS = (-1.5, 0, 1, 1.5, 2, 1000)
SUBJECTS = ("a", "a.b", "a.b.c", "a/b", "orders.eu", "orders..eu", "", "$s/a", "A.b")
PATTERNS = ((">", "nats"), ("a.*", "nats"), ("orders.>", "nats"), ("#", "amqp"), ("*.b", "amqp"), ("a/#", "mqtt"))


class Message(NamedTuple):
    """What of a message subscriptions are about."""

    subject: str
    metadata: dict[str, str]


class Case(NamedTuple):
    """Subscriptions, and messages for all of them."""

    subscriptions: list[WildcardSubscription]
    messages: list[Message]


def make_case(source: Random, subscriptions: int, messages: int) -> Case:
    """Up to so many subscriptions, and so many messages."""
    made = [_subscription(source, str(number)) for number in range(source.randint(0, subscriptions))]
    return Case(made, [_message(source) for _ in range(messages)])


def expected(case: Case) -> list[list[str]]:
    """The ids of the subscriptions that match each message, one by one, in their order."""
    return [
        [each.id for each in case.subscriptions if each.is_live(NOW) and each.matches(*message)]
        for message in case.messages
    ]


def _subscription(source: Random, id: str) -> WildcardSubscription:
    while True:
        pattern = _pattern(source) if source.random() < 0.3 else None
        condition = _condition(source, 3) if pattern is None or source.random() < 0.7 else None
        names = tuple(source.sample(("x", "y", "z"), source.randint(1, 3)))
        enabled, expires = source.random() < 0.9, source.choice((*[None] * 9, NOW, NOW + 0.5, 1.0))
        try:
            return WildcardSubscription(id, source.choice("ab"), names, pattern, condition, enabled, expires)
        except InputError:
            # It includes nothing.
            continue


def _condition(source: Random, depth: int) -> Condition:
    kind = source.randrange(12 if depth else 7)
    if kind < 3:
        return _matcher(source)
    if kind == 3:
        return NumberComparison(_key(source), source.choice(OPERATORS), source.choice(NUMBERS))
    if kind < 7:
        includes = Group(source.random() < 0.5, tuple(_matcher(source) for _ in range(source.randint(1, 3))))
        return Subscription(
            includes, Group(source.random() < 0.5, tuple(_matcher(source) for _ in range(source.randrange(3))))
        )
    parts = tuple(_condition(source, depth - 1) for _ in range(source.randint(2, 3)))
    if kind == 11:
        return Negated(parts[0])
    return AllOf(parts) if kind < 9 else AnyOf(parts) if kind == 9 else ExactlyOneOf(parts)


def _matcher(source: Random) -> Matcher:
    if source.random() < 0.4:
        return Matcher(_key(source), source.choice(WORDS), source.random() < 0.5)
    text = "".join(source.choice(PIECES) for _ in range(source.randrange(5)))
    return Matcher(_key(source), text, source.random() < 0.5)


def _key(source: Random) -> str | None:
    return None if source.random() < 0.15 else source.choice(KEYS)


def _pattern(source: Random) -> Pattern:
    if source.random() < 0.5:
        return Pattern(*source.choice(PATTERNS))
    while True:
        dialect = source.choice(list(DIALECTS))
        try:
            return Pattern(pattern_text(source, dialect), dialect)
        except PatternError:
            continue


def _message(source: Random) -> Message:
    subject = source.choice(SUBJECTS) if source.random() < 0.6 else subject_text(source, source.choice(list(DIALECTS)))
    keys = source.sample(KEYS, source.choice((0, 1, 2, 3, 3, 3)))
    return Message(subject, {key: _value(source) for key in keys})


def _value(source: Random) -> str:
    return source.choice((" ", " ", ", ", "")).join(source.choice(WORDS) for _ in range(source.choice((0, 1, 1, 2, 3))))
