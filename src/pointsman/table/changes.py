"""What may differ between two tables, and how two patterns differ in meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from pointsman.patterns import Pattern
from pointsman.table.route import Place

Effect = Literal["gained", "lost", "widened", "narrowed", "moved", "changed"]
PAIRWISE = 500
"""In a longer list, a change of the order counts also when none of the patterns concerned have subjects in common."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs, as it is written before and after."""

    field: str
    before: Any
    after: Any
    effect: Effect = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a route, destination, translation, principal, saga or group of routes."""

    kind: str
    name: str
    effect: Effect
    differences: tuple[Difference, ...] = ()
    place: Place | None = None
    """In the new table; in the old one for what is lost."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "kind": self.kind,
            "name": self.name,
            "effect": self.effect,
            "place": None if self.place is None else str(self.place),
            "differences": [
                {"field": each.field, "before": each.before, "after": each.after, "effect": each.effect}
                for each in self.differences
            ],
        }


def overall(differences: Iterable[Difference]) -> Effect:
    """What several differences amount to: the effect that all of them have, else ``changed``."""
    effects = {each.effect for each in differences}
    return effects.pop() if len(effects) == 1 else "changed"


def compare_patterns(field: str, before: Pattern, after: Pattern) -> Iterator[Difference]:
    """How the subjects of a pattern changed; nothing when they are the same, however it is written.

    ``moved`` says that no subject is left. Patterns of two dialects cannot be compared: that is ``changed``.
    """
    if before == after:
        return
    effect: Effect = "changed"
    if before.dialect == after.dialect:
        if after.contains(before):
            effect = "widened"
        elif before.contains(after):
            effect = "narrowed"
        elif not after.intersects(before):
            effect = "moved"
    yield Difference(field, _written(before, after), _written(after, before), effect)


def _written(pattern: Pattern, other: Pattern) -> str:
    return pattern.text if pattern.dialect == other.dialect else f"{pattern.text} ({pattern.dialect.name})"


def compare_order(
    kind: str, name: str, before: list[tuple[str, Pattern]], after: list[tuple[str, Pattern]]
) -> Change | None:
    """Whether entries that both lists name stand in another order, as far as that can matter to a subject."""
    names = dict(after)
    old = [each for each, _ in before if each in names]
    known = set(old)
    new = [each for each, _ in after if each in known]
    if old == new:
        return None
    turns = {each: number for number, each in enumerate(old)}
    if len(new) <= PAIRWISE and not any(_swapped(turns, names, pair) for pair in combinations(new, 2)):
        return None
    first = next(number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
    return Change(kind, name, "changed", (Difference("order", old[first:][:5], new[first:][:5]),))


def _swapped(turns: dict[str, int], patterns: dict[str, Pattern], pair: tuple[str, str]) -> bool:
    first, second = pair
    if turns[first] < turns[second]:
        return False
    one, other = patterns[first], patterns[second]
    return one.dialect != other.dialect or one.intersects(other)
