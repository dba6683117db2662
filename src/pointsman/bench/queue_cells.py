"""Putting and popping: every contender in every cell that it can do.

The contenders of a cell take turns, many short rounds each: when the machine is busy for a while, it is so for all of
them. What counts is the upper quartile of the rounds. A machine that is slow for a while makes rounds slower only, so
that the median would tell how busy it was; but how long a disk takes to sync, and which of two processes gets the lock,
goes both ways by chance, and the best round would be that of the luckiest. Each has a fresh file for each cell, and a
longer round first that does not count: by then its log has the length that it keeps, and the keys are known. Before a
round of pops its file is filled up to the same number of messages, and what that left in the write-ahead log is moved
to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pointsman.bench.queue_contenders import OURS_NEXT, Contender
from pointsman.bench.queue_peers import PEERS
from pointsman.bench.queue_processes import Failed, Process, running, together
from pointsman.bench.queue_raw import RAW
from pointsman.bench.queue_rows import DISTINCT, POP, POP_ACK, PUT, Cell, Row
from pointsman.bench.queue_worker import CONTENDERS

Progress = Callable[[str], object]
STEPS = ((PUT, 1), (PUT, 100), (PUT, 1000), (POP, 1), (POP, 1000), (POP_ACK, 1), (POP_ACK, 100))
ALL_CELLS = (
    *(
        Cell(operation, batch, durability, processes)
        for processes in (1, 2)
        for durability in ("full", "normal")
        for operation, batch in STEPS
    ),
    Cell(PUT, 1000, keys=DISTINCT),
)
QUICK_CELLS = (
    *(Cell(operation, batch) for operation, batch in STEPS),
    Cell(PUT, 1000, "normal"),
    Cell(POP_ACK, 100, "normal"),
    Cell(PUT, 1, processes=2),
    Cell(POP_ACK, 1, processes=2),
    Cell(PUT, 1000, keys=DISTINCT),
)


class CellPlan(NamedTuple):
    """How much is measured."""

    cells: Sequence[Cell]
    rounds: int
    seconds: float
    """That a round takes at most."""
    warm: float
    """Seconds that the round takes at most which does not count."""
    single: int
    """Messages that are there for a round one by one."""
    batched: int
    """Messages that are there for a round in batches."""

    def most(self, cell: Cell) -> int:
        """Messages that are there for a round."""
        return self.single if cell.batch == 1 else self.batched


FULL = CellPlan(ALL_CELLS, 20, 0.1, 1.5, 5_000, 40_000)
QUICK = CellPlan(QUICK_CELLS, 5, 0.05, 0.05, 2_000, 20_000)


def run_cells(plan: CellPlan, directory: Path, progress: Progress) -> list[Row]:
    """The measurements, cell by cell. Raises ``Failed`` when the project's queue, or the raw one, fails."""
    rows: list[Row] = []
    with running(max(cell.processes for cell in plan.cells)) as processes:
        for number, cell in enumerate(plan.cells):
            progress(f"{number + 1} of {len(plan.cells)}: {cell}")
            with TemporaryDirectory(dir=directory) as folder:
                rows += compare(measure(cell, plan, processes[: cell.processes], folder))
    return rows


def can(contender: type[Contender], cell: Cell) -> bool:
    """Whether a contender can do this."""
    if contender.name == OURS_NEXT:
        return cell.operation == POP_ACK and cell.batch == 1
    return cell.batch == 1 or (contender.puts_batches if cell.operation == PUT else contender.pops_batches)


def compare(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows of a cell with their ratio to the same inserts written by hand."""
    raw = next((row.messages_per_second for row in rows if row.contender == RAW), None)
    for row in rows:
        yield replace(row, ratio_to_raw=row.messages_per_second / raw) if raw and row.messages_per_second else row


def measure(cell: Cell, plan: CellPlan, processes: Sequence[Process], folder: str) -> list[Row]:
    """A row for each contender, of which those that cannot do it have no speed."""
    rows = {each: Row(each.name, *cell, acknowledges=each.acknowledges) for each in CONTENDERS}
    runs = [Run(each.name, cell, plan, processes, folder) for each in CONTENDERS if can(each, cell)]
    for run in runs:
        run.warm()
    for number in range(plan.rounds):
        # There and back, so that nobody always comes after the same one.
        for run in runs if number % 2 == 0 else reversed(runs):
            run.round()
    for contender, run in zip((each for each in CONTENDERS if can(each, cell)), runs, strict=True):
        rows[contender] = run.end(rows[contender])
    return list(rows.values())


class Run:
    """A contender in a cell: its file is open in all the processes until the end."""

    def __init__(self, name: str, cell: Cell, plan: CellPlan, processes: Sequence[Process], folder: str) -> None:
        self._name = name
        self._cell = cell
        self._plan = plan
        self._processes = processes
        self._speeds: list[float] = []
        self._left = 0
        self._problem: str | None = None
        self._durability: str | None = None
        found = set()
        for process in processes:
            # One after the other: some peers cannot make a file at the same time.
            found.add(process.ask("open", name, folder, cell.durability, cell.keys))
        self._durability = ", ".join(sorted(found))

    def warm(self) -> None:
        """Runs without measuring."""
        self._run(self._plan.warm)

    def round(self) -> None:
        """Measures once more, unless it has failed before."""
        answers = self._run(self._plan.seconds)
        if answers:
            self._speeds.append(sum(count / seconds for count, seconds in answers))

    def _run(self, seconds: float) -> list[tuple[int, float]]:
        """What each process did and how long it took; nothing if it has failed, now or before."""
        if self._problem is not None:
            return []
        try:
            self._prepare()
            call = (self._cell.operation, self._cell.batch, seconds)
            answers = together(self._processes, "run", self._name, *call)
        except Failed as failed:
            if self._name not in PEERS:
                raise
            self._problem = str(failed)
            return []
        self._left -= sum(count for count, _ in answers)
        return answers

    def end(self, row: Row) -> Row:
        """Closes the files, and gives the row."""
        popped = [] if self._cell.operation == PUT else together(self._processes, "taken", self._name)
        numbers = [number for each in popped for number in each]
        together(self._processes, "close", self._name)
        return replace(
            row,
            real_durability=self._durability,
            backlog=0 if self._cell.operation == PUT else self._plan.most(self._cell),
            messages_per_second=None if self._problem else quantiles(self._speeds, n=4)[2],
            duplicates=len(numbers) - len(set(numbers)),
            problem=self._problem,
        )

    def _prepare(self) -> None:
        most = self._plan.most(self._cell)
        if self._cell.operation == PUT:
            together(self._processes, "prepare", self._name, most, self._cell.batch)
        else:
            # What was popped twice was there once.
            missing = most - max(self._left, 0)
            self._processes[0].ask("fill", self._name, missing)
            self._left = most
