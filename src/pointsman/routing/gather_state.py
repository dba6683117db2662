"""A gathering under way: the value that a runtime stores under its correlation id."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.routing.plain import Fields, as_row, as_text, bad_state, is_plain

KIND = "gather/1"


@dataclass(frozen=True, slots=True)
class GatherState:
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
        # Written out, since ``dataclasses.replace`` takes three times as long.
        answers = (*self.answers, (target, value))
        rest = self.complete, self.late, self.duplicate, self.foreign
        return GatherState(self.correlation_id, self.targets, self.deadline, self.needed, answers, *rest)

    def completed(self) -> GatherState:
        """The state when it is complete."""
        rest = self.late, self.duplicate, self.foreign
        return GatherState(self.correlation_id, self.targets, self.deadline, self.needed, self.answers, True, *rest)

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


def _answer(data: object, where: str) -> tuple[str, object]:
    target, value = as_row(data, where, 2)
    if not is_plain(value):
        raise bad_state(f"{where}[1] is not plain data")
    return as_text(target, f"{where}[0]"), value
