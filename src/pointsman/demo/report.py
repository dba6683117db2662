"""What the demo prints at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.demo.counts import Counts, Refusal
from pointsman.demo.report_sagas import show_sagas
from pointsman.demo.report_tables import add_row, largest_first, new_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from pointsman.table.routing_table import RoutingTable

ACROSS = 3
"""Destinations in one line."""


def show(
    console: Console,
    counts: Counts,
    table: RoutingTable,
    *,
    differences: Sequence[str],
    files: Mapping[str, Path],
    commands: Sequence[str],
) -> None:
    """Prints the counts by route and by destination, what was quarantined and why, what became of the sagas and the
    gatherings with one saga of each ending told step by step, where the files are, and what to try next.

    ``differences`` are those from what the counts must come to; ``files`` says what is where. All names are printed as
    they are, whatever they look like.
    """
    _show_sums(console, counts)
    _show_check(console, differences)
    console.print(_routes(counts, table))
    console.print(_destinations(counts))
    _show_line(
        console,
        "Failed, and kept as dead letters",
        [f"{some:,} to {name}" for name, some in sorted(counts.failed.items())],
    )
    turned = [f"{some:,} to {to} instead of {name}" for (name, to), some in sorted(counts.fallbacks.items())]
    _show_line(console, "Turned aside by a breaker", turned)
    if counts.quarantined:
        console.print(_quarantine(counts.quarantined))
    show_sagas(console, counts)
    if counts.gatherings:
        console.print(_gatherings(counts))
        dropped = [f"{some:,} {why} ({route})" for (route, why), some in sorted(counts.dropped.items())]
        _show_line(console, "Answers that did not count", dropped)
    width = max(map(len, files), default=0)
    _show_list(console, "Where everything is", [f"{what:<{width}}  {path}" for what, path in files.items()])
    _show_list(console, "To try next", commands)


def _show_check(console: Console, differences: Sequence[str]) -> None:
    if not differences:
        text = (
            "Checked: RoutingTable.decide, asked about one message after the other, comes to the same in every count."
        )
        console.print(text, highlight=False)
        return
    console.print("RoutingTable.decide, asked about one message after the other, comes to something else:", style="red")
    for text in differences:
        console.print(f"  {text}", markup=False, highlight=False)


def _show_sums(console: Console, counts: Counts) -> None:
    parts = (
        f"{counts.messages:,} messages: {counts.routed:,} routed, {counts.quarantined.total():,} quarantined, "
        f"{counts.unrouted.total():,} that no route takes"
    )
    console.print(f"{parts}{'.' if counts.adds_up else ', which does not add up!'}", highlight=False, markup=False)
    console.print(f"They gave {counts.deliveries.total():,} deliveries.", highlight=False)


def _routes(counts: Counts, table: RoutingTable) -> Table:
    shown = new_table("By route", "route", "strategy", "deliveries", "to", right=("deliveries",))
    for name, count in largest_first(counts.by_route):
        to: Counter[str] = Counter()
        for flow, some in counts.deliveries.items():
            if flow.route == name:
                to[flow.destination] += some
        row = f"{count:,}", ", ".join(f"{each} {some:,}" for each, some in sorted(to.items()))
        add_row(shown, name, strategy_of(table, name), *row)
    return shown


def strategy_of(table: RoutingTable, name: str) -> str:
    """How a route chooses: its strategy, and of balanced ones how they balance; nothing for one that is not there."""
    route = next((route for route in table.routes if route.name == name), None)
    if route is None:
        return ""
    return route.strategy if route.balance is None else f"{route.strategy}, {route.balance.value}"


def _destinations(counts: Counts) -> Table:
    headings = ("destination", "deliveries") * ACROSS
    shown = new_table("By destination", *headings, right=("deliveries",))
    cells = [(name, f"{count:,}") for name, count in sorted(counts.by_destination.items())]
    height = -(-len(cells) // ACROSS)
    for number in range(height):
        row = cells[number::height] + [("", "")] * ACROSS
        add_row(shown, *(text for pair in row[:ACROSS] for text in pair))
    return shown


def _quarantine(quarantined: Counter[Refusal]) -> Table:
    shown = new_table("Quarantined", "stage", "code", "messages", "why", right=("messages",))
    summed: Counter[tuple[str, str, str]] = Counter()
    for refusal, count in quarantined.items():
        summed[refusal.stage, refusal.code, refusal.reason] += count
    for (stage, code, reason), count in largest_first(summed):
        add_row(shown, stage, code, f"{count:,}", reason)
    return shown


def _gatherings(counts: Counts) -> Table:
    shown = new_table("Gathered answers", "route", "complete by", "gatherings", right=("gatherings",))
    for (route, reason), count in sorted(counts.gatherings.items()):
        add_row(shown, route, reason, f"{count:,}")
    return shown


def _show_line(console: Console, heading: str, parts: Sequence[str]) -> None:
    """One line, if there is something to say."""
    if parts:
        console.print(f"{heading}: {', '.join(parts)}.", markup=False, highlight=False)


def _show_list(console: Console, heading: str, lines: Sequence[str]) -> None:
    console.print(f"\n{heading}", style="bold")
    for line in lines:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
