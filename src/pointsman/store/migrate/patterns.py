"""What a pattern of MiniQ's meant, and how to say it now.

MiniQ asked SQLite: a pattern with a ``.`` or a ``*`` in it was compared by ``LIKE`` after each ``*`` had become a
``%``. So ``*`` stands for any characters, dots and none at all included; ``%`` does the same, though nobody may have
meant it; ``_`` stands for any one character, a dot included; and letters from a to z are the same in both cases. A
pattern with neither sign was compared as it is, case included, and no pattern at all took every message.

The words of the ``amqp`` dialect say the same wherever a wildcard has a place between two dots to itself. Case is set
aside: ``exact`` holds for topics whose letters are in the case of the pattern's. The ``zato`` dialect says all of it,
case included, of topics that it allows, except for ``_``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from pointsman.errors import PatternError, SubjectError
from pointsman.patterns import Pattern
from pointsman.store.migrate import statements
from pointsman.store.migrate.convert import kept

ANY = frozenset("*%")
ONE = "_"
CASE = "LIKE made nothing of upper and lower case, the new pattern takes only what is written"
NO_TOPIC = "also takes messages without a topic, which LIKE never took"


class LegacyTranslation(NamedTuple):
    """A pattern of MiniQ's and what to write instead."""

    old: str
    new: tuple[str, ...]
    """Patterns of the ``amqp`` dialect that together match every topic that the old one did."""
    meaning: str
    """What the new ones match, in words."""
    exact: bool
    """Whether they match no other topic, letters in other cases left aside."""
    differences: str
    """What is not as it was; empty if nothing is."""
    zato: str | None = None
    """A pattern of the ``zato`` dialect that matches just what the old one did, case included, if there is one."""
    plain: str | None = None
    """For a pattern with ``_``: the amqp pattern if it was meant as the character that it is, as it mostly was."""

    @property
    def fit(self) -> str:
        """How near the new ones are to the old: ``exact``, ``exact but for case``, or ``wider``."""
        if not self.exact:
            return "wider"
        return "exact but for case" if CASE in self.differences else "exact"

    def as_dict(self) -> dict[str, object]:
        """The translation for ``--json``."""
        return self._asdict() | {"new": list(self.new), "fit": self.fit}


def translate_legacy(pattern: str) -> LegacyTranslation:
    """What to write instead of a pattern of MiniQ's.

    >>> translate_legacy("orders.*").new
    ('orders.*.#',)
    >>> translate_legacy("orders*").differences.split(";")[0]
    'also takes every other topic: amqp has no wildcard within a word'

    Raises ``PatternError`` for what cannot be a pattern in the ``amqp`` dialect, however it is written: a text that is
    too long, or holds a lone surrogate.
    """
    if not pattern:
        return LegacyTranslation(pattern, ("#",), "every message", True, "")
    if "." not in pattern and "*" not in pattern:
        return _compared_as_it_is(pattern)
    words = pattern.split(".")
    if len(words) == 1 and ANY.issuperset(pattern):
        return LegacyTranslation(pattern, ("#",), "every message", True, NO_TOPIC, _checked_zato("**"))
    new = Pattern(_amqp(words), "amqp").text
    exact = not any(_is_widened(word) for word in words)
    differences = [] if exact else [_widened(words, new)]
    if any(character.isascii() and character.isalpha() for character in new):
        differences.append(CASE)
    plain = None
    if ONE in pattern:
        plain = Pattern(_amqp([word.replace(ONE, "\0") for word in words]), "amqp").text.replace("\0", ONE)
        differences.append(f"_ stood for any one character: if it was meant as itself, write {plain}")
    return LegacyTranslation(pattern, (new,), _meaning(new), exact, "; ".join(differences), _zato(words), plain)


def translate_segmented(pattern: str) -> LegacyTranslation:
    """The same for a MiniQ that has a table ``routing_segments`` and matched word by word: its patterns are amqp's.

    >>> translate_segmented("orders.#").new
    ('orders.#',)
    """
    if not pattern:
        return translate_legacy(pattern)
    return LegacyTranslation(pattern, (Pattern(pattern, "amqp").text,), "as before, word by word", True, "")


def translate_all(patterns: Iterable[str], *, segmented: bool = False) -> list[LegacyTranslation]:
    """The translation of each; ``segmented`` if the old queue matched word by word.

    Raises ``PatternError`` for the first that has none.
    """
    return [translate_segmented(pattern) if segmented else translate_legacy(pattern) for pattern in patterns]


def _compared_as_it_is(pattern: str) -> LegacyTranslation:
    if pattern == "#":
        return LegacyTranslation(pattern, ("*",), "one word", False, "also takes every other topic of one word")
    return LegacyTranslation(pattern, (Pattern(pattern, "amqp").text,), "just this topic", True, "")


def _amqp(words: list[str]) -> str:
    """The nearest amqp pattern that matches all that the words did."""
    written: list[str] = []
    for word in words:
        if word == "#":
            written.append("*")
        elif ANY.isdisjoint(word) and ONE not in word:
            written.append(word)
        else:
            written += ["*", "#"]
    return ".".join(_gathered(written))


def _gathered(words: list[str]) -> list[str]:
    """The same meaning with, in each row of wildcards, those for one word first and at most one for many."""
    gathered: list[str] = []
    many = False
    for word in [*words, None]:
        if word == "#":
            many = True
            continue
        if many and word != "*":
            gathered.append("#")
            many = False
        if word is not None:
            gathered.append(word)
    return gathered


def _is_widened(word: str) -> bool:
    """Whether amqp has no way to say just this."""
    return word == "#" or (bool(word) and not ANY.issuperset(word) and not (ANY.isdisjoint(word) and ONE not in word))


def _widened(words: list[str], new: str) -> str:
    if set(new.split(".")) <= {"*", "#"}:
        return (
            "also takes every other topic: amqp has no wildcard within a word"
            if len(words) == 1
            else (f"also takes every other topic of {len(words)} words or more: amqp has no wildcard within a word")
        )
    inexact = ", ".join(word for word in words if _is_widened(word))
    return f"also takes other words in the place of {inexact}: amqp has no wildcard within a word"


def _meaning(new: str) -> str:
    parts = []
    words = new.split(".")
    for index, word in enumerate(words):
        if word == "#":
            continue
        if word == "*":
            parts.append("one word or more" if "#" in words[index + 1 : index + 2] else "one word")
        else:
            parts.append(word or "an empty word")
    return ", then ".join(parts)


def _zato(words: list[str]) -> str | None:
    """The zato pattern that matches just what the words did; None where that dialect cannot say it."""
    if any(ONE in word or "#" in word for word in words):
        return None
    written = []
    for word in words:
        if word and ANY.issuperset(word):
            written += ["*", "**"]
        else:
            written.append(_with_globs(word))
    return _checked_zato(".".join(written))


def _with_globs(word: str) -> str:
    text = ""
    for character in word:
        if character not in ANY:
            text += character
        elif not text.endswith("**"):
            text += "**"
    return text


def _checked_zato(text: str) -> str | None:
    try:
        return Pattern(text, "zato").text
    except PatternError:
        return None


# -- what a translated pattern takes of the messages that there are: the old meaning beside the new


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
