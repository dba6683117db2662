"""Who may do what: the check of one operation on one subject, and the two questions behind lists of access."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pointsman.access.narrow import Narrower
from pointsman.access.narrowing import Narrowing, nothing_left
from pointsman.access.pattern_list import PatternList
from pointsman.access.principal import Principal
from pointsman.access.rule import Operation, Rule, check_operation
from pointsman.errors import AccessError, SubjectError
from pointsman.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is allowed, the rule that decided (None when none did), and a sentence that says so."""

    allowed: bool
    rule: Rule | None
    reason: str


class Access:
    """The rules of all principals.

    >>> access = Access([Principal.from_lines("shop", "pub=orders.*")])
    >>> access.check("shop", "publish", "orders.new").reason
    "'shop' may publish to 'orders.new': allow publish 'orders.*' (line 1)"

    Raises ``AccessError`` (``duplicate-principal``) when two have one name. Never changes; safe between threads. The
    rules about an operation are indexed when it is first asked for, so a check does not try them one by one.
    """

    __slots__ = ("_deciders", "_narrowers", "principals")

    principals: Mapping[str, Principal]
    """By their names, in the order given."""

    def __init__(self, principals: Iterable[Principal]) -> None:
        by_name: dict[str, Principal] = {}
        for principal in principals:
            if principal.name in by_name:
                raise AccessError("duplicate-principal", f"there are two principals {principal.name!r}")
            by_name[principal.name] = principal
        self.principals = MappingProxyType(by_name)
        self._deciders: dict[tuple[str, Operation], _Decider] = {}
        self._narrowers: dict[str, Narrower] = {}

    def check(self, principal: str, operation: Operation, subject: str) -> Verdict:
        """Whether the principal may do this with the subject.

        Refused are an unknown principal, what a rule denies, what no rule allows, and a text that is no subject of the
        dialect of the rules. Of several rules that match, one that denies decides before any that allows, and then the
        first in the order of ``in_order``. Raises ``AccessError`` (``unknown-operation``) for any other operation.
        """
        decider = self._deciders.get((principal, operation)) or self._prepare(principal, operation)
        return Verdict(False, None, _unknown(principal)) if decider is None else decider.decide(subject)

    def narrow(self, principal: str, pattern: Pattern) -> Narrowing:
        """What the principal may read of a subscription to the pattern; nothing if it is unknown.

        Raises what the function ``narrow`` raises.
        """
        narrower = self._narrowers.get(principal)
        if narrower is None:
            found = self.principals.get(principal)
            if found is None:
                return nothing_left(pattern, _unknown(principal))
            narrower = self._narrowers[principal] = Narrower(found)
        return narrower.narrow(pattern)

    def topics_for(self, principal: str, operation: Operation, topics: Iterable[str]) -> list[str]:
        """Those of the topics that the principal may use, in their order; none for an unknown principal."""
        return [topic for topic in topics if self.check(principal, operation, topic).allowed]

    def principals_for(self, operation: Operation, topic: str) -> list[str]:
        """The names of the principals that may use the topic, in their order."""
        return [name for name in self.principals if self.check(name, operation, topic).allowed]

    def _prepare(self, principal: str, operation: Operation) -> _Decider | None:
        check_operation(operation)
        found = self.principals.get(principal)
        if found is None:
            return None
        decider = _Decider(found, operation)
        self._deciders[principal, operation] = decider
        return decider


class _Decider:
    """The rules of one principal about one operation."""

    __slots__ = ("_list", "_may", "_may_not", "_operation", "_rules", "_written")

    def __init__(self, principal: Principal, operation: Operation) -> None:
        self._operation = operation
        self._may = f"{principal.name!r} may {operation} to"
        self._may_not = f"{principal.name!r} may not {operation} to"
        self._rules = principal.rules_for(operation)
        self._written = [str(rule) for rule in self._rules]
        dialect = principal.dialect
        self._list = None if dialect is None else PatternList([rule.pattern for rule in self._rules], dialect)

    def decide(self, subject: str) -> Verdict:
        if self._list is None:
            return self._refuse(subject, "it has no rules")
        try:
            first = self._list.first(subject)
        except SubjectError as error:
            return self._refuse(subject, f"it is no subject, {error.problem}")
        if first is None:
            return self._refuse(subject, self._no_rule())
        rule = self._rules[first]
        if rule.effect == "deny":
            return self._refuse(subject, self._written[first], rule)
        return Verdict(True, rule, f"{self._may} {subject!r}: {self._written[first]}")

    def _no_rule(self) -> str:
        if not self._rules:
            return f"it has no {self._operation} rules"
        if len(self._rules) == 1:
            return f"its only {self._operation} rule, {self._written[0]}, does not match"
        return f"none of its {len(self._rules)} {self._operation} rules matches"

    def _refuse(self, subject: str, why: str, rule: Rule | None = None) -> Verdict:
        return Verdict(False, rule, f"{self._may_not} {subject!r}: {why}")


def _unknown(principal: str) -> str:
    return f"there is no principal {principal!r}"
