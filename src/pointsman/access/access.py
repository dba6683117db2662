"""Access: the check of one operation on one subject, who may do it, what a principal may do, and narrowing.

Narrowing finds what is left of a subscription after the rules of its owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pointsman.access.rules import Operation, Principal, Rule, check_operation
from pointsman.errors import AccessError, LimitError, SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.patterns import Dialect, Pattern, Subject
from pointsman.patterns.nodes import Literal, Many, wildcards_of

ANY_TEXT = "~"
CACHE_SIZE = 1_000


class PatternList:
    """Patterns of one dialect by their position. Safe between threads."""

    __slots__ = ("_index", "patterns")

    def __init__(self, patterns: Sequence[Pattern], dialect: Dialect) -> None:
        self.patterns = tuple(patterns)
        self._index: SubjectIndex[int] = SubjectIndex(dialect, CACHE_SIZE)
        for position, pattern in enumerate(self.patterns):
            self._index.add(pattern, position)

    def first(self, subject: str) -> int | None:
        """The position of the first pattern that matches; raises ``SubjectError`` for what is no subject."""
        return min(self._index.match(subject), default=None)

    def contains(self, pattern: Pattern) -> bool:
        """Whether one of the patterns contains this one."""
        return next(self.containing(pattern), None) is not None

    def containing(self, pattern: Pattern) -> Iterator[int]:
        """The positions of the patterns that contain this one, in no particular order.

        Whatever contains it matches every subject of it, so only those that match one of them are compared.
        """
        subject = sample(pattern)
        candidates = range(len(self.patterns)) if subject is None else self._index.match(subject)
        return (position for position in candidates if self.patterns[position].contains(pattern))


def widest(patterns: Sequence[Pattern], dialect: Dialect) -> list[Pattern]:
    """The patterns without those that another one contains; of equal ones, the first is kept."""
    every = PatternList(patterns, dialect)
    return [
        pattern
        for position, pattern in enumerate(every.patterns)
        if not any(
            other != position and (other < position or not pattern.contains(every.patterns[other]))
            for other in every.containing(pattern)
        )
    ]


def sample(pattern: Pattern) -> str | None:
    """A subject that the pattern matches; None when none is found without a search.

    >>> sample(Pattern("orders.*.>"))
    'orders.~.~'
    """
    captures = [
        (ANY_TEXT,) if isinstance(node, Many) else ANY_TEXT for node in pattern.nodes for _ in range(wildcards_of(node))
    ]
    text = pattern.fill(tuple(captures))
    try:
        return text if pattern.matches(Subject(text, pattern.dialect)) else None
    except SubjectError:
        return None


def plainly_apart(one: Pattern, other: Pattern) -> bool:
    """Whether the two begin with literal tokens that differ, so that no subject can match both."""
    for mine, yours in zip(one.nodes, other.nodes, strict=False):
        if not isinstance(mine, Literal) or not isinstance(yours, Literal):
            return False
        if mine.text != yours.text:
            return True
    return False


# -- the outcome of narrowing: what is left of a subscription, and what its owner is told


LIMIT = 10_000
"""How many patterns may be made for one subscription, beside those that the rules say themselves."""


def narrow(principal: Principal, pattern: Pattern, *, limit: int = LIMIT) -> Narrowing:
    """What the principal may read of a subscription to the pattern.

    >>> bob = Principal.from_data("bob", {"subscribe": ["orders.*"], "deny": {"subscribe": ["*.secret"]}}, "nats")
    >>> narrow(bob, Pattern("orders.>")).reason
    "the subscription of 'bob' to 'orders.>' is narrowed to 'orders.*', without what '*.secret' matches"

    Exact: a subject is delivered when the pattern matches it and ``Access.check`` allows to subscribe to it. Raises
    ``LimitError`` when it takes more than ``limit`` patterns to say what is left, or too many for the intersection with
    one rule; and ``AccessError`` (``mixed-dialects``) for a pattern of another dialect than the rules.
    """
    return Narrower(principal).narrow(pattern, limit)


class Narrower:
    """The rules of one principal about subscribing, made ready for many subscriptions. Safe between threads."""

    __slots__ = ("_allowing", "_denying", "_principal")

    def __init__(self, principal: Principal) -> None:
        self._principal = principal
        dialect = principal.dialect
        self._allowing = None if dialect is None else PatternList(principal.patterns("subscribe", "allow"), dialect)
        self._denying = None if dialect is None else PatternList(principal.patterns("subscribe", "deny"), dialect)

    def narrow(self, pattern: Pattern, limit: int = LIMIT) -> Narrowing:
        """What the principal may read of a subscription to the pattern; as the function ``narrow``."""
        asked = f"the subscription of {self._principal.name!r} to {pattern.text!r}"
        if self._allowing is None or self._denying is None:
            return nothing_left(pattern, f"{asked} is refused: {self._principal.name!r} has no rules")
        if self._principal.dialect != pattern.dialect:
            problem = f"{pattern.text!r} is of {pattern.dialect}, the rules are of {self._principal.dialect}"
            raise AccessError("mixed-dialects", problem)
        allowed = _allowed(self._allowing, pattern, limit)
        if not allowed:
            return nothing_left(pattern, f"{asked} is refused: no rule allows to read any of it")
        remaining = [each for each in allowed if not self._denying.contains(each)]
        if not remaining:
            return nothing_left(pattern, f"{asked} is refused: all that is allowed of it is denied")
        remaining = widest(remaining, pattern.dialect)
        cutting = _cutting(self._denying.patterns, remaining, pattern)
        return something_left(asked, pattern, remaining, widest(cutting, pattern.dialect))


def _allowed(allowing: PatternList, pattern: Pattern, limit: int) -> list[Pattern]:
    """What the rules allow of the pattern: all of it, or its intersection with each of them."""
    if not pattern.intersects(pattern):
        return []
    if allowing.contains(pattern):
        return [pattern]
    found: list[Pattern] = []
    made = 0
    for each in allowing.patterns:
        if not _meet(each, pattern):
            continue
        if pattern.contains(each):
            found.append(each)
            continue
        common = pattern.intersection(each)
        made += len(common)
        if made > limit:
            problem = f"what is left of {pattern.text!r} takes more than {limit} patterns"
            raise LimitError("intersection-too-large", problem)
        found.extend(sorted(common, key=str))
    return found


def _cutting(denying: Sequence[Pattern], remaining: Sequence[Pattern], pattern: Pattern) -> list[Pattern]:
    """Those that deny a part of what remains. What has no wildcard has no parts: it would not remain."""
    divisible = [each for each in remaining if not each.is_literal]
    return [each for each in denying if _meet(each, pattern) and any(_meet(each, other) for other in divisible)]


def _meet(one: Pattern, other: Pattern) -> bool:
    return not plainly_apart(one, other) and one.intersects(other)


SHOWN = 5
"""How many patterns a sentence names."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What its owner may read of a subscription: what ``patterns`` match and ``denied`` do not."""

    pattern: Pattern
    """What was asked for."""
    patterns: tuple[Pattern, ...]
    """What remains of it, as far as patterns can say it; none of them within another."""
    denied: tuple[Pattern, ...]
    """What is denied of that. No pattern can express a difference, so each delivery has to be checked against them."""
    reason: str
    """A sentence for the one who subscribed."""
    _deciding: PatternList | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def whole(self) -> bool:
        """Whether one rule allows all that was asked for and none denies a part of it: nothing was narrowed.

        False when it takes several rules to allow all of it.
        """
        return self.patterns == (self.pattern,) and not self.denied

    @property
    def nothing(self) -> bool:
        """Whether nothing is left. Not found out when it takes several rules to deny all of it."""
        return not self.patterns

    def delivers(self, subject: str) -> bool:
        """Whether a message of this subject reaches the subscription; False for what is no subject."""
        deciding = self._deciding
        if deciding is None:
            deciding = PatternList((*self.denied, *self.patterns), self.pattern.dialect)
            object.__setattr__(self, "_deciding", deciding)
        try:
            first = deciding.first(subject)
        except SubjectError:
            return False
        return first is not None and first >= len(self.denied)


def nothing_left(pattern: Pattern, reason: str) -> Narrowing:
    """A narrowing that leaves nothing."""
    return Narrowing(pattern, (), (), reason)


def something_left(asked: str, pattern: Pattern, patterns: Sequence[Pattern], denied: Sequence[Pattern]) -> Narrowing:
    """A narrowing to the patterns without what is denied; ``asked`` names the subscription."""
    granted = f"{asked} is granted" if list(patterns) == [pattern] else f"{asked} is narrowed to {_names(patterns)}"
    reason = f"{granted}, without what {_names(denied)} matches" if denied else granted
    return Narrowing(pattern, tuple(patterns), tuple(denied), reason)


def _names(patterns: Sequence[Pattern]) -> str:
    names = ", ".join(repr(pattern.text) for pattern in patterns[:SHOWN])
    more = len(patterns) - SHOWN
    return f"{names} and {more} more" if more > 0 else names


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
