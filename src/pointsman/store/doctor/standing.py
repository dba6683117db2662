"""Where each message stands: what all tables say of one number, side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from pointsman.store.doctor import questions
from pointsman.store.doctor.control import Control
from pointsman.store.doctor.reading import Asked, Row, Unreadable, each_row
from pointsman.store.message import as_stored


class Known(NamedTuple):
    """What is known of a message itself."""

    key: int | None
    priority: int
    whole: bool
    """Whether it is what was put."""
    id: str | None
    text: str | None
    """Its routing key."""


class Delivery(NamedTuple):
    """A delivery, in the table that has it."""

    sequence: int
    subscription: int
    via: int
    place: str
    """The name of the table."""
    priority: int
    key: int
    attempts: int
    time: int
    """When it is due, its lease ends or it died; 0 if it is ready."""


class Standing(NamedTuple):
    """What all tables say of one number."""

    sequence: int
    message: Known | None
    lost: bool
    """Whether the message may exist on a page that cannot be read."""
    deliveries: tuple[Delivery, ...]
    pending: int | None
    finished: bool

    @property
    def open(self) -> tuple[Delivery, ...]:
        """The deliveries that are not dead."""
        return tuple(each for each in self.deliveries if each.place != "dead")


class Survey:
    """Goes over all messages, in flat memory; ``lost`` are the numbers whose rows could not be read."""

    def __init__(self, connection: Asked, control: Control) -> None:
        self._connection = connection
        self._file = control.file
        self._last = control.sequence
        self._listed = control.listed
        self.lost: list[tuple[int, int]] = []

    def standings(self, after: int = 0, progress: Callable[[int], None] | None = None) -> Iterator[Standing]:
        """Each number that any table knows, in their order. Raises what SQLite raises for the tables of deliveries."""
        sources = (
            self._messages(after),
            ((row[0], "delivery", Delivery(*row)) for row in self._rows(questions.DELIVERIES, after)),
            ((row[0], "pending", row[1]) for row in self._rows(questions.PENDING, after)),
            ((row[0], "finished", True) for row in self._rows(questions.FINISHED, after)),
        )
        number = itemgetter(0)
        for count, (sequence, entries) in enumerate(groupby(merge(*sources, key=number), key=number)):
            known: dict[str, Any] = {"message": None, "pending": None, "finished": False}
            deliveries = []
            for _, kind, value in entries:
                if kind == "delivery":
                    deliveries.append(value)
                else:
                    known[kind] = value
            if sequence > self._listed and known["message"] is not None and not deliveries:
                message = known["message"]
                deliveries.append(Delivery(sequence, 0, 0, "ready", message.priority, message.key, 0, 0))
            yield Standing(
                sequence, known["message"], self._is_lost(sequence), tuple(deliveries), known["pending"],
                known["finished"],
            )  # fmt: skip
            if progress is not None and count % 1000 == 0:
                progress(sequence)

    def _rows(self, statement: str, after: int) -> Iterator[Row]:
        return (row for row in self._connection.execute(statement, (after,)) if isinstance(row[0], int))

    def _messages(self, after: int) -> Iterator[tuple[int, str, Known]]:
        for row in each_row(self._read, after + 1, max(self._last, after + 1)):
            if not isinstance(row, Unreadable):
                yield row[0], "message", row[1]
            elif row.exists:
                yield row.first, "message", Known(None, 5, whole=False, id=None, text=None)
            elif self.lost and self.lost[-1][1] + 1 == row.first:
                self.lost[-1] = (self.lost[-1][0], row.last)
            else:
                self.lost.append((row.first, row.last))

    def _read(self, first: int, last: int, limit: int) -> list[Row]:
        # Row by row, for a page of large bodies would not fit into memory.
        rows = self._connection.execute(questions.MESSAGES, (first, last, limit))
        return [(row[0], _known(row, self._file)) for row in rows]

    def _is_lost(self, sequence: int) -> bool:
        place = bisect_right(self.lost, (sequence, 1 << 63)) - 1
        return place >= 0 and self.lost[place][1] >= sequence


def _known(row: Row, file: str) -> Known:
    message = as_stored(row[:14], (0, 0, 0, file))
    return Known(row[14], message.priority, message.is_whole, message.id, message.routing_key)
