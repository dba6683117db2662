"""The row that each transaction begins with: does it agree with what is in the file?"""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

from pointsman.errors import PointsmanError
from pointsman.patterns.dialect import find_dialect
from pointsman.store import statements
from pointsman.store.doctor import questions
from pointsman.store.doctor.finding import Findings
from pointsman.store.doctor.reading import Asked
from pointsman.store.transaction import SECOND

DAY = 24 * 3600 * SECOND
FURTHEST = 2_000_000_000 * SECOND
"""No lease and no delay is longer."""


class Control(NamedTuple):
    """What the row says."""

    file: str
    dialect: str
    commits: int
    sequence: int
    time: int
    shift: int
    unfinished: int
    listed: int
    """The deliveries of messages above this number are not listed yet: they are to be taken from the queue itself."""

    @property
    def latest(self) -> int:
        """No delivery can be due after this."""
        return self.time + FURTHEST


def read_control(connection: Asked) -> Control | None:
    """The row; None if it is not there, or is not what it should be."""
    try:
        file, dialect = next(iter(connection.execute(statements.CONTROL_FILE)))
        commits, sequence, time, shift, unfinished, *_, listed = _row(connection)
        find_dialect(dialect)
    except (apsw.Error, UnicodeDecodeError, StopIteration, PointsmanError, ValueError):
        return None
    numbers = (commits, sequence, time, shift, unfinished, listed)
    if not all(isinstance(number, int) for number in numbers) or not isinstance(file, str):
        return None
    return Control(file, dialect, *numbers)


def _row(connection: Asked) -> tuple[Any, ...]:
    """With what was put since it was written, or alone if the last message cannot be read. Raises as SQLite does."""
    try:
        row: tuple[Any, ...] = next(iter(connection.execute(statements.CONTROL_READ)))
    except apsw.Error:
        row = next(iter(connection.execute(questions.CONTROL_ALONE)))
    return row


def check_control(control: Control, unfinished: int, now: float, findings: Findings) -> None:
    """Compares it with what was counted."""
    if control.unfinished != unfinished:
        detail = f"{control.unfinished:,} are noted, {unfinished:,} counted"
        findings.add("wrong-unfinished", detail=detail, count=abs(control.unfinished - unfinished))
    ahead = control.time - control.shift - int(now * SECOND)
    if ahead > DAY:
        findings.add("time-ahead", detail=f"by {ahead / DAY:,.1f} days")
