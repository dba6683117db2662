"""Rules as plain data, which is how a routing table writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import cast

from pointsman.access.rule import OPERATIONS, Effect, Operation, Origin, Path, Rule, write_path
from pointsman.errors import AccessError, PatternError
from pointsman.patterns import Dialect, Pattern, find_dialect

DENY = "deny"


def parse_data(data: object, dialect: str | Dialect) -> tuple[Rule, ...]:
    """The rules of plain data: lists of patterns under ``publish`` and ``subscribe``, and the same under ``deny``.

    >>> [str(rule) for rule in parse_data({"publish": ["a.>"], "deny": {"publish": ["a.secret"]}}, "nats")]
    ["allow publish 'a.>' (publish[0])", "deny publish 'a.secret' (deny.publish[0])"]

    Each part may be left out. Raises ``AccessError`` for the first mistake, with the ``path`` that leads to it.
    """
    rules = []
    for each in read_data(data, dialect):
        if isinstance(each, AccessError):
            raise each
        rules.append(each)
    return tuple(rules)


def read_data(data: object, dialect: str | Dialect) -> Iterator[Rule | AccessError]:
    """The rules of plain data, and in the place of each mistake the error that says what it is."""
    return _read_part(data, (), "allow", find_dialect(dialect))


def _read_part(data: object, path: Path, effect: Effect, dialect: Dialect) -> Iterator[Rule | AccessError]:
    known = OPERATIONS if path else (*OPERATIONS, DENY)
    if not isinstance(data, Mapping):
        yield _mistake(path, f"is {_kind(data)}, not a mapping of {', '.join(known)}")
        return
    for key, value in data.items():
        if key not in known:
            close = get_close_matches(key, known, n=1) if isinstance(key, str) else []
            meant = f"; did you mean {close[0]!r}?" if close else ""
            yield _mistake(path, f"holds {key!r}, which is none of {', '.join(known)}{meant}")
        elif key == DENY:
            yield from _read_part(value, (DENY,), "deny", dialect)
        else:
            yield from _read_list(value, (*path, key), effect, dialect)


def _read_list(value: object, path: Path, effect: Effect, dialect: Dialect) -> Iterator[Rule | AccessError]:
    if not isinstance(value, list | tuple):
        yield _mistake(path, f"is {_kind(value)}, not a list of patterns")
        return
    operation = cast(Operation, path[-1])
    for index, text in enumerate(value):
        place = (*path, index)
        try:
            yield Rule(operation, effect, Pattern(text, dialect), Origin(path=place))
        except PatternError as error:
            problem = f"{write_path(place)}: {error.problem}"
            yield AccessError(error.code, problem, text=error.text, column=error.column, path=place)


def _mistake(path: Path, problem: str) -> AccessError:
    return AccessError("bad-access-rules", f"{write_path(path) or 'the access of a principal'} {problem}", path=path)


def _kind(value: object) -> str:
    return "nothing" if value is None else f"of the type {type(value).__name__}"
