"""The slow reference: what a pattern means, written down as directly as possible and sharing no code with the package.

It tries every way to read a subject, so it is exponential; tests call it with short inputs only.
"""

from __future__ import annotations

from functools import cache

SEPARATOR = {"nats": ".", "amqp": ".", "zato": ".", "mqtt": "/"}
ONE = {"nats": "*", "amqp": "*", "mqtt": "+"}
MANY = {"nats": ">", "amqp": "#", "mqtt": "#"}
MINIMUM = {"nats": 1, "amqp": 0, "mqtt": 0}


def matches(pattern: str, subject: str, dialect: str) -> bool:
    """Whether the pattern matches the subject; both must be valid."""
    if dialect == "zato":
        return zato_segments(tuple(pattern.lower().split(".")), subject.lower())
    if dialect == "mqtt" and subject.startswith("$") and pattern[:1] in ("+", "#"):
        return False
    return tokens(split(pattern, dialect), split(subject, dialect), dialect)


def split(text: str, dialect: str) -> tuple[str, ...]:
    """The tokens of a text; AMQP's empty text has none."""
    return () if dialect == "amqp" and not text else tuple(text.split(SEPARATOR[dialect]))


@cache
def tokens(pattern: tuple[str, ...], subject: tuple[str, ...], dialect: str) -> bool:
    """Dialects whose wildcards stand for whole tokens."""
    if not pattern:
        return not subject
    head, rest = pattern[0], pattern[1:]
    if head == MANY[dialect]:
        return any(tokens(rest, subject[count:], dialect) for count in range(MINIMUM[dialect], len(subject) + 1))
    if not subject:
        return False
    return (head == ONE[dialect] or head == subject[0]) and tokens(rest, subject[1:], dialect)


@cache
def zato_segments(pattern: tuple[str, ...], subject: str | None) -> bool:
    """Zato's segments; the subject is the text left, None when no segment is left."""
    if not pattern:
        return subject is None
    head, rest = pattern[0], pattern[1:]
    if head == "**" and zato_segments(rest, subject):
        return True
    if subject is None:
        return False
    for end in (*(index for index, character in enumerate(subject) if character == "."), len(subject)):
        left = None if end == len(subject) else subject[end + 1 :]
        if (head == "**" or zato_glob(head, subject[:end])) and zato_segments(rest, left):
            return True
    return False


@cache
def zato_glob(pattern: str, text: str) -> bool:
    """One segment of a Zato pattern: an asterisk stops at dots, two or more together cross them."""
    if not pattern:
        return not text
    if pattern[0] != "*":
        return text[:1] == pattern[0] and zato_glob(pattern[1:], text[1:])
    rest = pattern.lstrip("*")
    crosses = len(pattern) - len(rest) > 1
    return any(zato_glob(rest, text[end:]) for end in range(len(text) + 1) if crosses or "." not in text[:end])
