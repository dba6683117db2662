"""A gathering under way: the value that a runtime stores under its correlation id."""

from __future__ import annotations

from math import isfinite
from operator import itemgetter
from typing import NamedTuple

from pointsman.routing.plain import Fields, as_row, as_text, bad_state, is_plain

KIND = "gather/1"
FIELDS = (
    "kind",
    "correlation_id",
    "targets",
    "deadline",
    "needed",
    "answers",
    "complete",
    "late",
    "duplicate",
    "foreign",
)
TYPES = [str, str, list, float, int, list, bool, int, int, int]
_values = itemgetter(*FIELDS)


class GatherState(NamedTuple):
    """Who was asked, who has answered, and until when; the rules it began with stay in force."""

    correlation_id: str
    targets: tuple[str, ...]
    deadline: float
    needed: int
    """How many answers complete it."""
    answers: tuple[tuple[str, object], ...] = ()
    """Pairs of target and answer, in the order of their arrival."""
    complete: bool = False
    late: int = 0
    duplicate: int = 0
    foreign: int = 0

    @property
    def missing(self) -> tuple[str, ...]:
        """The targets that have not answered, in their order."""
        answered = {target for target, _ in self.answers}
        return tuple(target for target in self.targets if target not in answered)

    def with_answer(self, target: str, value: object) -> GatherState:
        """The state after one more answer."""
        # Written out, since ``_replace`` takes three times as long.
        correlation_id, targets, deadline, needed, answers, complete, *counts = self
        answered = (*answers, (target, value))
        return GatherState(correlation_id, targets, deadline, needed, answered, complete, *counts)

    def completed(self) -> GatherState:
        """The state when it is complete."""
        correlation_id, targets, deadline, needed, answers, _, *counts = self
        return GatherState(correlation_id, targets, deadline, needed, answers, True, *counts)

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "correlation_id": self.correlation_id,
            "targets": list(self.targets),
            "deadline": self.deadline,
            "needed": self.needed,
            "answers": [[target, value] for target, value in self.answers],
            "complete": self.complete,
            "late": self.late,
            "duplicate": self.duplicate,
            "foreign": self.foreign,
        }

    @classmethod
    def from_data(cls, data: object) -> GatherState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        waiting = _read_waiting(data)
        if waiting is not None:
            return waiting
        fields = Fields(data, KIND)
        state = cls(
            fields.text("correlation_id"),
            fields.texts("targets"),
            fields.seconds("deadline"),
            fields.whole("needed"),
            fields.items("answers", _answer),
            fields.flag("complete"),
            fields.whole("late"),
            fields.whole("duplicate"),
            fields.whole("foreign"),
        )
        fields.end()
        if len({target for target, _ in state.answers} & set(state.targets)) != len(state.answers):
            raise bad_state("the answers are not those of the targets, one of each at most")
        return state


def _read_waiting(data: object) -> GatherState | None:
    """The state, if nobody has answered and it is as it should be: most are so, and are read in a third of the time."""
    if type(data) is not dict or len(data) != len(FIELDS) or data.get("answers") != []:
        return None
    try:
        kind, correlation_id, targets, *rest = values = _values(data)
    except KeyError:
        return None
    deadline, needed, _, complete, late, duplicate, foreign = rest
    if kind != KIND or [*map(type, values)] != TYPES or {*map(type, targets)} - {str}:
        return None
    if not isfinite(deadline) or min(needed, late, duplicate, foreign) < 0:
        return None
    return GatherState(correlation_id, tuple(targets), deadline, needed, (), complete, late, duplicate, foreign)


def _answer(data: object, where: str) -> tuple[str, object]:
    target, value = as_row(data, where, 2)
    if not is_plain(value):
        raise bad_state(f"{where}[1] is not plain data")
    return as_text(target, f"{where}[0]"), value
