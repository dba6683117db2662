"""An hour of a made-up shop as files of messages, one file for each batch of the pipeline."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from pointsman.demo.catalogue import HOUR_START, MINUTE, SECOND, Event, Shoppers
from pointsman.demo.orders import order_events
from pointsman.demo.traffic import Answered, Faults, asked_events, faulty_events, other_events
from pointsman.errors import InputError
from pointsman.table.loading.document import without_collector

SEED = 1
ORDERS = 3_000
FILES = 3
CLOSED = 60 * MINUTE + 59 * SECOND
"""When the shop says that it has closed: after every timeout that is due within the hour."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was made, by what a table must find in it."""

    messages: int
    malformed: Mapping[str, int]
    forbidden: Mapping[str, int]
    orphans: int
    """Steps of unknown orders."""
    endings: Mapping[str, int]
    """Of the sagas, by ``counts.ENDINGS``."""
    gatherings: Mapping[tuple[str, str], int]
    """By route and what completes them."""
    dropped: Mapping[tuple[str, str], int]
    """Answers that do not count, by route and reason."""
    files: tuple[Path, ...]
    """In the order of their messages."""

    @property
    def quarantined(self) -> int:
        """How many messages must be quarantined; an unreadable body is no reason for it."""
        return sum(self.forbidden.values()) + sum(self.malformed.values()) - self.malformed["unreadable body"]


def make_events(folder: Path, *, seed: int = SEED, orders: int = ORDERS) -> Summary:
    """Writes the events of an hour with this many orders, about a hundred messages for each, into the folder.

    Each order is a saga of four to seven messages, and there is about one gathering for two orders. Both go through
    Spark's state, message by message, so 3,000 orders are few beside the visits, tills and stock counts, which are most
    of the 300,000 messages.

    The files are JSON Lines in the order of time, each of a third of the hour. ``position`` counts the messages: Spark
    reads a file in parts, which have no order, and balanced routes need one. A file appears whole, and its modification
    time is when its time ends, so that a stream of files takes them in order. The same arguments give the same bytes.
    Files of the same names are replaced, others left alone.

    Raises ``InputError``: ``bad-setting`` for less than one order; ``no-file`` if a file cannot be written, and those
    before it are left.
    """
    if orders < 1:
        raise InputError("bad-setting", f"orders must be at least 1, got {orders}")
    faults, answered, endings = Faults(orders), Answered(), Counter[str]()
    shoppers = Shoppers(Random(seed))  # noqa: S311 - data, not secrets
    with without_collector():
        events = [
            Event(0, "shop.hours.opened", {}, "shop"),
            *order_events(shoppers, orders, endings),
            *other_events(shoppers, orders),
            *asked_events(shoppers, orders, answered),
            *faulty_events(shoppers, orders, faults),
            Event(CLOSED, "shop.hours.closed", {}, "shop"),
        ]
        events.sort(key=lambda each: each.at)
        try:
            files = _write(folder, events)
        except OSError as error:
            raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(folder)) from None
    return Summary(
        messages=len(events),
        malformed=faults.malformed,
        forbidden=faults.forbidden,
        orphans=faults.orphans,
        endings=endings,
        gatherings=answered.gatherings,
        dropped=answered.dropped,
        files=tuple(files),
    )


def _write(folder: Path, events: Sequence[Event]) -> list[Path]:
    """Writes each file under a name that streams ignore and renames it when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    length = 60 * MINUTE // FILES
    lines: list[list[bytes]] = [[] for _ in range(FILES)]
    for position, each in enumerate(events, start=1):
        lines[min(each.at // length, FILES - 1)].append(each.as_line(position))
    files = []
    for number, texts in enumerate(lines):
        path = folder / f"part-{number + 1}.jsonl"
        draft = folder / f".{path.name}.part"
        draft.write_bytes(b"".join(line + b"\n" for line in texts))
        written = (HOUR_START + (number + 1) * timedelta(milliseconds=length)).timestamp()
        os.utime(draft, (written, written))
        files.append(draft.rename(path))
    return files
