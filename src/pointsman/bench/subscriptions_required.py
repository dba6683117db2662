"""What the benchmark of wildcard subscriptions must show, judged from its own rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pointsman.bench.required import Required
from pointsman.bench.subscriptions_files import FileRow
from pointsman.bench.subscriptions_rows import COLUMNS, JOIN, LIVE, LOOP, SPARK, Row

FEW, MOST = 10_000, 1_000_000
SHARE = 1 / 3
"""Of the rate with few subscriptions that must be left with most of them."""
UPDATE = 50
"""Microseconds that a change of one subscription may cost the live form."""
IN_BULK = 100_000
"""Subscriptions that are imported, and exported, in a second."""
MORE_MATCHES = 1.25
"""How many times as many matches a message may have then, for the rates to be comparable."""


def required(rows: Sequence[Row], files: Sequence[FileRow] = ()) -> list[Required]:
    """What must hold, as far as the rows tell."""
    known = {(row.way, row.subscriptions): row for row in rows}
    return [*_growth(known), *_updates(known), *_files(files), *_peers(known)]


def _growth(rows: dict[tuple[str, int], Row]) -> Iterator[Required]:
    for way in (COLUMNS, SPARK, LIVE):
        few, most = rows.get((way, FEW)), rows.get((way, MOST))
        if few is None or most is None:
            continue
        times = most.matches_per_message / few.matches_per_message
        yield Required(f"{way}: times the matches a message at {MOST:,}", times, MORE_MATCHES, False)
        share = most.messages_per_second / few.messages_per_second
        yield Required(f"{way}: share of the rate with {FEW:,} that is left with {MOST:,}", share, SHARE, True)


def _updates(rows: dict[tuple[str, int], Row]) -> Iterator[Required]:
    most = rows.get((LIVE, MOST))
    if most is not None:
        for name, spent in (("mean", most.update_mean), ("p90", most.update_p90)):
            if spent is not None:
                yield Required(f"{LIVE}: CPU us to take up one change with {MOST:,}, {name}", spent, UPDATE, False)


def _files(rows: Sequence[FileRow]) -> Iterator[Required]:
    for row in rows:
        if row.subscriptions >= MOST:
            yield Required(f"{row.form}: imported a second", row.imported_per_second, IN_BULK, True)
            yield Required(f"{row.form}: exported a second", row.exported_per_second, IN_BULK, True)


def _peers(rows: dict[tuple[str, int], Row]) -> Iterator[Required]:
    for way, peer in ((COLUMNS, LOOP), (SPARK, JOIN)):
        ours, theirs = rows.get((way, FEW)), rows.get((peer, FEW))
        if ours is not None and theirs is not None:
            times = ours.messages_per_second / theirs.messages_per_second
            yield Required(f"{way}, {FEW:,} subscriptions: times as fast as a {peer}", times, 100, True)
