"""What the benchmark of the pipeline must show, judged from its own rows, by the wall clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pointsman.bench.pipeline_rows import DISTINCT, NAIVE, REPEATED, RESOLVE, ROWS, Row, StateRow
from pointsman.bench.required import Required

SHARES = {REPEATED: 1.0, DISTINCT: 0.6}
"""Of the rate of whole rows through Python that resolve must reach with ``MANY`` subscriptions."""
FEW, NAIVE_SIZE, MANY, MOST = 1_000, 10_000, 100_000, 1_000_000
GROWTH = 1.6
TIMES_NAIVE = 100.0
KEYS = 15_000.0


def required(measured: Mapping[str, Sequence[Any]]) -> list[Required]:
    """What must hold, as far as the rows tell."""
    rows = {(row.stage, row.subscriptions, row.stream): row for row in measured["rows"]}
    naive = {row.subscriptions: row for row in measured["naive"]}
    return [*_shares(rows), *_growth(rows), *_naive(rows, naive), *_keys(measured["state"])]


def _shares(rows: Mapping[Any, Row]) -> Iterator[Required]:
    for stream, limit in SHARES.items():
        ours, theirs = rows.get((RESOLVE, MANY, stream)), rows.get((ROWS, None, stream))
        if ours is not None and theirs is not None:
            what = f"{RESOLVE}, {MANY:,} subscriptions, {stream}: share of the rate of {ROWS}"
            yield Required(what, ours.messages_per_second / theirs.messages_per_second, limit, True)


def _growth(rows: Mapping[Any, Row]) -> Iterator[Required]:
    few, most = rows.get((RESOLVE, FEW, REPEATED)), rows.get((RESOLVE, MOST, REPEATED))
    if few is not None and most is not None:
        what = f"{RESOLVE}, {REPEATED}: times the cost from {FEW:,} to {MOST:,} subscriptions"
        yield Required(what, few.messages_per_second / most.messages_per_second, GROWTH, False)


def _naive(rows: Mapping[Any, Row], naive: Mapping[Any, Row]) -> Iterator[Required]:
    ours, theirs = rows.get((RESOLVE, NAIVE_SIZE, REPEATED)), naive.get(NAIVE_SIZE)
    if ours is not None and theirs is not None:
        what = f"{RESOLVE}, {NAIVE_SIZE:,} subscriptions: times as fast as a {NAIVE}"
        yield Required(what, ours.messages_per_second / theirs.messages_per_second, TIMES_NAIVE, True)


def _keys(rows: Sequence[StateRow]) -> Iterator[Required]:
    for row in rows:
        yield Required(f"{row.what}: correlation ids a second", row.keys_per_second, KEYS, True)
