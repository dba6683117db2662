"""The measurements as a table, a picture, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pipeline.measures import BY_HAND, IDENTITY, OURS, Row

Key = tuple[str, str, str]
"""Part, what and who of a row."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio that must not be above, or below, a limit."""

    what: str
    measured: float
    limit: float
    at_least: bool = False

    @property
    def held(self) -> bool:
        """Whether it is so."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def goals(rows: Sequence[Row]) -> Iterator[Goal]:
    """What is asked for, as far as it was measured."""
    seconds = {(row.part, row.what, row.who): row.seconds for row in rows}
    messages = {(row.part, row.what, row.who): row.messages for row in rows}

    def goal(what: str, over: Key, under: Key, limit: float, at_least: bool = False) -> Iterator[Goal]:
        if over in seconds and under in seconds:
            yield Goal(what, seconds[over] / seconds[under], limit, at_least)

    def ours(what: str) -> Key:
        return ("route", f"{what} routes", OURS)

    nine = "repeated, parquet, 9"
    by_hand = ("route", f"{nine} routes", BY_HAND)
    yield from goal("route, 9 routes: times the SQL by hand", ours(nine), by_hand, 1.25)
    identity = ("route", "repeated, parquet", IDENTITY)
    yield from goal("route, 9 routes: of the rate of identity", identity, ours(nine), 0.75, at_least=True)
    hundred = "repeated, parquet, 100"
    slow = ("route", f"{hundred} routes", BY_HAND)
    yield from goal("route, 100 routes: times as fast as by hand", slow, ours(hundred), 8, at_least=True)
    for count in ("10,000", "100,000"):
        many = ours(f"repeated, parquet, {count}")
        yield from goal(f"route, {count} routes: times the time of 9", many, ours(nine), 1.6)
    for count in ("9", "100,000"):
        distinct, repeated = ours(f"distinct, parquet, {count}"), ours(f"repeated, parquet, {count}")
        yield from goal(f"route, {count} routes, distinct: times the time of repeated", distinct, repeated, 1.5)
    for part, name in (("run", "a million"), ("latency", "a batch of 1,000")):
        for form in ("parquet", "json"):
            what = f"{form}, 9 routes"
            hand = (part, what, BY_HAND)
            yield from goal(f"run, {name}, {form}: times foreachBatch by hand", (part, what, OURS), hand, 1.5)
    command, script = (("command", "10 messages", who) for who in (OURS, BY_HAND))
    yield from goal("10 messages from the command line: times a script", command, script, 1.5)
    if (alone := ("columns", "repeated", OURS)) in seconds:
        yield Goal("columns.route, one core: messages a second", messages[alone] / seconds[alone], 1e6, True)


def lines(rows: Sequence[Row], asked: Sequence[Goal]) -> Iterator[str]:
    """Both as tables in Markdown."""
    yield "| | messages and table | who | seconds | messages a second | rows |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        rate = f"{row.messages / row.seconds:,.0f}"
        yield f"| {row.part} | {row.what} | {row.who} | {row.seconds:.2f} | {rate} | {row.rows or '':} |"
    yield ""
    yield "| what is asked for | | measured | |"
    yield "|---|---|---|---|"
    for each in asked:
        sign = "≥" if each.at_least else "≤"
        number = f"{each.measured:,.0f}" if each.measured >= 1000 else f"{each.measured:.2f}"
        yield f"| {each.what} | {sign} {each.limit:,g} | {number} | {'holds' if each.held else 'missed'} |"


def draw(rows: Sequence[Row], path: Path) -> None:
    """A bar for each measurement of a part, the parts below each other."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    parts = list(dict.fromkeys(row.part for row in rows))
    heights = [sum(row.part == part for row in rows) for part in parts]
    figure, places = pyplot.subplots(
        len(parts), figsize=(11, 2 + sum(heights) * 0.32), layout="constrained", squeeze=False, height_ratios=heights
    )
    colours = {OURS: "C0", BY_HAND: "C1", IDENTITY: "C7"}
    for axes, part in zip(places[:, 0], parts, strict=True):
        own = [row for row in rows if row.part == part]
        lengths, shades = [row.seconds for row in own], [colours[row.who] for row in own]
        bars = axes.barh(range(len(own)), lengths, color=shades)
        axes.bar_label(bars, [f"{row.seconds:.2f} s" for row in own], padding=3, fontsize=8)
        axes.set_yticks(range(len(own)), [f"{row.what}, {row.who}" for row in own], fontsize=8)
        axes.set_title(part, loc="left", fontsize=10)
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
