"""What judging a case gives, and what is the case's own fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pointsman.conformance.files import Case
from pointsman.errors import InputError, PointsmanError


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one case."""

    case: Case
    expected: Any
    got: Any
    passed: bool


def refuse_faulty_case(error: PointsmanError) -> None:
    """A misspelt dialect is the case's fault and no rejection: raises ``InputError`` (``bad-case``) for it."""
    if error.code in ("unknown-dialect", "not-text"):
        raise InputError("bad-case", error.problem) from None
