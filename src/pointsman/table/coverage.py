"""Coverage: which routes, destinations and translations of a table were exercised, and by which subjects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pointsman.errors import InputError
from pointsman.table.compile import UNROUTED
from pointsman.table.decision import Decision
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
