"""What is wrong with the patterns of a column."""

from __future__ import annotations

from pointsman.errors import PatternError
from pointsman.matching.columns import Texts
from pointsman.patterns import Dialect, Pattern


class InvalidPatternsError(PatternError):
    """Some patterns of a column are invalid; ``failures`` has the position and the error of every one."""

    def __init__(self, failures: list[tuple[int, PatternError]]) -> None:
        self.failures = failures
        position, first = failures[0]
        more = f" (and {len(failures) - 1} more invalid patterns)" if len(failures) > 1 else ""
        problem = f"pattern {position}: {first.problem}{more}"
        super().__init__(first.code, problem, text=first.text, column=first.column)


def failure_of(rows: Texts, row: int, dialect: Dialect | None) -> PatternError:
    """Why the pattern in this row is invalid, in the words of ``Pattern`` itself; no dialect is one not chosen."""
    if not rows.present[row]:
        return PatternError("not-text", "it is null")
    try:
        Pattern(rows.text(row), dialect)
    except PatternError as error:
        return error
    raise AssertionError(f"{rows.text(row)!r} is a pattern of {dialect} after all")
