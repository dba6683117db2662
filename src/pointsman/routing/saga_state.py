"""Where a saga is: the value that a runtime stores under its correlation id and gives back with the next event."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.routing.plain import Fields, as_items, as_row, as_text, bad_state
from pointsman.routing.saga_definition import Command

KIND = "saga/1"


@dataclass(frozen=True, slots=True)
class Done:
    """A completed step: the state it was completed in, and the commands that undo it."""

    step: str
    undo: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class SagaState:
    """One saga under way, or finished."""

    saga: str
    """The name of its definition."""
    correlation_id: str
    state: str
    entered_at: float
    """When it came into this state, in seconds; the timeout counts from here."""
    done: tuple[Done, ...] = ()
    """Completed steps that can be undone and are not yet, in the order in which they were completed."""
    seen: tuple[str, ...] = ()
    """The ids of the last messages that acted, the newest last."""

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "saga": self.saga,
            "correlation_id": self.correlation_id,
            "state": self.state,
            "entered_at": self.entered_at,
            "done": [[each.step, [command.as_data() for command in each.undo]] for each in self.done],
            "seen": list(self.seen),
        }

    @classmethod
    def from_data(cls, data: object) -> SagaState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        fields = Fields(data, KIND)
        state = cls(
            fields.text("saga"),
            fields.text("correlation_id"),
            fields.text("state"),
            fields.seconds("entered_at"),
            fields.items("done", _done),
            fields.texts("seen"),
        )
        fields.end()
        return state


def _done(data: object, where: str) -> Done:
    step, undo = as_row(data, where, 2)
    return Done(as_text(step, f"{where}[0]"), as_items(undo, f"{where}[1]", _command))


def _command(data: object, where: str) -> Command:
    if not isinstance(data, dict) or set(data) != {"subject", "metadata"} or not isinstance(data["metadata"], dict):
        raise bad_state(f"{where} is no command")
    pairs = [(as_text(key, where), as_text(value, where)) for key, value in data["metadata"].items()]
    return Command(as_text(data["subject"], where), tuple(pairs))
