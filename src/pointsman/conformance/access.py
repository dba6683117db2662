"""Judging cases about access: what a principal may do, and what a subscription of its is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pointsman.access import OPERATIONS, Access, Operation, Principal, Rule
from pointsman.access.rules import Effect
from pointsman.conformance.files import Case
from pointsman.conformance.outcome import Outcome, refuse_faulty_case
from pointsman.errors import InputError, PatternError
from pointsman.patterns import Dialect, Pattern, find_dialect

NAME = "the principal"

ROLES: dict[str, tuple[Operation, ...]] = {
    "publisher": ("publish",),
    "subscriber": ("subscribe",),
    "publisher-subscriber": ("publish", "subscribe"),
}


def judge_check(case: Case) -> Outcome:
    """``matched_pattern``: the pattern that decided, as its dialect compares it, or null when none did.

    A pattern that is rejected grants nothing; a subject that is rejected is refused.
    """
    operation, subject, dialect = case["operation"], case["subject"], _dialect(case["dialect"])
    if operation not in OPERATIONS:
        raise InputError("bad-case", f"{operation!r} is no operation; known are {', '.join(OPERATIONS)}")
    if not isinstance(subject, str):
        raise InputError("bad-case", f"the subject is {subject!r}, which is no text")
    rules = [
        Rule(granted, "allow", pattern)
        for text, role in _permissions(case["permissions"])
        for pattern in _patterns([text], dialect)
        for granted in ROLES[role]
    ]
    verdict = Access([Principal(NAME, tuple(rules))]).check(NAME, operation, subject)
    decided = None if verdict.rule is None else dialect.fold(verdict.rule.pattern.text)
    got = {"allowed": verdict.allowed, "matched_pattern": decided}
    expected = {"allowed": case["allowed"], "matched_pattern": case.get("matched_pattern", decided)}
    return Outcome(case, expected, got, got == expected)


def judge_subscription(case: Case) -> Outcome:
    """A subscription is allowed when something is left of it; then what is ``delivered``, and ``not_delivered``.

    A pattern that is rejected grants and denies nothing, and a subscription that is rejected is not allowed.
    """
    dialect = _dialect(case["dialect"])
    rules = [*_rules(case["allow"], "allow", dialect), *_rules(case.get("deny", []), "deny", dialect)]
    delivered, not_delivered = (_texts(case.get(field, []), field) for field in ("delivered", "not_delivered"))
    expected = {"subscribe_allowed": case["subscribe_allowed"], "delivered": delivered, "not_delivered": not_delivered}
    asked = _patterns([case["subscribe"]], dialect)
    narrowings = [Access([Principal(NAME, tuple(rules))]).narrow(NAME, pattern) for pattern in asked]
    subjects = [*delivered, *not_delivered]
    received = [subject for subject in subjects if any(each.delivers(subject) for each in narrowings)]
    got = {
        "subscribe_allowed": not all(each.nothing for each in narrowings),
        "delivered": received,
        "not_delivered": [subject for subject in subjects if subject not in received],
    }
    return Outcome(case, expected, got, got == expected)


def _permissions(permissions: object) -> Iterator[tuple[str, str]]:
    if not isinstance(permissions, list):
        raise InputError("bad-case", "the permissions are not a list")
    for each in permissions:
        match each:
            case [str() as text, str() as role] if role in ROLES:
                yield text, role
            case _:
                raise InputError("bad-case", f"{each!r} is no pair of a pattern and one of {', '.join(ROLES)}")


def _rules(texts: object, effect: Effect, dialect: Dialect) -> Iterator[Rule]:
    return (Rule("subscribe", effect, pattern) for pattern in _patterns(_texts(texts, effect), dialect))


def _texts(texts: object, field: str) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError("bad-case", f"{field!r} is not a list of texts")
    return texts


def _dialect(name: str) -> Dialect:
    try:
        return find_dialect(name)
    except PatternError as error:
        raise InputError("bad-case", error.problem) from None


def _patterns(texts: Iterable[str], dialect: Dialect) -> Iterator[Pattern]:
    """The patterns of those texts that are not rejected."""
    for text in texts:
        try:
            yield Pattern(text, dialect)
        except PatternError as error:
            refuse_faulty_case(error)
