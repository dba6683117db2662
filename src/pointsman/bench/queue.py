"""The durable queue beside other queues on SQLite and beside the same inserts written by hand, in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

from pointsman.bench import queue_cells, queue_fan_out, queue_group, queue_patterns
from pointsman.bench.queue_cells import CellPlan, run_cells
from pointsman.bench.queue_disk import look
from pointsman.bench.queue_fan_out import FanOutPlan, run_fan_out
from pointsman.bench.queue_group import GroupPlan, run_group
from pointsman.bench.queue_patterns import PatternPlan, run_patterns
from pointsman.bench.queue_peers import check_packages
from pointsman.bench.queue_required import required
from pointsman.errors import InputError

Progress = Callable[[str], object]


class Plan(NamedTuple):
    """How much is measured."""

    cells: CellPlan
    group: GroupPlan
    patterns: PatternPlan
    fan_out: FanOutPlan


FULL = Plan(queue_cells.FULL, queue_group.FULL, queue_patterns.FULL, queue_fan_out.FULL)
QUICK = Plan(queue_cells.QUICK, queue_group.QUICK, queue_patterns.QUICK, queue_fan_out.QUICK)


def run(quick: bool, directory: Path | None = None, progress: Progress = lambda _: None) -> dict[str, Sequence[Any]]:
    """The measurements by what they are about; ``progress`` is told what comes next.

    The files are made in ``directory``, by default in that for temporary files, and deleted at the end. Raises
    ``MissingExtraError``, and ``InputError`` when there is no such directory.
    """
    return run_plan(QUICK if quick else FULL, directory, progress)


def run_plan(
    plan: Plan, directory: Path | None = None, progress: Progress = lambda _: None
) -> dict[str, Sequence[Any]]:
    """The measurements of a plan."""
    check_packages()
    place = Path(gettempdir()) if directory is None else directory
    if not place.is_dir():
        raise InputError("no-file", "cannot measure there: there is no such directory", file=str(place))
    progress("the disk")
    measured: dict[str, Sequence[Any]] = {"disk": [look(place)]}
    measured["rows"] = run_cells(plan.cells, place, progress)
    progress("group commit")
    measured["group"] = run_group(plan.group, place)
    measured["patterns"] = run_patterns(plan.patterns, place, progress)
    progress("many subscriptions")
    measured["fan_out"] = run_fan_out(plan.fan_out, place)
    measured["required"] = required(measured)
    return measured
