"""Conditions as plain data, for YAML and JSON."""

from __future__ import annotations

from typing import Any

from pointsman.conditions.metadata import AllOf, AnyOf, Condition, ExactlyOneOf, Negated, NumberComparison
from pointsman.matching.terms.reference import Group, Matcher, Subscription

_EXACT = 2**53


def write_condition(condition: Condition) -> dict[str, Any]:
    """The data that ``read_condition`` makes an equal condition of; what has its default value is left out.

    >>> write_condition(AllOf((Matcher("title", "?eutrino", partial=True), NumberComparison("size", ">", 10))))
    {'and': [{'key': 'title', 'pattern': '?eutrino', 'partial': True}, {'key': 'size', 'number': {'>': 10}}]}
    """
    match condition:
        case AllOf(conditions):
            return {"and": [write_condition(each) for each in conditions]}
        case AnyOf(conditions):
            return {"or": [write_condition(each) for each in conditions]}
        case ExactlyOneOf(conditions):
            return {"xor": [write_condition(each) for each in conditions]}
        case Negated(inner):
            return {"not": write_condition(inner)}
        case Subscription(includes, excludes):
            without = {} if excludes == Group() else {"excludes": _group(excludes)}
            return {"includes": _group(includes), **without}
        case NumberComparison(key, operator, number):
            whole = number.is_integer() and abs(number) < _EXACT
            return {**_key(key), "number": {operator: int(number) if whole else number}}
        case Matcher():
            return _matcher(condition)


def _group(group: Group) -> dict[str, Any]:
    return {**({"all": True} if group.all else {}), "matchers": [_matcher(matcher) for matcher in group.matchers]}


def _matcher(matcher: Matcher) -> dict[str, Any]:
    return {**_key(matcher.key), "pattern": matcher.pattern, **({"partial": True} if matcher.partial else {})}


def _key(key: str | None) -> dict[str, str]:
    return {} if key is None else {"key": key}
