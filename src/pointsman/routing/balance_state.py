"""What balancing remembers between two choices: the value that a runtime stores for each balanced route."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.routing.plain import Fields, as_row, as_text, as_whole, bad_state

KIND = "balance/1"


@dataclass(frozen=True, slots=True)
class BalanceState:
    """Where each kind of balancing stands; a new one has chosen nothing yet."""

    last: str | None = None
    """For round-robin: the name chosen last."""
    position: int = 0
    """For round-robin: where that one stood."""
    credits: tuple[tuple[str, int, int], ...] = ()
    """For weighted: name, weight and credit of each destination. The credits add up to 0."""
    in_flight: tuple[tuple[str, int], ...] = ()
    """For least-connections: name and number of the requests that are not finished; a number of 0 is left out."""

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "last": self.last,
            "position": self.position,
            "credits": [list(each) for each in self.credits],
            "in_flight": [list(each) for each in self.in_flight],
        }

    @classmethod
    def from_data(cls, data: object) -> BalanceState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        fields = Fields(data, KIND)
        state = cls(
            fields.text_or_none("last"),
            fields.whole("position"),
            fields.items("credits", _credit),
            fields.items("in_flight", _flight),
        )
        fields.end()
        for each in (state.credits, state.in_flight):
            if len({row[0] for row in each}) < len(each):
                raise bad_state(f"{fields.what} names a destination twice")
        if sum(credit for *_, credit in state.credits):
            raise bad_state(f"{fields.what} has credits that do not add up to 0")
        return state


def _credit(data: object, where: str) -> tuple[str, int, int]:
    name, weight, credit = as_row(data, where, 3)
    return as_text(name, where), as_whole(weight, where, 1), as_whole(credit, where, None)


def _flight(data: object, where: str) -> tuple[str, int]:
    name, count = as_row(data, where, 2)
    return as_text(name, where), as_whole(count, where, 1)
