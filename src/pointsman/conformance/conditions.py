"""Judging cases about metadata conditions: lexemes, matchers, and includes and excludes groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pointsman.conditions import Group, Matcher
from pointsman.conformance.files import Case
from pointsman.conformance.outcome import Outcome
from pointsman.errors import InputError
from pointsman.matching.terms.lexemes import lexemes
from pointsman.matching.terms.reference import enough


def judge_condition(case: Case) -> Outcome:
    """The verdict on a case whose ``kind`` is lexemes, matcher or groups; another is bad input (``bad-case``)."""
    judge_kind = _KINDS.get(str(case["kind"]))
    if judge_kind is None:
        raise InputError("bad-case", f"kind is {case['kind']!r}; known are {', '.join(_KINDS)}")
    return judge_kind(case)


def _lexemes(case: Case) -> Outcome:
    got = lexemes(_checked(case, "input", str))
    return Outcome(case, case["lexemes"], got, got == case["lexemes"])


def _matcher(case: Case) -> Outcome:
    """A ``key`` of null is any key, a ``value`` of null a message without the key."""
    matcher = _read_matcher(case)
    value = None if case["value"] is None else _checked(case, "value", str)
    got = value is not None and matcher.holds({matcher.key or "": value})
    return Outcome(case, case["expected"], got, got is case["expected"])


def _groups(case: Case) -> Outcome:
    """A group has its count of matchers and of those that hold, or its matchers, for the ``metadata`` of the case."""
    got = _group_holds(case, "includes") and not ("excludes" in case and _group_holds(case, "excludes"))
    return Outcome(case, case["expected"], got, got is case["expected"])


def _group_holds(case: Case, name: str) -> bool:
    group = _checked(case, name, dict)
    every = _checked(group, "all", bool)
    if "matchers" in group:
        matchers = tuple(_read_matcher(each) for each in _checked(group, "matchers", list))
        return Group(every, matchers).holds(_checked(case, "metadata", dict))
    return enough(every, _checked(group, "matched", int), _checked(group, "total", int))


def _read_matcher(case: Case) -> Matcher:
    key = None if case.get("key") is None else _checked(case, "key", str)
    partial = _checked(case, "partial", bool) if "partial" in case else False
    return Matcher(key, _checked(case, "pattern", str), partial)


def _checked(case: Case, name: str, kind: type) -> Any:
    value = case[name]
    if not isinstance(value, kind):
        raise InputError("bad-case", f"{name} is {type(value).__name__}, not {kind.__name__}")
    return value


_KINDS: dict[str, Callable[[Case], Outcome]] = {"lexemes": _lexemes, "matcher": _matcher, "groups": _groups}
