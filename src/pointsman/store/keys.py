"""Routing keys: read in the queue's dialect, and stored once each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from pointsman.errors import PatternError, SubjectError
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.subject import Subject
from pointsman.store import statements
from pointsman.store.transaction import Transaction

KEPT = 100_000
"""Keys whose numbers are kept in memory."""


class Keys:
    """From keys to their numbers."""

    __slots__ = ("_numbers", "_version", "also", "dialect")

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.also: frozenset[Dialect] = frozenset()
        """Other dialects in which a text may be a key."""
        self._numbers: dict[str, int] = {}
        self._version = -1

    def known(self, transaction: Transaction) -> dict[str, int]:
        """The numbers that are known as of this transaction."""
        if self._version != transaction.keys:
            self.forget()
            self._version = transaction.keys
        return self._numbers

    def find(self, key: object, version: int) -> int | None:
        """The number of a key, if it is known as of this version of the keys."""
        return self._numbers.get(key) if version == self._version and type(key) is str else None

    def number(self, transaction: Transaction, key: str | Sequence[str]) -> tuple[str, int]:
        """The key as text, and its number; a new one is stored. Raises ``SubjectError`` for one that is no key."""
        text = self.text(key)
        numbers = self.known(transaction)
        found = numbers.get(text)
        if found is None:
            self.check(text)
            row = transaction.first(statements.KEY_FIND, (text,))
            if row is None:
                row = transaction.first(statements.KEY_ADD, (text,))
            found = int(row[0])
            if len(numbers) >= KEPT:
                numbers.clear()
            numbers[text] = found
        return text, found

    def learn(self, transaction: Transaction, keys: Iterable[object]) -> dict[str, int]:
        """The numbers that are known, those of these keys among them: of as many as are texts, all at once."""
        numbers = self.known(transaction)
        texts = {key: None for key in keys if type(key) is str}
        new = [text for text in texts if text not in numbers]
        if len(numbers) + len(new) > KEPT:
            numbers.clear()
            new = [*texts]
        for text in new:
            self.check(text)
        if new:
            # In their order, which takes SQLite to neighbouring places of its index.
            new.sort()
            rows = transaction.executemany(statements.KEY_KNOW, [(text,) for text in new])
            numbers.update(zip(new, (int(row[0]) for row in rows), strict=True))
        return numbers

    def check(self, text: str) -> None:
        """Raises ``SubjectError`` for a text that is no key in any dialect."""
        try:
            Subject(text, self.dialect)
        except SubjectError:
            for other in self.also:
                with suppress(SubjectError):
                    Subject(text, other)
                    return
            raise

    def text(self, key: object, kind: type[SubjectError | PatternError] = SubjectError) -> str:
        """A key, or a pattern, given as its segments, as one text. Raises ``kind`` for a segment that is not one."""
        if isinstance(key, str):
            return key
        if not isinstance(key, Sequence) or isinstance(key, bytes | bytearray | memoryview):
            what = "key" if kind is SubjectError else "pattern"
            raise kind("not-text", f"a {what} is a text or its segments, not {type(key).__name__}")
        separator = self.dialect.separator
        for segment in key:
            if not isinstance(segment, str) or separator in segment:
                problem = f"{segment!r} is not one segment: it is to be a text without {separator!r}"
                raise kind("forbidden-character", problem)
        return separator.join(map(str, key))

    def forget(self) -> None:
        """After a change that was undone, what is known may be wrong."""
        self._numbers.clear()
        self._version = -1
