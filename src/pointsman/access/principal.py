"""Principals: who publishes and subscribes, and by which rules."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.access.data import parse_data
from pointsman.access.lines import parse_lines
from pointsman.access.rule import Effect, Operation, Rule, in_order
from pointsman.errors import AccessError
from pointsman.patterns import Dialect, Pattern


@dataclass(frozen=True, slots=True)
class Principal:
    """A name and its rules, which are all of one dialect.

    >>> shop = Principal.from_lines("shop", "pub=orders.**")
    >>> [str(pattern) for pattern in shop.patterns("publish", "allow")]
    ['orders.**']

    Raises ``AccessError`` (``mixed-dialects``) for rules of several dialects.
    """

    name: str
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        names = sorted({rule.pattern.dialect.name for rule in self.rules})
        if len(names) > 1:
            raise AccessError("mixed-dialects", f"the rules of {self.name!r} are of {' and '.join(names)}")

    @classmethod
    def from_lines(cls, name: str, text: str, dialect: str | Dialect = "zato") -> Principal:
        """The principal whose rules a text says in Zato's way; raises what ``parse_lines`` raises."""
        return cls(name, parse_lines(text, dialect))

    @classmethod
    def from_data(cls, name: str, data: object, dialect: str | Dialect) -> Principal:
        """The principal whose rules plain data says; raises what ``parse_data`` raises."""
        return cls(name, parse_data(data, dialect))

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the rules; None when there are none."""
        return self.rules[0].pattern.dialect if self.rules else None

    def rules_for(self, operation: Operation) -> list[Rule]:
        """The rules about the operation, in the order in which they are tried: those that deny first."""
        return in_order(rule for rule in self.rules if rule.operation == operation)

    def patterns(self, operation: Operation, effect: Effect) -> list[Pattern]:
        """The patterns of the rules of one kind, in the order in which they are tried."""
        return [rule.pattern for rule in self.rules_for(operation) if rule.effect == effect]
