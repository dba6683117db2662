"""Judging one case: what was asked, what should come out, what did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pointsman.conformance.access import judge_check, judge_subscription
from pointsman.conformance.conditions import judge_condition
from pointsman.conformance.files import Case, load_cases
from pointsman.conformance.outcome import Outcome, refuse_faulty_case
from pointsman.errors import InputError, PatternError, PointsmanError, SubjectError
from pointsman.patterns import Pattern, Subject, Template


def judge_file(path: Path) -> Iterator[Outcome]:
    """The verdicts on the cases of a file. Raises ``InputError`` with the file and the number of the case."""
    for number, case in enumerate(load_cases(path), 1):
        try:
            yield judge(case)
        except InputError as error:
            raise InputError(error.code, f"case {number}: {error.problem}", file=str(path)) from None


def judge(case: Case) -> Outcome:
    """The verdict on a case. Raises ``InputError`` (``bad-case``) when it is none that is known, or lacks a field."""
    for field, judge_kind in KINDS.items():
        if field in case:
            try:
                return judge_kind(case)
            except KeyError as error:
                raise InputError("bad-case", f"it lacks the field {error}") from None
    raise InputError("bad-case", f"it is of no known kind; its fields are {', '.join(case) or 'none'}")


def _match(case: Case) -> Outcome:
    """``matches: null``: pattern or subject must be rejected; ``false`` is also met by rejecting the subject."""
    expected = case["matches"]
    got: bool | None
    try:
        pattern = Pattern(case["pattern"], case["dialect"])
        try:
            got = pattern.matches(case["subject"])
            passed = got == expected
        except SubjectError:
            got = None
            passed = expected is None or expected is False
    except PatternError as error:
        refuse_faulty_case(error)
        got = None
        passed = expected is None
    return Outcome(case, expected, got, passed)


def _validation(case: Case) -> Outcome:
    make = {"pattern": Pattern, "subject": Subject}.get(case["kind"])
    if make is None:
        raise InputError("bad-case", f"kind is {case['kind']!r}, neither pattern nor subject")
    try:
        make(case["value"], case["dialect"])
        got = True
    except (PatternError, SubjectError) as error:
        refuse_faulty_case(error)
        got = False
    return Outcome(case, case["valid"], got, got == case["valid"])


def _relation(case: Case) -> Outcome:
    """A pattern that is rejected stands in no relation."""
    relation = RELATIONS.get(case["relation"])
    if relation is None:
        raise InputError("bad-case", f"{case['relation']!r} is no relation; known are {', '.join(RELATIONS)}")
    try:
        got = relation(Pattern(case["a"], case["dialect"]), Pattern(case["b"], case["dialect"]))
    except PatternError as error:
        refuse_faulty_case(error)
        got = False
    return Outcome(case, case["expected"], got, got == case["expected"])


RELATIONS: dict[str, Callable[[Pattern, Pattern], bool]] = {
    "contains": lambda a, b: a.contains(b),
    "intersects": lambda a, b: a.intersects(b),
    "more_specific": lambda a, b: a.specificity < b.specificity,
    "equal": lambda a, b: a == b,
}


def _transform(case: Case) -> Outcome:
    """``output: null``: the transform is refused, or does not apply. NATS reads an empty source as ``>``."""
    got: str | None
    try:
        source = Pattern(case["src"] or ">", case["dialect"])
        got = Template(case["dest"], source).apply(case["input"])
    except PointsmanError as error:
        refuse_faulty_case(error)
        got = None
    return Outcome(case, case["output"], got, got == case["output"])


def _intersection(case: Case) -> Outcome:
    """``output``: the one pattern that the intersection is, or null when it is empty."""
    try:
        found = Pattern(case["a"], case["dialect"]).intersection(Pattern(case["b"], case["dialect"]))
        got = sorted(map(str, found))
    except PatternError as error:
        refuse_faulty_case(error)
        got = []
    expected = [] if case["output"] is None else [case["output"]]
    return Outcome(case, expected, got, got == expected)


KINDS: dict[str, Callable[[Case], Outcome]] = {
    "matches": _match,
    "valid": _validation,
    "relation": _relation,
    "src": _transform,
    "output": _intersection,
    "permissions": judge_check,
    "subscribe_allowed": judge_subscription,
    "kind": judge_condition,
}
"""The field that tells what a case is about, looked for in this order."""
