"""Rules as Zato writes them: one ``pub=…`` or ``sub=…`` on each line."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.access.rule import Operation, Origin, Rule
from pointsman.errors import AccessError, PatternError
from pointsman.patterns import Dialect, Pattern, find_dialect

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
