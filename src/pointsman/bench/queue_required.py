"""What the benchmark of the queue must show, judged from its own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pointsman.bench.queue_contenders import OURS
from pointsman.bench.queue_patterns import DURABLE, INDEX
from pointsman.bench.queue_peers import PEERS
from pointsman.bench.queue_rows import POP, POP_ACK, PUT, FanOutRow, PatternRow, Row
from pointsman.bench.required import Required

SHARES = {1: 0.7, 1000: 0.6}
"""Of the speed of the same inserts by hand that must be reached, by the size of a batch."""
DURABLE_MILLISECONDS, AD_HOC_MILLISECONDS = 1.0, 20.0
FAN_OUT = 3.0


def required(measured: Mapping[str, Sequence[Any]]) -> list[Required]:
    """What must hold, as far as the rows tell."""
    rows: Sequence[Row] = measured["rows"]
    return [*_shares(rows), *_peers(rows), *_patterns(measured["patterns"]), *_fan_out(measured["fan_out"])]


def _shares(rows: Sequence[Row]) -> Iterator[Required]:
    for row in rows:
        if row.contender == OURS and row.operation in (PUT, POP) and row.batch in SHARES and row.ratio_to_raw:
            yield Required(f"{row.cell}: share of the same inserts by hand", row.ratio_to_raw, SHARES[row.batch], True)


def _peers(rows: Sequence[Row]) -> Iterator[Required]:
    """Against the fastest peer of each cell that promises as much: the same durability, and an ack where one is due."""
    for ours in rows:
        if ours.contender != OURS or not ours.messages_per_second:
            continue
        fastest = max((row for row in rows if _is_rival(row, ours)), key=_speed, default=None)
        if fastest is not None:
            ratio = ours.messages_per_second / _speed(fastest)
            name = f"{fastest.contender}, which gave some out twice" if fastest.duplicates else fastest.contender
            yield Required(f"{ours.cell}: times as fast as the fastest peer, {name}", ratio, 1.0, True)


def _is_rival(row: Row, ours: Row) -> bool:
    same = row.cell == ours.cell and row.real_durability == ours.real_durability
    promises = row.acknowledges or row.operation != POP_ACK
    return row.contender in PEERS and same and promises and _speed(row) > 0


def _speed(row: Row) -> float:
    return row.messages_per_second or 0.0


def _patterns(rows: Sequence[PatternRow]) -> Iterator[Required]:
    for row in rows:
        if row.shape != INDEX:
            limit = DURABLE_MILLISECONDS if row.how == DURABLE else AD_HOC_MILLISECONDS
            what = f"pop by pattern, {row.how}, {row.shape}, {row.stored:,} stored: CPU p99 in ms"
            yield Required(what, row.cpu_p99, limit, False)


def _fan_out(rows: Sequence[FanOutRow]) -> Iterator[Required]:
    for row in rows:
        if row.subscriptions > row.matching:
            what = f"put with {row.subscriptions:,} subscriptions, {row.matching} match: times that with {row.matching}"
            yield Required(f"{what}, {row.keys} keys", row.ratio, FAN_OUT, False)
