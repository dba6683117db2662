"""An hour of a made-up shop as files of messages, one for each minute."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from pointsman.demo.asking import Answered, asked_events
from pointsman.demo.catalogue import Shoppers
from pointsman.demo.event import MINUTE, SECOND, Event, event
from pointsman.demo.faults import Faults, faulty_events
from pointsman.demo.orders import order_events
from pointsman.demo.traffic import other_events
from pointsman.errors import InputError

SEED = 1
ORDERS = 3_000
HOUR_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CLOSED = 60 * MINUTE + 59 * SECOND
"""When the shop says that it has closed: later than every timeout that falls due within the hour."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was made, by what a table must find in it."""

    messages: int
    families: Mapping[str, int]
    """By the first token of the subject; messages without one are under ``""``."""
    malformed: Mapping[str, int]
    forbidden: Mapping[str, int]
    orphans: int
    """Steps of orders that nobody knows."""
    endings: Mapping[str, int]
    """Of the sagas: how many end as ``stories.Ending`` says."""
    gatherings: Mapping[tuple[str, str], int]
    """By route and what completes them, as ``asking.Answered`` says."""
    dropped: Mapping[tuple[str, str], int]
    """Answers that do not count, by route and reason."""
    files: tuple[Path, ...]
    """In the order of their messages."""

    @property
    def quarantined(self) -> int:
        """How many messages can be delivered to nobody; those with an unreadable body are not among them."""
        unreadable = sum(count for kind, count in self.malformed.items() if kind != "unreadable body")
        return sum(self.forbidden.values()) + unreadable


def make_events(folder: Path, *, seed: int = SEED, hour_start: datetime = HOUR_START, orders: int = ORDERS) -> Summary:
    """Writes the events of an hour with so many orders, some fifteen messages for each, into the folder.

    The files are JSON Lines, ``minute-00.jsonl`` to ``minute-60.jsonl``, their messages in the order of their times,
    which ``position`` counts: files of one batch have no order among each other, and balanced routes need one. A file
    appears whole, and its modification time is that of its minute, so that a stream of files takes them in their
    order. The same arguments give the same bytes. Files of the same names are replaced, others left alone. Raises
    ``InputError``: ``bad-setting`` for less than one order or a start without a time zone, ``no-file`` when nothing can
    be written there; some of the files may be written then.
    """
    if orders < 1 or hour_start.tzinfo is None:
        raise InputError("bad-setting", "an hour has at least one order, and begins at a time with a time zone")
    faults = Faults(orders)
    endings: Counter[str] = Counter()
    answered = Answered()
    shoppers = Shoppers(Random(seed))  # noqa: S311 - data, not secrets
    events = [
        event(0, "shop.hours.opened", {}),
        *order_events(shoppers, orders, endings),
        *other_events(shoppers, orders),
        *asked_events(shoppers, orders, answered),
        *faulty_events(shoppers, orders, faults),
        event(CLOSED, "shop.hours.closed", {}),
    ]
    events.sort(key=lambda each: each.at)
    try:
        files = _write(folder, events, hour_start)
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(folder)) from None
    return Summary(
        messages=len(events),
        families=Counter((each.subject or "").partition(".")[0] for each in events),
        malformed=faults.malformed,
        forbidden=faults.forbidden,
        orphans=faults.orphans,
        endings=endings,
        gatherings=answered.gatherings,
        dropped=answered.dropped,
        files=tuple(files),
    )


def _write(folder: Path, events: Sequence[Event], hour_start: datetime) -> list[Path]:
    """The files, each written under a name that streams pass over and renamed when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[list[str]] = [[] for _ in range(CLOSED // MINUTE + 1)]
    for number, each in enumerate(events, start=1):
        lines[each.at // MINUTE].append(each.as_line(number, hour_start) + "\n")
    files: list[Path] = []
    for minute, texts in enumerate(lines):
        path = folder / f"minute-{minute:02}.jsonl"
        draft = folder / f".{path.name}.part"
        draft.write_text("".join(texts), encoding="utf-8")
        written = (hour_start + timedelta(minutes=minute + 1)).timestamp()
        os.utime(draft, (written, written))
        files.append(draft.rename(path))
    return files
