"""What ``check`` finds: the catalogue of codes, a finding with its place, and findings that the table silences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from pointsman.table.loading.validation import place_of
from pointsman.table.loading.yaml import Node
from pointsman.table.route import Place, Route
from pointsman.table.routing_table import RoutingTable


class Places:
    """The places of a table's parts: exact ones with its tree, those of whole routes and destinations without."""

    __slots__ = ("_table", "_tree")

    def __init__(self, table: RoutingTable, tree: Node | None) -> None:
        self._table = table
        self._tree = tree

    def find(self, *path: str | int) -> Place | None:
        """The place of what the path leads to, or of the last part of the path that is there."""
        return None if self._tree is None else place_of(self._tree.find(path))

    def route(self, route: Route, *path: str | int) -> Place:
        """The place of a route, or of a part of it."""
        return self.find("routes", route.position, *path) or route.place

    def destination(self, name: str, *path: str | int) -> Place:
        """The place of a destination, or of a part of it; without a path, that of its name."""
        if path or self._tree is None:
            return self.find("destinations", name, *path) or self._table.destinations[name].place
        node = self._tree.find(("destinations", name))
        return Place(node.file, node.key_line, node.key_column)


Severity = Literal["error", "warning", "note"]


class Kind(NamedTuple):
    """One code: how bad it is, and what to do."""

    severity: Severity
    help: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "route-unreachable": Kind(
            "warning", "Remove the route, narrow those that are asked before it, or have it asked before them."
        ),
        "predicate-never": Kind("warning", "Correct the predicate, or remove the route."),
        "route-shadowed": Kind("note", "Make sure that the subjects both match should go to the earlier route."),
        "overlap-different-outcome": Kind(
            "warning", "Give the two different priorities or groups, or narrow one, so that the order does not decide."
        ),
        "duplicate-route": Kind("warning", "Remove one of the two."),
        "unused-destination": Kind("note", "Remove it, or name it in a route."),
        "fallback-circle": Kind("error", "Let the chain of fallbacks end with a destination that has none."),
        "translation-dead": Kind("warning", "Remove the translation, or put it before those that take its subjects."),
        "translation-lossy": Kind("note", "Use every wildcard in the template if different subjects must stay apart."),
        "access-unusable": Kind("warning", "Remove the rule, or what makes it useless."),
        "saga-unreachable-state": Kind("warning", "Lead an edge to the state, or remove it."),
        "saga-inescapable-state": Kind("warning", "Lead an edge from it towards a final state, or make it final."),
        "saga-untimed-state": Kind("note", "Give the state a timeout if the event may never come."),
        "saga-shadowed-edge": Kind("warning", "Remove the edge, or put it before the one that takes its events."),
        "outside-standard": Kind("warning", "Follow the naming standard of the table, or choose another one."),
        "foreign-wildcard": Kind("warning", "Write the wildcards of the pattern's dialect, or choose another dialect."),
        "plain-secret": Kind(
            "warning", "Write ${NAME} for an environment variable, or file:PATH, instead of the secret."
        ),
        "unused-silence": Kind("note", "Remove it, or correct its code and what it is at."),
    }
)
"""Every code. ``docs/checks.md`` says when each is found."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a table that is probably not meant.

    ``about`` is the name of the route, destination, translation, principal or saga.
    """

    code: str
    message: str
    about: str
    place: Place | None
    """None when the table's YAML was not given and the place is not known without it."""
    silenced: str | None = None
    """The reason for which the table accepts it."""
    environments: tuple[str, ...] = ()
    """The environments that it is found in, if it is not found in the table as it is."""

    @property
    def severity(self) -> Severity:
        """How bad it is: an error or a warning makes ``pointsman check`` end with 1."""
        return KINDS[self.code].severity

    @property
    def help(self) -> str:
        """What to do about it."""
        return KINDS[self.code].help

    @property
    def counts(self) -> bool:
        """Whether it is an error or a warning that the table does not accept."""
        return self.silenced is None and self.severity != "note"

    def as_dict(self) -> dict[str, str | int | list[str]]:
        """The finding for a machine; what is not known is left out."""
        data: dict[str, str | int | list[str]] = {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "about": self.about,
            "help": self.help,
        }
        if self.place is not None:
            data |= {"file": self.place.file, "line": self.place.line, "column": self.place.column}
        if self.silenced is not None:
            data["reason"] = self.silenced
        if self.environments:
            data["environments"] = list(self.environments)
        return data


# -- findings that the table accepts, and ``unused-silence``: what is accepted and not found


def apply_silences(table: RoutingTable, places: Places, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those that the table accepts with the reason; and one for each silence that concerns none."""
    silences = table.written.silence
    used: set[int] = set()
    told: list[Finding] = []
    for finding in findings:
        found = [
            number
            for number, silence in enumerate(silences)
            if silence.code == finding.code and silence.at in (None, finding.about)
        ]
        used.update(found)
        told.append(replace(finding, silenced=silences[found[0]].reason) if found else finding)
    for number, silence in enumerate(silences):
        if number not in used:
            at = "" if silence.at is None else f" at {silence.at!r}"
            why = f"nothing{at} is found" if silence.code in KINDS else "there is no such code"
            problem = f"the silence of {silence.code!r} has no effect: {why}"
            told.append(Finding("unused-silence", problem, silence.at or silence.code, places.find("silence", number)))
    return told
