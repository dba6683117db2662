"""Conditions as plain data, as YAML and JSON hold it: read, checked piece by piece, and written.

Each error names the place inside the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pointsman.conditions.metadata import AllOf, AnyOf, Condition, ExactlyOneOf, Negated, NumberComparison
from pointsman.conditions.nodes import Operator
from pointsman.errors import InputError
from pointsman.matching.terms.glob import ANY_NUMBER, ANY_ONE
from pointsman.matching.terms.reference import Group, Matcher, Subscription


def wrong(path: str, problem: str) -> InputError:
    """The error at a path inside the data; the empty path is all of it."""
    return InputError("bad-condition", f"{path or 'the condition'}: {problem}", text=path)


def checked_text(value: object, path: str, wanted: str) -> str:
    """The value if it is a text that UTF-8 can write."""
    if not isinstance(value, str):
        raise wrong(path, f"{wanted}, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong(path, "the text holds a lone surrogate, which UTF-8 cannot write") from None
    return str(value)


def checked_flag(fields: Mapping[str, Any], name: str, path: str) -> bool:
    """The field of the name, which is true or false; false if it is left out."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise wrong(below(path, name), f"true or false, not {type(value).__name__}")
    return value


def checked_mapping(data: object, path: str) -> Mapping[str, Any]:
    """The data if it is an object."""
    if not isinstance(data, Mapping):
        raise wrong(path, f"an object with fields, not {type(data).__name__}")
    return data


def checked_list(data: object, path: str) -> list[Any] | tuple[Any, ...]:
    """The data if it is a list."""
    if not isinstance(data, list | tuple):
        raise wrong(path, f"a list, not {type(data).__name__}")
    return data


def check_fields(fields: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    """No field may have another name than these."""
    for name in fields:
        if name not in known:
            raise wrong(below(path, str(name)), f"there is no such field beside {', '.join(known)}")


def below(path: str, name: str) -> str:
    """The path of a field."""
    return f"{path}.{name}" if path else name


MAX_NESTING = 32
"""How deep conditions may be nested."""
MAX_CONDITIONS = 10_000
"""How many conditions and matchers there may be in all."""
MAX_WILD_BYTES = 1024
"""Bytes of a pattern with wildcards: as many as the index of terms takes."""

_FORMS = (
    ("and",),
    ("or",),
    ("xor",),
    ("not",),
    ("includes", "excludes"),
    ("number", "key"),
    ("pattern", "key", "partial"),
)
"""The fields of each kind of condition; the first of them tells the kind."""
_LISTS: dict[str, Callable[[tuple[Condition, ...]], Condition]] = {"and": AllOf, "or": AnyOf, "xor": ExactlyOneOf}

_OPERATORS: dict[str, Operator] = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_EXACT = 2**53

Made = TypeVar("Made")


def read_condition(data: object) -> Condition:
    """The condition that the data describes; the forms are in ``docs/conditions.md``.

    Raises ``InputError`` (``bad-condition``) that names the place inside the data, which is also its ``text``.

    >>> read_condition({"and": [{"key": "size", "number": {">": 10}}, {"not": {"key": 5, "pattern": "a*"}}]})
    Traceback (most recent call last):
        ...
    pointsman.errors.InputError: [bad-condition] and[1].not.key: a text or null, not int
    """
    return _Reader().condition(data, "", 1)


class _Reader:
    """Reads one condition and counts what it is made of."""

    def __init__(self) -> None:
        self.count = 0

    def condition(self, data: object, path: str, depth: int) -> Condition:
        self._count(path)
        if depth > MAX_NESTING:
            raise wrong(path, f"conditions are nested more than {MAX_NESTING} deep")
        fields = checked_mapping(data, path)
        form = next((form for form in _FORMS if form[0] in fields), None)
        if form is None:
            raise wrong(path, f"a condition has one of {', '.join(form[0] for form in _FORMS)}")
        check_fields(fields, form, path)
        match form[0]:
            case "not":
                return Negated(self.condition(fields["not"], below(path, "not"), depth + 1))
            case "includes":
                return self._subscription(fields, path)
            case "number":
                return _number(fields, path)
            case "pattern":
                return _matcher(fields, path)
            case name:
                path = below(path, name)
                parts = checked_list(fields[name], path)
                read = tuple(self.condition(part, f"{path}[{place}]", depth + 1) for place, part in enumerate(parts))
                return _made(path, lambda: _LISTS[name](read))

    def _subscription(self, fields: Mapping[str, Any], path: str) -> Subscription:
        includes = self._group(fields["includes"], below(path, "includes"))
        if not includes.matchers:
            raise wrong(below(path, "includes.matchers"), "a subscription must include something")
        excludes = self._group(fields["excludes"], below(path, "excludes")) if "excludes" in fields else Group()
        return Subscription(includes, excludes)

    def _group(self, data: object, path: str) -> Group:
        fields = checked_mapping(data, path)
        check_fields(fields, ("all", "matchers"), path)
        if "matchers" not in fields:
            raise wrong(path, "a group has matchers")
        matchers = []
        for place, part in enumerate(checked_list(fields["matchers"], below(path, "matchers"))):
            own = f"{below(path, 'matchers')}[{place}]"
            self._count(own)
            matchers.append(_matcher(checked_mapping(part, own), own))
        return Group(checked_flag(fields, "all", path), tuple(matchers))

    def _count(self, path: str) -> None:
        self.count += 1
        if self.count > MAX_CONDITIONS:
            raise wrong(path, f"there are more than {MAX_CONDITIONS} conditions")


def _matcher(fields: Mapping[str, Any], path: str) -> Matcher:
    check_fields(fields, ("key", "pattern", "partial"), path)
    if "pattern" not in fields:
        raise wrong(path, "a matcher has a pattern")
    pattern = checked_text(fields["pattern"], below(path, "pattern"), "a text")
    if (ANY_NUMBER in pattern or ANY_ONE in pattern) and len(pattern.encode()) > MAX_WILD_BYTES:
        raise wrong(below(path, "pattern"), f"a pattern with wildcards has up to {MAX_WILD_BYTES} bytes")
    return Matcher(_key(fields, path), pattern, checked_flag(fields, "partial", path))


def _number(fields: Mapping[str, Any], path: str) -> NumberComparison:
    key = _key(fields, path)
    path = below(path, "number")
    comparison = checked_mapping(fields["number"], path)
    if len(comparison) != 1:
        raise wrong(path, f"one operator with its number, not {len(comparison)}")
    ((sign, number),) = comparison.items()
    if sign not in _OPERATORS:
        raise wrong(path, f"{sign!r} is no operator; there are {', '.join(_OPERATORS)}")
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise wrong(f"{path}.{sign}", f"a number, not {type(number).__name__}")
    return _made(f"{path}.{sign}", lambda: NumberComparison(key, _OPERATORS[sign], number))


def _made(path: str, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except InputError as error:
        raise wrong(path, error.problem) from None


def _key(fields: Mapping[str, Any], path: str) -> str | None:
    key = fields.get("key")
    return None if key is None else checked_text(key, below(path, "key"), "a text or null")


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
            without = {} if excludes == Group() else {"excludes": _group_data(excludes)}
            return {"includes": _group_data(includes), **without}
        case NumberComparison(key, operator, number):
            whole = number.is_integer() and abs(number) < _EXACT
            return {**_key_data(key), "number": {operator: int(number) if whole else number}}
        case Matcher():
            return _matcher_data(condition)


def _group_data(group: Group) -> dict[str, Any]:
    return {**({"all": True} if group.all else {}), "matchers": [_matcher_data(matcher) for matcher in group.matchers]}


def _matcher_data(matcher: Matcher) -> dict[str, Any]:
    return {**_key_data(matcher.key), "pattern": matcher.pattern, **({"partial": True} if matcher.partial else {})}


def _key_data(key: str | None) -> dict[str, str]:
    return {} if key is None else {"key": key}
