"""What a translated pattern takes of the messages that there are: the old meaning beside the new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from pointsman.errors import SubjectError
from pointsman.patterns import Pattern
from pointsman.store.importing import statements
from pointsman.store.importing.legacy import LegacyTranslation
from pointsman.store.importing.terms import kept

SAMPLES = 5


class Usage(NamedTuple):
    """How many messages with a topic a pattern took before, and takes now."""

    before: int
    now: int
    gained: tuple[str, ...]
    """The first topics that only the new pattern matches."""
    lost: tuple[str, ...]
    """The first topics that only the old pattern matched: their letters are in another case."""

    def as_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {"before": self.before, "now": self.now, "gained": list(self.gained), "lost": list(self.lost)}


def usage(
    translations: Sequence[LegacyTranslation], topics: Iterable[tuple[str, int]], *, segmented: bool = False
) -> list[Usage]:
    """What each pattern takes of messages with these topics and counts; SQLite itself says what it took before.

    ``segmented`` if the old queue matched word by word, as the new patterns do.
    """
    counted = list(topics)
    connection = apsw.Connection(":memory:")
    try:
        return [_usage(each, counted, None if segmented else connection) for each in translations]
    finally:
        connection.close()


def _usage(translation: LegacyTranslation, topics: list[tuple[str, int]], connection: apsw.Connection | None) -> Usage:
    patterns = [Pattern(text, "amqp") for text in translation.new]
    before = now = 0
    gained: list[str] = []
    lost: list[str] = []
    for topic, count in topics:
        takes = _takes(patterns, topic)
        took = takes if connection is None else _took(translation.old, topic, connection)
        before += count * took
        now += count * takes
        if took != takes:
            (lost if took else gained).append(topic)
    return Usage(before, now, tuple(map(kept, gained[:SAMPLES])), tuple(map(kept, lost[:SAMPLES])))


def _took(old: str, topic: str, connection: apsw.Connection) -> bool:
    if not old:
        return True
    if "." not in old and "*" not in old:
        return old == topic
    text = topic.encode("utf-8", "replace").decode()
    return bool(connection.execute(statements.LIKE, (text, old.replace("*", "%"))).get)


def _takes(patterns: list[Pattern], topic: str) -> bool:
    try:
        return any(pattern.matches(topic) for pattern in patterns)
    except SubjectError:
        return False
