"""The report that the demo prints at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pointsman.demo.check import Checked
from pointsman.demo.counts import Counts, SagaStep, Tale

if TYPE_CHECKING:
    from rich.console import Console

    from pointsman.table.routing_table import RoutingTable

ACROSS = 3
"""Destinations in one line."""
TOLD = ("finished", "compensated", "timed out")
"""The endings of which one saga is told."""
WIDE = 140
"""Columns of a terminal in which a saga fits as a table."""
INDENT = " " * 14

Counted = TypeVar("Counted", bound=Any)


def show(
    console: Console,
    counts: Counts,
    table: RoutingTable,
    checked: Checked,
    *,
    files: Mapping[str, Path],
    commands: Sequence[str],
) -> None:
    """Prints the counts by route and destination, what was quarantined and why, what became of sagas and gatherings
    with one saga of each ending step by step, where the files are, and what to try next.

    ``files`` says what is where. Names are printed as they are, whatever they look like.
    """
    _show_sums(console, counts)
    _show_check(console, checked)
    _show_table(console, "By route", ("route", "strategy", "deliveries", "to"), _routes(counts, table))
    _show_table(console, "By destination", ("destination", "deliveries") * ACROSS, _destinations(counts))
    failed = (f"{some:,} to {name}" for name, some in sorted(counts.failed.items()))
    _show_line(console, "Failed, and kept as dead letters", failed)
    aside = (f"{some:,} to {to} instead of {name}" for (name, to), some in sorted(counts.fallbacks.items()))
    _show_line(console, "Turned aside by a breaker", aside)
    _show_table(console, "Quarantined", ("stage", "code", "messages", "why"), _quarantine(counts))
    _show_sagas(console, counts)
    gatherings = ((*key, f"{some:,}") for key, some in sorted(counts.followed.gatherings.items()))
    _show_table(console, "Gathered answers", ("route", "complete by", "gatherings"), gatherings)
    dropped = (f"{some:,} {why} ({route})" for (route, why), some in sorted(counts.followed.dropped.items()))
    _show_line(console, "Answers that did not count", dropped)
    width = max(map(len, files), default=0)
    _show_list(console, "Where everything is", [f"{what:<{width}}  {path}" for what, path in files.items()])
    _show_list(console, "To try next", commands)


def _show_sums(console: Console, counts: Counts) -> None:
    parts = (
        f"{counts.messages:,} messages: {counts.routed:,} routed, {counts.quarantined.total():,} quarantined, "
        f"{counts.unrouted.total():,} that no route takes"
    )
    _print(console, f"{parts}{'.' if counts.adds_up else ', which does not add up!'}")
    _print(console, f"They gave {counts.deliveries.total():,} deliveries.")


def _show_check(console: Console, checked: Checked) -> None:
    text = f"Checked: RoutingTable.decide was asked about {checked.compared:,} of the messages, one after the other"
    if not checked.disagreed and not checked.differences:
        _print(console, f"{text}; 0 disagreed.")
        return
    _print(console, f"{text}; {checked.disagreed:,} disagreed:", style="red")
    for each in checked.differences:
        _print(console, f"  {each}")


def _routes(counts: Counts, table: RoutingTable) -> Iterable[Sequence[str]]:
    for name, count in _largest_first(counts.by_route):
        to: Counter[str] = Counter()
        for flow, some in counts.deliveries.items():
            if flow.route == name:
                to[flow.destination] += some
        yield (
            name,
            _strategy(table, name),
            f"{count:,}",
            ", ".join(f"{each} {some:,}" for each, some in sorted(to.items())),
        )


def _strategy(table: RoutingTable, name: str) -> str:
    """Returns the strategy of a route, and of a balanced one how it balances; nothing for an unknown route."""
    for route in table.routes:
        if route.name == name:
            return route.strategy if route.balance is None else f"{route.strategy}, {route.balance.value}"
    return ""


def _destinations(counts: Counts) -> Iterable[Sequence[str]]:
    """Yields the rows of a table that is read column by column."""
    cells = [(name, f"{count:,}") for name, count in sorted(counts.by_destination.items())]
    height = -(-len(cells) // ACROSS)
    for number in range(height):
        row = cells[number::height] + [("", "")] * ACROSS
        yield [text for pair in row[:ACROSS] for text in pair]


def _quarantine(counts: Counts) -> Iterable[Sequence[str]]:
    summed: Counter[tuple[str, str, str]] = Counter()
    for refusal, count in counts.quarantined.items():
        summed[refusal.stage, refusal.code, refusal.reason] += count
    for (stage, code, reason), count in _largest_first(summed):
        yield stage, code, f"{count:,}", reason


def _show_sagas(console: Console, counts: Counts) -> None:
    """Prints how the sagas ended, and one of each ending step by step."""
    followed = counts.followed
    if not followed.sagas:
        return
    endings = ", ".join(f"{count:,} {ending}" for ending, count in _largest_first(followed.sagas))
    console.print("\nSagas", style="bold")
    _print(console, f"{followed.sagas.total():,} orders: {endings}.")
    sent = f"They sent {followed.commands.total():,} commands, which gave {counts.carried.total():,} deliveries"
    unmoved = ", ".join(f"{count:,} {why}" for why, count in sorted(followed.unmoved.items()))
    _print(console, f"{sent}; events that moved none: {unmoved}." if unmoved else f"{sent}.")
    for tale in followed.tales:
        if tale.ending in TOLD:
            _tell(console, tale)


def _tell(console: Console, tale: Tale) -> None:
    """Prints a saga: a line for each step on a wide terminal, some short lines on a narrow one."""
    title = f"{tale.correlation_id} ({tale.ending})"
    if console.width >= WIDE:
        _show_table(console, title, ("time", "what came", "came into", "sent"), map(_texts, tale.steps))
        return
    _print(console, f"\n{title}", style="bold")
    for step in tale.steps:
        time, what, states, sent = _texts(step)
        _print(console, f"{time}  {what}")
        _print(console, f"{INDENT}into {states}" if step.states else f"{INDENT}{states}")
        if sent:
            _print(console, f"{INDENT}sends {sent}")


def _texts(step: SagaStep) -> tuple[str, str, str, str]:
    """Returns when it was, what came, which states that led to, and what was sent."""
    time = datetime.fromtimestamp(step.time, UTC).strftime("%H:%M:%S.%f")[:-3]
    states = " → ".join(step.states) or "(nothing fits: ignored)"
    return time, step.event or "(timeout)", states, ", ".join(step.commands)


def _largest_first(counts: Counter[Counted]) -> list[tuple[Counted, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _print(console: Console, text: str, **style: Any) -> None:
    console.print(text, markup=False, highlight=False, **style)


def _show_line(console: Console, heading: str, parts: Iterable[str]) -> None:
    """Prints one line, if there is something to say."""
    if text := ", ".join(parts):
        _print(console, f"{heading}: {text}.")


def _show_list(console: Console, heading: str, lines: Sequence[str]) -> None:
    console.print(f"\n{heading}", style="bold")
    for line in lines:
        _print(console, f"  {line}", soft_wrap=True)


def _show_table(console: Console, title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table without lines, if it has rows; columns of numbers are aligned on the right."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(f"\n{title}"), title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for heading in headings:
        is_number = heading in ("deliveries", "messages", "gatherings")
        shown.add_column(heading, justify="right" if is_number else "left", header_style="dim")
    for row in rows:
        shown.add_row(*map(Text, row))
    if shown.row_count:
        console.print(shown)
