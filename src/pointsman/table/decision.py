"""What is decided about one message, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pointsman.errors import PointsmanError
from pointsman.routing.breaker import Permit
from pointsman.table.state import Changes, Key, State, Value


class Delivery(NamedTuple):
    """A message for a destination: the unit that is done or fails."""

    route: str
    destination: str
    subject: str
    """After translation."""
    permit: Permit | None = None
    """To be given back to the breaker of the destination with the result."""
    instead_of: str | None = None
    """The destination that this one is the fallback of."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``; what is not there is left out."""
        known = {"route": self.route, "destination": self.destination, "subject": self.subject}
        return known | ({"instead_of": self.instead_of} if self.instead_of else {})


class Problem(NamedTuple):
    """A route that takes a message, and why it cannot choose a destination for it."""

    route: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """What happened at a stage, and within it."""

    stage: str
    what: str
    inner: tuple[Step, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"stage": self.stage, "what": self.what} | (
            {"inner": [step.as_dict() for step in self.inner]} if self.inner else {}
        )


@dataclass(slots=True)
class Decision:
    """Who gets a message. Not to be changed; that it could be makes it quick to make.

    ``trace`` is empty unless it was asked for.
    """

    subject: str
    """After translation."""
    deliveries: tuple[Delivery, ...]
    changes: Changes
    error: PointsmanError | None = None
    """Why nobody gets it: access, the subject itself or the naming standard does not allow it."""
    translated_by: tuple[str, ...] = ()
    """The names of the translations that were applied, in their order."""
    problems: tuple[Problem, ...] = ()
    """The routes that take it and could not choose a destination."""
    followed: tuple[Any, ...] = ()
    """What it moved besides: ``SagaMove`` for a saga, ``Gathering`` for answers that are gathered."""
    trace: tuple[Step, ...] = ()
    before: Mapping[Key, Value] = field(default_factory=State, repr=False)

    @property
    def refused(self) -> str | None:
        """Why nobody gets it, in words; None unless it is refused."""
        return None if self.error is None else self.error.problem

    @property
    def state(self) -> State:
        """The state that this leaves."""
        before = self.before if isinstance(self.before, State) else State(self.before)
        return before.updated(self.changes)

    @property
    def routes(self) -> Iterator[str]:
        """The names of the routes that were taken, each once."""
        return iter(dict.fromkeys(delivery.route for delivery in self.deliveries))

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "subject": self.subject,
            "refused": self.refused,
            "deliveries": [delivery.as_dict() for delivery in self.deliveries],
            "problems": [problem._asdict() for problem in self.problems],
            "trace": [step.as_dict() for step in self.trace],
        }
