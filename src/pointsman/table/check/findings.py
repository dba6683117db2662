"""What ``check`` finds: the catalogue of codes, and a finding with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from pointsman.table.route import Place

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
