"""The tables of ``pointsman bench queue``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pointsman.bench.queue_contenders import OURS, OURS_NEXT
from pointsman.bench.queue_peers import DISKCACHE, HUEY, LITEQUEUE, PERSIST
from pointsman.bench.queue_raw import RAW, RAW_ONE
from pointsman.bench.queue_rows import DISTINCT, PUT, Cell, Row
from pointsman.cli.bench_table import Table, must_hold

COLUMNS = {
    OURS: OURS,
    RAW: "raw, same",
    RAW_ONE: "raw, one",
    LITEQUEUE: LITEQUEUE,
    PERSIST: PERSIST,
    HUEY: HUEY,
    DISKCACHE: DISKCACHE,
}
LEGEND = """\
raw, same: apsw, the same inserts in the same tables, written by hand. raw, one: apsw, a single table with a status.
share: of what "raw, same" reached.
-: it cannot do that. *: it deletes what it pops, so at most once; there is no ack. Peers have no routing keys.
By default litequeue and diskcache are normal, persist-queue and huey full; here each was set to what the line says.
"""


def tables(results: Mapping[str, Sequence[Any]]) -> Iterator[Table]:
    """All of them, in the order in which they are read."""
    yield from _speeds(results["rows"])
    yield Table(
        "Group commit: threads put one by one, each message on disk when its call returns",
        ("contender", "threads", "messages a second"),
        1,
        [(row.contender, str(row.threads), f"{row.messages_per_second:,.0f}") for row in results["group"]],
    )
    yield Table(
        "Milliseconds a pop by pattern (durability normal, so without a sync; CPU time, which is judged, then wall)",
        (
            "how",
            "shape",
            "pattern",
            "found",
            "first",
            "p50",
            "p99",
            "max",
            "wall p99",
            "wall max",
        ),
        3,
        [_pattern(row) for row in results["patterns"]],
    )
    yield Table(
        "Putting in 100s with durable subscriptions (CPU, best of several)",
        ("keys", "subscriptions", "of which match", "us a message", "ratio"),
        1,
        [
            (row.keys, f"{row.subscriptions:,}", str(row.matching), f"{row.microseconds:,.1f}", f"{row.ratio:.2f}")
            for row in results["fan_out"]
        ],
    )
    yield must_hold(results["required"])


def _speeds(rows: Sequence[Row]) -> Iterator[Table]:
    """A table for each durability and number of processes, with a line for each cell."""
    cells: dict[Cell, dict[str, Row]] = {}
    for row in rows:
        cells.setdefault(row.cell, {})[row.contender] = row
    for durability, processes in dict.fromkeys((cell.durability, cell.processes) for cell in cells):
        by = "1 process" if processes == 1 else f"{processes} processes at the same time"
        shown = [cell for cell in cells if (cell.durability, cell.processes) == (durability, processes)]
        yield Table(
            f"Messages a second, durability {durability}, {by} (200 bytes; wall clock, best of several rounds)",
            ("what", *COLUMNS.values(), "share"),
            1,
            [line for cell in shown for line in _lines(cell, cells[cell])],
        )


def _lines(cell: Cell, found: Mapping[str, Row]) -> Iterator[Sequence[str]]:
    """The line of a cell, and one more where a message is acknowledged with the next pop."""
    what = f"{cell.operation} x{cell.batch}" + (", distinct keys" if cell.keys == DISTINCT else "")
    yield (what, *(_speed(found[name]) for name in COLUMNS), _share(found[OURS]))
    following = found[OURS_NEXT]
    if following.messages_per_second is not None:
        yield ("ack_and_pop x1", _speed(following), *[""] * (len(COLUMNS) - 1), _share(following))


def _speed(row: Row) -> str:
    if row.problem is not None:
        return "failed"
    if row.messages_per_second is None:
        return "-"
    text = f"{row.messages_per_second:,.0f}"
    if row.operation != PUT and not row.acknowledges:
        text += "*"
    if row.real_durability != row.durability:
        text += f" ({row.real_durability})"
    if row.duplicates:
        text += f" ({row.duplicates} twice)"
    return text


def _share(row: Row) -> str:
    return "" if row.ratio_to_raw is None else f"{row.ratio_to_raw:.2f}"


def _pattern(row: Any) -> Sequence[str]:
    times = (row.first, row.cpu_p50, row.cpu_p99, row.cpu_max, row.wall_p99, row.wall_max)
    return (
        row.how,
        row.shape,
        row.pattern,
        f"{row.found} of {row.pops}",
        *(f"{value:.3f}" for value in times),
    )
