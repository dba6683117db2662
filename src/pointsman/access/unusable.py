"""Rules that have no effect: access that nobody can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pointsman.access.access import PatternList
from pointsman.access.rules import OPERATIONS, Operation, Principal, Rule
from pointsman.patterns.algebra import is_void

Kind = Literal["matches-nothing", "always-denied"]


@dataclass(frozen=True, slots=True)
class Unusable:
    """One rule without any effect, and why."""

    rule: Rule
    kind: Kind
    denied_by: Rule | None
    """The rule that denies all that this one allows: the first of them, in the order in which they are tried."""
    problem: str


def unusable_rules(principal: Principal) -> list[Unusable]:
    """The rules of the principal that can never have an effect, in the order in which they were given.

    >>> shop = Principal.from_data("shop", {"publish": ["a.b"], "deny": {"publish": ["a.*"]}}, "nats")
    >>> [each.problem for each in unusable_rules(shop)]
    ["allow publish 'a.b' (publish[0]) is of no use: deny publish 'a.*' (deny.publish[0]) denies all of it"]

    They are those whose pattern no subject can match (Zato: one with ``#``, or with white space at an end), and those
    that allow only what one rule about the same operation denies. What it takes several rules to deny is not found.
    """
    denials = {operation: _Denials(principal, operation) for operation in OPERATIONS}
    examined = (_examine(rule, denials[rule.operation]) for rule in principal.rules)
    return [each for each in examined if each is not None]


class _Denials:
    """The rules of a principal that deny an operation."""

    __slots__ = ("_list", "_rules")

    def __init__(self, principal: Principal, operation: Operation) -> None:
        self._rules = [rule for rule in principal.rules_for(operation) if rule.effect == "deny"]
        dialect = principal.dialect
        self._list = None if dialect is None else PatternList([rule.pattern for rule in self._rules], dialect)

    def of(self, rule: Rule) -> Rule | None:
        """The first rule that denies all that this one allows."""
        first = None if self._list is None else min(self._list.containing(rule.pattern), default=None)
        return None if first is None else self._rules[first]


def _examine(rule: Rule, denials: _Denials) -> Unusable | None:
    pattern = rule.pattern
    if is_void(pattern.nodes, pattern.dialect):
        return Unusable(rule, "matches-nothing", None, f"{rule} is of no use: no subject can match its pattern")
    denied_by = denials.of(rule) if rule.effect == "allow" else None
    if denied_by is None:
        return None
    return Unusable(rule, "always-denied", denied_by, f"{rule} is of no use: {denied_by} denies all of it")
