"""Counts of what the pipeline made of sagas and gatherings, in the same form as what it must come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pointsman.demo.counts import Counts, SagaStep
from pointsman.demo.tales import SagaLog

Row = Mapping[str, Any]


def with_followed(counts: Counts, rows: Iterable[Row], subjects: Mapping[str, str]) -> Counts:
    """The counts with what the rows of ``pipeline.correlation.follow`` say besides, in any order.

    ``subjects`` has the subject of each message that moved a saga by its id. Which commands undo something is not in
    these rows, so the tales do not tell it.
    """
    log = SagaLog()
    gatherings: Counter[tuple[str, str]] = Counter()
    dropped: Counter[tuple[str, str]] = Counter()
    commands: list[str] = []
    for row in sorted(rows, key=lambda row: (row["correlation_id"], row["time"], row["number"])):
        kind, outcome = row["kind"], row["outcome"]
        if kind == "command":
            commands.append(row["subject"])
        elif kind == "move":
            _add_move(log, row, tuple(commands), subjects)
            commands.clear()
        elif kind == "request":
            gatherings[row["route"], "open"] += outcome == "asked"
        elif kind == "result":
            gatherings[row["route"], outcome] += 1
            gatherings[row["route"], "open"] -= 1
        elif outcome != "taken":
            dropped[row["route"], "unknown" if outcome == "problem" else outcome] += 1
    return replace(
        counts,
        sagas=log.endings(),
        saga_states=log.states(),
        commands=log.commands,
        unmoved=log.unmoved,
        gatherings=+gatherings,
        dropped=dropped,
        tales=log.tales(),
    )


def _add_move(log: SagaLog, row: Row, commands: tuple[str, ...], subjects: Mapping[str, str]) -> None:
    outcome = row["outcome"]
    if outcome == "problem":
        log.unmoved["unknown"] += 1
        return
    if outcome == "ignored":
        log.unmoved["ignored"] += 1
    cause = row["causation_id"]
    event = None if cause is None else subjects[cause]
    step = SagaStep(row["time"].timestamp(), event, tuple(row["path"] or ()), commands, ())
    undone = outcome == "compensated"
    log.add_step(row["correlation_id"], step, ended=undone or outcome == "completed", compensated=undone)
