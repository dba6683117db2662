"""Pieces of files of subscriptions, in columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Places
from pointsman.subscriptions.bulk.conditions import Floats
from pointsman.subscriptions.bulk.texts import Texts
from pointsman.subscriptions.model import WildcardSubscription


class Distinct(NamedTuple):
    """A column of few distinct values."""

    codes: Ids
    """Which value each row has; -1 for none."""
    values: list[Any]

    @classmethod
    def of(cls, values: list[Any]) -> Distinct:
        """A column of these values; None is none."""
        import numpy as np

        known: dict[Any, int] = {None: -1}
        codes = [known.setdefault(value, len(known) - 1) for value in values]
        del known[None]
        return cls(np.array(codes, np.int32), list(known))

    def at(self, rows: Places) -> list[Any]:
        """The values of these rows; None where there is none."""
        return list(map([*self.values, None].__getitem__, self.codes[rows].tolist()))

    def paired(self, other: Distinct) -> Distinct:
        """A column of pairs; those whose first half is none are none, and the second may be None."""
        return Distinct.of(
            [
                None if code < 0 else (self.values[code], None if with_code < 0 else other.values[with_code])
                for code, with_code in zip(self.codes.tolist(), other.codes.tolist(), strict=True)
            ]
        )


class Piece(NamedTuple):
    """Subscriptions in columns. Those that are not ``plain`` are read by ``read``, as is what turns out to be odd."""

    last: int
    """The number of its last line or row."""
    ids: Texts
    """None for one that is not plain."""
    owners: Distinct
    destinations: Distinct
    """Texts of JSON lists, or tuples."""
    patterns: Distinct
    """With their dialects."""
    enabled: Flags
    expires: Floats
    """Infinite for what does not expire."""
    descriptions: Distinct
    data: Bytes
    """Where the conditions stand as JSON in UTF-8, from ``begins`` to ``ends``, -1 for none."""
    begins: Places
    ends: Places
    plain: Flags
    present: Flags
    """Those that are there at all: an empty line has none."""
    read: Callable[[int], WildcardSubscription]
    """Reads one by the long way. Raises ``InputError`` with its place."""


def with_dialects(patterns: Distinct, dialects: Distinct) -> Distinct:
    """Patterns with their dialects, None where there is none."""
    if not dialects.values:
        return Distinct(patterns.codes, [(text, None) for text in patterns.values])
    return patterns.paired(dialects)
