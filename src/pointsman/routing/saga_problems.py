"""What is wrong in the data of a saga definition, collected: reading goes on after a problem."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.routing.plain import is_finite_number, is_whole
from pointsman.routing.shown import shown

Path = tuple[str | int, ...]
MOST_SECONDS = 10 * 365 * 86400


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a definition, and where: the keys and positions that lead to it."""

    path: Path
    problem: str

    def __str__(self) -> str:
        """Path and problem, as in ``states.paid.edges[0].to: there is no state 'x'``."""
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{where.lstrip('.') or 'the definition'}: {self.problem}"


class Problems:
    """Gives each value as what it should be, or notes a problem and gives something harmless."""

    __slots__ = ("found",)

    found: list[Problem]

    def __init__(self) -> None:
        self.found = []

    def note(self, path: Path, problem: str) -> None:
        """Notes that something is wrong there."""
        self.found.append(Problem(path, problem))

    def name(self, value: object, path: Path) -> str:
        """A text that is not empty."""
        if isinstance(value, str) and value:
            return value
        self.note(path, f"{shown(value)} is no name")
        return ""

    def flag(self, value: object, path: Path) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            self.note(path, f"{shown(value)} is neither true nor false")
        return value is True

    def whole(self, value: object, path: Path, most: int) -> int:
        """A whole number from 1 to the one given."""
        if is_whole(value) and 1 <= value <= most:
            return value
        self.note(path, f"{shown(value)} is no whole number from 1 to {most}")
        return 1

    def seconds(self, value: object, path: Path) -> float:
        """A number of seconds above 0, and at most ten years."""
        if is_finite_number(value) and 0 < value <= MOST_SECONDS:
            return float(value)
        self.note(path, f"{shown(value)} is no number of seconds above 0 and up to {MOST_SECONDS} (ten years)")
        return 1.0

    def items(self, value: object, path: Path) -> list[object]:
        """A list."""
        if isinstance(value, list):
            return value
        self.note(path, "it must be a list")
        return []

    def texts(self, value: object, path: Path) -> tuple[tuple[str, str], ...]:
        """The pairs of an object of texts."""
        if isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair):
            return tuple(value.items())
        self.note(path, "it must be an object of texts")
        return ()

    def fields(self, value: object, path: Path, known: tuple[str, ...]) -> dict[str, object]:
        """An object that has no other fields than the known ones."""
        if not isinstance(value, dict):
            self.note(path, f"it must be an object of {', '.join(known)}")
            return {}
        for key in value:
            if key not in known:
                self.note(path, f"there is no field {shown(key)} here, only {', '.join(known)}")
        return value
