"""Texts of deliveries, and what routing remembers: can they be read?"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pointsman.errors import PointsmanError
from pointsman.store.doctor import questions
from pointsman.store.doctor.finding import Findings, Sample
from pointsman.store.doctor.names import shown
from pointsman.store.doctor.reading import Asked
from pointsman.table.state import TYPES

ASIDE = b"damaged:"
"""Begins the kind of what was set aside."""
Place = tuple[int, int, int, str]
"""Sequence, subscription, via and table."""


def unreadable_texts(connection: Asked) -> Iterator[Place]:
    """Deliveries with a note, an error or a reason that is no text."""
    for *place, note, error, reason in connection.execute(questions.TEXTS):
        if not all(_is_text(each) for each in (note, error, reason)):
            yield place[0], place[1], place[2], place[3]


def damaged_states(connection: Asked) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Kind, name and correlation id of what cannot be read; kinds that routing does not know are not looked into."""
    for kind, name, correlation_id, value in connection.execute(questions.STATES):
        if kind.startswith(ASIDE):
            continue
        if not all(_is_text(each) for each in (kind, name, correlation_id)):
            yield kind, name, correlation_id
        elif shown(kind) in TYPES:
            try:
                TYPES[kind.decode()].from_data(json.loads(value))
            except (PointsmanError, ValueError, TypeError):
                yield kind, name, correlation_id


def check_texts(connection: Asked, findings: Findings) -> None:
    """Looks for texts and states that cannot be read."""
    for sequence, _, _, place in unreadable_texts(connection):
        findings.add("unreadable-text", Sample(sequence, about=place))
    for kind, name, correlation_id in damaged_states(connection):
        about = " ".join(shown(each) for each in (kind, name, correlation_id) if each)
        findings.add("damaged-state", Sample(about=about))


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except (UnicodeDecodeError, AttributeError):
        return False
