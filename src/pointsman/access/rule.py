"""Rules: one pattern that a principal may, or may not, publish or subscribe to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from pointsman.errors import AccessError
from pointsman.patterns import Pattern, Specificity, evaluation_key

Operation = Literal["publish", "subscribe"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

Effect = Literal["allow", "deny"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a rule was written: a line and column of a text, or a path into plain data.

    >>> str(Origin(line=3, column=5)), str(Origin(path=("deny", "publish", 0)))
    ('line 3', 'deny.publish[0]')
    """

    path: Path = ()
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}" if self.line is not None else write_path(self.path)


@dataclass(frozen=True, slots=True)
class Rule:
    """What one pattern grants or refuses.

    >>> str(Rule("publish", "deny", Pattern("orders.secret"), Origin(path=("deny", "publish", 0))))
    "deny publish 'orders.secret' (deny.publish[0])"

    Raises ``AccessError`` for an operation or an effect that does not exist.
    """

    operation: Operation
    effect: Effect
    pattern: Pattern
    origin: Origin = Origin()

    def __post_init__(self) -> None:
        check_operation(self.operation)
        if self.effect not in EFFECTS:
            raise AccessError("bad-access-rules", f"a rule is one to allow or to deny, not {self.effect!r}")

    def __str__(self) -> str:
        place = str(self.origin)
        return f"{self.effect} {self.operation} {self.pattern.text!r}{f' ({place})' if place else ''}"


def check_operation(operation: str) -> None:
    """Raises ``AccessError`` (``unknown-operation``) for anything but ``publish`` and ``subscribe``."""
    if operation not in OPERATIONS:
        raise AccessError("unknown-operation", f"{operation!r} is no operation; there are {' and '.join(OPERATIONS)}")


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """The rules in the order in which they are tried: those that deny first, then by their patterns.

    Zato's patterns are tried in Zato's own order, all others the more specific first and then by their text. Rules of
    the same pattern stay as they were given.
    """
    return sorted(rules, key=lambda rule: (rule.effect == "allow", _place(rule.pattern)))


def write_path(path: Path) -> str:
    """The path as one reads it: ``deny.publish[0]``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _place(pattern: Pattern) -> tuple[Specificity | None, str]:
    if pattern.dialect.name == "zato":
        return None, evaluation_key(pattern.text)
    return pattern.specificity, pattern.text
