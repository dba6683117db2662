"""The output adapter: from a message and the subscriptions that match it to deliveries.

Overlapping subscriptions of one owner to one destination make one delivery, which says which of them matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pointsman.message import Message
from pointsman.subscriptions import live_statements as statements
from pointsman.subscriptions.matches import FEW, Spill
from pointsman.subscriptions.resolver import PAGE, Match

ROUTE = "subscriptions:"
"""Begins the names that stand in the place of a route where a delivery was made by the subscriptions of an owner."""
NAMED = 100
"""Subscriptions that a delivery names; how many matched it says besides."""

May = Callable[[str, str], bool]
"""Whether an owner may read what is published to a subject."""


class SubscriptionDelivery(NamedTuple):
    """A message goes to a destination once for each owner."""

    destination: str
    owner: str
    matched: int
    """How many subscriptions of the owner matched that have this destination."""
    subscriptions: tuple[str, ...]
    """The ids of the first of them, up to ``NAMED``, by ascending number."""


class OutputAdapter:
    """Gathers the deliveries of one message at a time; few in memory, many on disk. Not safe between threads.

    What the owner of a subscription may not read is left out.
    """

    def __init__(self, spill: Spill, may: May, few: int = FEW) -> None:
        self._spill = spill
        self._may = may
        self._few = few
        self._verdicts: dict[str, bool] = {}
        self._kept: dict[tuple[str, str], list[str]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._message = 0

    def accept(self, message: Message, match: Match) -> None:
        """The message goes to the destinations of a matching subscription, unless its owner may not read it."""
        if not self._may_read(match.owner, message.subject):
            return
        for destination in match.destinations:
            place = (destination, match.owner)
            named = self._kept.setdefault(place, [])
            self._counts[place] = self._counts.get(place, 0) + 1
            if len(named) < NAMED:
                named.append(match.id)
        if len(self._kept) > self._few:
            self._write()

    def __len__(self) -> int:
        """How many deliveries there are."""
        if not self._message:
            return len(self._kept)
        self._write()
        return int(next(iter(self._spill.connection.execute(statements.GATHERED_COUNT, (self._message,))))[0])

    def __iter__(self) -> Iterator[SubscriptionDelivery]:
        """The deliveries, by destination and owner."""
        if not self._message:
            for place in sorted(self._kept):
                yield SubscriptionDelivery(*place, self._counts[place], tuple(self._kept[place]))
            return
        self._write()
        last = ("", "")
        execute = self._spill.connection.execute
        while rows := list(execute(statements.GATHERED_AFTER, (self._message, *last, PAGE))):
            for destination, owner, count, named in rows:
                yield SubscriptionDelivery(destination, owner, count, tuple(named.split("\0")[:NAMED]))
            last = rows[-1][:2]

    def forget(self) -> None:
        """The message is done with; the next one may come."""
        self._clear()
        if self._message:
            self._spill.connection.execute(statements.GATHERED_FORGET, (self._message,))
            self._message = 0

    def _may_read(self, owner: str, subject: str) -> bool:
        verdict = self._verdicts.get(owner)
        if verdict is None:
            if len(self._verdicts) >= self._few:
                self._verdicts.clear()
            verdict = self._verdicts[owner] = self._may(owner, subject)
        return verdict

    def _write(self) -> None:
        self._message = self._message or self._spill.next_number()
        rows = (
            (self._message, *place, self._counts[place], "\0".join(named), NAMED)
            for place, named in sorted(self._kept.items())
        )
        self._spill.connection.executemany(statements.GATHER, rows)
        self._clear()

    def _clear(self) -> None:
        self._kept.clear()
        self._counts.clear()
        self._verdicts.clear()
