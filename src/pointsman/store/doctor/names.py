"""What messages and deliveries refer to by number: routing keys, subscriptions and routes."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.errors import PointsmanError
from pointsman.patterns.dialect import Dialect, find_dialect
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject
from pointsman.store.doctor import questions
from pointsman.store.doctor.control import Control
from pointsman.store.doctor.faults import Names
from pointsman.store.doctor.finding import Findings, Sample
from pointsman.store.doctor.reading import Asked


def read_names(connection: Asked, control: Control) -> Names:
    """What deliveries can refer to."""
    subscriptions = {row[0]: bool(row[5]) for row in connection.execute(questions.SUBSCRIPTIONS)}
    routes = frozenset(row[0] for row in connection.execute(questions.VIAS))
    return Names(subscriptions, routes, control.latest)


def damaged_keys(connection: Asked, dialect: Dialect) -> Iterator[tuple[int, bytes]]:
    """Keys that the dialect of the queue does not have."""
    for number, text in connection.execute(questions.KEYS):
        try:
            Subject(text.decode(), dialect)
        except (UnicodeDecodeError, AttributeError, PointsmanError):
            yield number, text or b""


def damaged_subscriptions(connection: Asked) -> Iterator[tuple[int, bytes, str]]:
    """Subscriptions that cannot be read, with their names and what is wrong."""
    for number, name, pattern, dialect, _, gone in connection.execute(questions.SUBSCRIPTIONS):
        if gone:
            continue
        try:
            name.decode()
            known = find_dialect(dialect.decode())
            if pattern is not None:
                Pattern(pattern.decode(), known)
        except (UnicodeDecodeError, AttributeError, PointsmanError) as error:
            yield number, name or b"", str(error)


def check_names(connection: Asked, control: Control, findings: Findings) -> None:
    """Looks for keys and subscriptions that cannot be read, and for keys that are there twice."""
    for number, text in damaged_keys(connection, find_dialect(control.dialect)):
        findings.add("damaged-key", Sample(key=shown(text), about=f"key {number}"))
    for _, more, text in connection.execute(questions.KEYS_TWICE):
        findings.add("duplicate-key", Sample(key=shown(text or b"")), count=more)
    for number, name, problem in damaged_subscriptions(connection):
        findings.add("damaged-subscription", Sample(about=f"subscription {number}, {shown(name)}: {problem}"))


def shown(text: bytes) -> str:
    """A text that may be none, to be looked at."""
    return text.decode(errors="backslashreplace")
