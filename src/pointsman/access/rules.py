"""Rules and principals: who may, or may not, publish and subscribe to what.

Rules are read from plain data, as a routing table writes them, or from lines, as Zato does (``pub=…``, ``sub=…``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, cast, get_args

from pointsman.errors import AccessError, PatternError
from pointsman.patterns import Dialect, Pattern, Specificity, evaluation_key, find_dialect

Operation = Literal["publish", "subscribe"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

Effect = Literal["allow", "deny"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a rule was written: a line and column of a text, or a path into plain data.

    >>> str(Origin(line=3, column=5)), str(Origin(path=("deny", "publish", 0)))
    ('line 3', 'deny.publish[0]')
    """

    path: Path = ()
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}" if self.line is not None else write_path(self.path)


@dataclass(frozen=True, slots=True)
class Rule:
    """What one pattern grants or refuses.

    >>> str(Rule("publish", "deny", Pattern("orders.secret"), Origin(path=("deny", "publish", 0))))
    "deny publish 'orders.secret' (deny.publish[0])"

    Raises ``AccessError`` for an operation or an effect that does not exist.
    """

    operation: Operation
    effect: Effect
    pattern: Pattern
    origin: Origin = Origin()

    def __post_init__(self) -> None:
        check_operation(self.operation)
        if self.effect not in EFFECTS:
            raise AccessError("bad-access-rules", f"a rule is one to allow or to deny, not {self.effect!r}")

    def __str__(self) -> str:
        place = str(self.origin)
        return f"{self.effect} {self.operation} {self.pattern.text!r}{f' ({place})' if place else ''}"


def check_operation(operation: str) -> None:
    """Raises ``AccessError`` (``unknown-operation``) for anything but ``publish`` and ``subscribe``."""
    if operation not in OPERATIONS:
        raise AccessError("unknown-operation", f"{operation!r} is no operation; there are {' and '.join(OPERATIONS)}")


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """The rules in the order in which they are tried: those that deny first, then by their patterns.

    Zato's patterns are tried in Zato's own order, all others the more specific first and then by their text. Rules of
    the same pattern stay as they were given.
    """
    return sorted(rules, key=lambda rule: (rule.effect == "allow", _place(rule.pattern)))


def write_path(path: Path) -> str:
    """The path as one reads it: ``deny.publish[0]``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _place(pattern: Pattern) -> tuple[Specificity | None, str]:
    if pattern.dialect.name == "zato":
        return None, evaluation_key(pattern.text)
    return pattern.specificity, pattern.text


# -- principals: who publishes and subscribes, and by which rules


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


# -- rules as plain data, which is how a routing table writes them


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


# -- rules as Zato writes them: one ``pub=…`` or ``sub=…`` on each line


BLANKS = " \t\r"
SHOWN = 60
"""How much of a line an error shows."""

KEYWORDS: dict[str, Operation] = {"pub": "publish", "sub": "subscribe"}


def parse_lines(text: str, dialect: str | Dialect = "zato") -> tuple[Rule, ...]:
    """The rules of a text, in the order of its lines.

    >>> [str(rule) for rule in parse_lines("pub=orders.*")]
    ["allow publish 'orders.*' (line 1)"]

    Each line is ``pub=`` or ``sub=`` and a pattern, which reaches to the end of the line; empty lines are passed over,
    and so are blanks around the word and around the pattern. Raises ``AccessError`` with line and column for the first
    line that is anything else or whose pattern its dialect does not allow.
    """
    return tuple(_or_raise(read_lines(text, dialect)))


def read_lines(text: str, dialect: str | Dialect = "zato") -> Iterator[Rule | AccessError]:
    """The rules of a text, and in the place of each line that is none the error that says why."""
    chosen = find_dialect(dialect)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip(BLANKS):
            yield _read_line(line.rstrip(BLANKS), number, chosen)


def _read_line(line: str, number: int, dialect: Dialect) -> Rule | AccessError:
    before, sign, after = line.partition("=")
    operation = KEYWORDS.get(before.strip(BLANKS))
    if not sign or operation is None:
        column = len(line) - len(line.lstrip(BLANKS)) + 1
        problem = f"line {number} is {line[:SHOWN]!r}, neither pub=… nor sub=…"
        return AccessError("bad-access-line", problem, text=line, line=number, column=column)
    pattern = after.lstrip(BLANKS)
    start = len(line) - len(pattern)
    try:
        parsed = Pattern(pattern, dialect)
    except PatternError as error:
        column = start + (error.column or 1)
        return AccessError(error.code, f"line {number}: {error.problem}", text=line, line=number, column=column)
    return Rule(operation, "allow", parsed, Origin(line=number, column=start + 1))


def _or_raise(found: Iterator[Rule | AccessError]) -> Iterator[Rule]:
    for each in found:
        if isinstance(each, AccessError):
            raise each
        yield each
