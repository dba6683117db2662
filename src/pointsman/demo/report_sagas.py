"""What the demo prints about its sagas."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pointsman.demo.counts import Counts, SagaStep, Tale
from pointsman.demo.report_tables import add_row, largest_first, new_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TOLD = ("finished", "compensated", "timed out")
"""The endings of which one saga is told."""
WIDE = 140
"""Columns of a terminal that a saga fits in as a table."""
INDENT = " " * 14


def show_sagas(console: Console, counts: Counts) -> None:
    """Prints how the sagas ended, and one of each ending step by step."""
    if not counts.sagas:
        return
    endings = ", ".join(f"{count:,} {ending}" for ending, count in largest_first(counts.sagas))
    console.print("\nSagas", style="bold")
    console.print(f"{counts.sagas.total():,} orders: {endings}.", highlight=False, markup=False)
    sent = f"They sent {counts.commands.total():,} commands, which gave {counts.carried.total():,} deliveries"
    unmoved = ", ".join(f"{count:,} {why}" for why, count in sorted(counts.unmoved.items()))
    told = f"{sent}; events that moved none: {unmoved}." if unmoved else f"{sent}."
    console.print(told, highlight=False, markup=False)
    for tale in counts.tales:
        if tale.ending in TOLD and console.width >= WIDE:
            console.print(_told(tale))
        elif tale.ending in TOLD:
            _tell(console, tale)


def _told(tale: Tale) -> Table:
    """A line for each step."""
    table = new_table(_title(tale), "time", "what came", "came into", "sent")
    for step in tale.steps:
        add_row(table, *_texts(step))
    return table


def _tell(console: Console, tale: Tale) -> None:
    """Some short lines for each step, for a narrow terminal."""
    console.print(f"\n{_title(tale)}", style="bold", markup=False)
    for step in tale.steps:
        time, what, states, sent = _texts(step)
        console.print(f"{time}  {what}", markup=False, highlight=False)
        console.print(f"{INDENT}into {states}" if step.states else f"{INDENT}{states}", markup=False, highlight=False)
        if sent:
            console.print(f"{INDENT}sends {sent}", markup=False, highlight=False)


def _title(tale: Tale) -> str:
    return f"{tale.correlation_id} ({tale.ending})"


def _texts(step: SagaStep) -> tuple[str, str, str, str]:
    """When, what came, which states that led to, and what was sent."""
    time = datetime.fromtimestamp(step.time, UTC).strftime("%H:%M:%S.%f")[:-3]
    what = "(timeout)" if step.event is None else step.event
    states = " → ".join(step.states) or "(nothing fits: ignored)"
    return time, what, states, _sent(step)


def _sent(step: SagaStep) -> str:
    undoing = list(step.compensations)
    texts = []
    for command in step.commands:
        if command in undoing:
            undoing.remove(command)
            texts.append(f"{command} (undoes)")
        else:
            texts.append(command)
    return ", ".join(texts)
