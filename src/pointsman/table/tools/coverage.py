"""Coverage: which routes, destinations and translations of a table were exercised, and by which subjects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, get_args

from pointsman.errors import InputError
from pointsman.table.decision import Decision
from pointsman.table.loading.compile import UNROUTED
from pointsman.table.route import Place
from pointsman.table.routing_table import RoutingTable

Kind = Literal["route", "destination", "translation"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SAMPLES = 3
"""How many subjects are kept for each entry."""


@dataclass(slots=True)
class Entry:
    """A route, destination or translation, and how often it was exercised."""

    kind: Kind
    name: str
    what: str
    """Its pattern, or its type."""
    place: Place | None
    count: int = 0
    subjects: list[str] = field(default_factory=list)
    """Of the first messages that exercised it; each once."""

    def add(self, count: int, subjects: list[str]) -> None:
        """Counts on."""
        self.count += count
        for subject in subjects:
            if len(self.subjects) < SAMPLES and subject not in self.subjects:
                self.subjects.append(subject)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "kind": self.kind,
            "name": self.name,
            "what": self.what,
            "place": None if self.place is None else str(self.place),
            "count": self.count,
            "subjects": self.subjects,
        }


class Coverage:
    """What decisions exercised of a table. Not safe between threads.

    A route is exercised by a delivery of it, a destination by a delivery to it, a translation by a subject that it
    changed. Routes that are disabled do not count. The memory it takes does not grow with the messages.
    """

    def __init__(self, table: RoutingTable, translation_places: list[Place] | None = None) -> None:
        self.table = table
        self._entries: dict[tuple[Kind, str], Entry] = {}
        for route in table.routes:
            if route.enabled:
                self._put("route", route.name, route.pattern.text, route.place)
        for destination in table.destinations.values():
            self._put("destination", destination.name, destination.type, destination.place)
        for route in table.routes:
            for each in route.destinations if route.enabled else ():
                self._put("destination", each.name, "not declared", route.place)
        for number, rule in enumerate(table.translations):
            place = translation_places[number] if translation_places else None
            self._put("translation", rule.name, rule.template.source.text, place)

    def _put(self, kind: Kind, name: str, what: str, place: Place | None) -> None:
        self._entries.setdefault((kind, name), Entry(kind, name, what, place))

    def record(self, decision: Decision, sent: str | None = None) -> None:
        """Counts what a decision exercised; ``sent`` is the subject before translation.

        Raises ``InputError`` (``other-table``) for a decision of a table with other routes.
        """
        subjects = [decision.subject if sent is None else sent]
        for route in decision.routes:
            if route == UNROUTED:
                continue
            if ("route", route) not in self._entries:
                raise InputError("other-table", f"the table has no route {route!r} that is enabled")
            self._entries["route", route].add(1, subjects)
        for destination in dict.fromkeys(delivery.destination for delivery in decision.deliveries):
            if ("destination", destination) not in self._entries:
                # The fallback of a destination may be one that nobody declared.
                self._put("destination", destination, "not declared", None)
            self._entries["destination", destination].add(1, subjects)
        for name in decision.translated_by:
            self._entries["translation", name].add(1, subjects)

    def entries(self, kind: Kind | None = None) -> Iterator[Entry]:
        """All entries, or those of a kind, in the order of the table."""
        return (entry for entry in self._entries.values() if kind in (None, entry.kind))

    @property
    def percent(self) -> float:
        """How many of a hundred routes were exercised; 100 when there are none."""
        return self.percent_of("route")

    def percent_of(self, kind: Kind) -> float:
        """As ``percent``, for another kind."""
        counts = [entry.count for entry in self.entries(kind)]
        return 100.0 * sum(count > 0 for count in counts) / len(counts) if counts else 100.0

    @property
    def uncovered(self) -> list[Entry]:
        """What was not exercised: routes first, then destinations and translations."""
        return [entry for kind in KINDS for entry in self.entries(kind) if not entry.count]

    def merge(self, other: Coverage) -> None:
        """Counts on what another coverage of the same table counted; raises ``InputError`` (``other-table``)."""
        self.merge_data(other.as_data())

    def as_data(self) -> dict[str, Any]:
        """What was counted, as plain data that JSON can hold."""
        counted = [[*key, entry.count, entry.subjects] for key, entry in self._entries.items() if entry.count]
        return {"table": self.table.hash, "counted": counted}

    def merge_data(self, data: dict[str, Any]) -> None:
        """Counts on what ``as_data`` gave for the same table; raises ``InputError`` (``other-table``)."""
        if data["table"] != self.table.hash:
            raise InputError("other-table", "the coverage of another table cannot be counted together with this one")
        for kind, name, count, subjects in data["counted"]:
            self._put(kind, name, "not declared", None)
            self._entries[kind, name].add(count, subjects)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "table": self.table.hash,
            "percent": {f"{kind}s": round(self.percent_of(kind), 1) for kind in KINDS},
            "uncovered": [entry.as_dict() for entry in self.uncovered],
            "entries": [entry.as_dict() for entry in self.entries()],
        }


# -- coverage as one page of HTML that needs nothing else


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2733; }
table { border-collapse: collapse; width: 100%; margin-bottom: 2rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dee6; vertical-align: top; }
td.count { text-align: right; font-variant-numeric: tabular-nums; }
tr.uncovered td { background: #fdecea; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
.bar { background: #f3c6c1; height: .6rem; border-radius: .3rem; overflow: hidden; }
.bar div { background: #2e8b57; height: 100%; }
.hash { color: #5c6b7a; }
"""


def write_html(coverage: Coverage) -> str:
    """The page: a percentage and a table for routes, destinations and translations, what is uncovered marked."""
    return "\n".join(_page(coverage)) + "\n"


def _page(coverage: Coverage) -> Iterator[str]:
    title = f"Coverage of {coverage.table.written.name or 'a routing table'}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{_safe(title)}</h1>"
    yield f'<p class="hash">table <code>{_safe(coverage.table.hash)}</code></p>'
    for kind in KINDS:
        entries = list(coverage.entries(kind))
        if entries:
            yield from _section(f"{kind.capitalize()}s", entries, coverage.percent_of(kind))
    yield "</body>\n</html>"


def _section(heading: str, entries: list[Entry], percent: float) -> Iterator[str]:
    exercised = sum(entry.count > 0 for entry in entries)
    yield f"<h2>{heading}: {percent:.1f}% ({exercised} of {len(entries)})</h2>"
    yield f'<div class="bar"><div style="width: {percent:.1f}%"></div></div>'
    yield "<table>\n<tr><th>name</th><th></th><th>messages</th><th>for example</th><th>place</th></tr>"
    for entry in sorted(entries, key=lambda entry: entry.count > 0):
        subjects = "<br>".join(f"<code>{_safe(subject)}</code>" for subject in entry.subjects)
        yield (
            f'<tr class="{"covered" if entry.count else "uncovered"}"><td>{_safe(entry.name)}</td>'
            f'<td><code>{_safe(entry.what)}</code></td><td class="count">{entry.count:,}</td>'
            f"<td>{subjects}</td><td>{_safe(str(entry.place or ''))}</td></tr>"
        )
    yield "</table>"


def _safe(text: str) -> str:
    """The text for HTML; what UTF-8 cannot write is replaced."""
    return escape(text.encode(errors="replace").decode())
