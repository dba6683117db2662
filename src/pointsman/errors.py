"""Every error a user can meet, in one tree.

    PointsmanError
    ├── SubjectError     (ValueError)   a subject its dialect does not allow
    ├── PatternError     (ValueError)   a pattern its dialect does not allow
    ├── TemplateError    (ValueError)   a translation template that cannot work
    ├── NamingError      (ValueError)   a subject outside its naming standard
    ├── ConversionError  (ValueError)   a subject another dialect cannot carry
    ├── MessageError     (ValueError)   a message that is not one
    ├── PredicateError   (ValueError)   a predicate that cannot be read
    ├── LimitError       (ValueError)   an answer that would be larger than its limit
    ├── RoutingError     (ValueError)   a message that its strategy can do nothing with
    ├── AccessError      (ValueError)   access rules that cannot be used
    ├── InputError       (ValueError)   a file or an argument that cannot be used
    ├── TableError       (ValueError)   a routing table that cannot be used, with all of its mistakes
    ├── StoreError       (OSError)      a queue's file, or what is asked of it, that cannot be
    └── MissingExtraError (ImportError) an optional part that is not installed

Each error has a ``code`` from the catalogue in ``error_codes.py``, a ``problem`` (what is wrong), where it is
(``text`` and ``column``, or ``file``, ``line`` and ``column``) and ``help`` (what to do).
"""

from __future__ import annotations

from collections.abc import Sequence

from pointsman.error_codes import CATALOGUE


class PointsmanError(Exception):
    """The root of the tree. Catch it to catch everything that is the input's fault and not the program's."""

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        text: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem
        self.help = CATALOGUE[code].help
        self.text = text
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = self.place
        return f"[{self.code}] {place + ': ' if place else ''}{self.problem}"

    @property
    def place(self) -> str:
        """Where it is, as an editor understands it: ``file:line:column``, or ``column N``, or nothing.

        >>> SubjectError("empty-token", "token 2 is empty", text="a..b", column=3).place
        'column 3'
        """
        if self.file is not None:
            return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return "" if self.column is None else f"column {self.column}"

    def as_dict(self) -> dict[str, str | int]:
        """The error for a machine; what is not known is left out."""
        known = {
            "code": self.code,
            "problem": self.problem,
            "help": self.help,
            "text": self.text,
            "file": self.file,
            "line": self.line,
            "column": self.column,
        }
        return {key: value for key, value in known.items() if value is not None}


class SubjectError(PointsmanError, ValueError):
    """A subject its dialect does not allow."""


class PatternError(PointsmanError, ValueError):
    """A pattern its dialect does not allow."""


class TemplateError(PointsmanError, ValueError):
    """A translation template that cannot work with its pattern."""


class NamingError(PointsmanError, ValueError):
    """A subject, or parts of one, outside the naming standard."""


class ConversionError(PointsmanError, ValueError):
    """A subject that another dialect cannot carry."""


class MessageError(PointsmanError, ValueError):
    """A message, or a text that should hold one, that is not one."""


class PredicateError(PointsmanError, ValueError):
    """An SQL predicate over messages that cannot be read."""


class LimitError(PointsmanError, ValueError):
    """An answer that would be larger than the limit given."""


class AccessError(PointsmanError, ValueError):
    """Access rules that cannot be used; ``path`` leads to the mistake where they are plain data."""

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        text: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: tuple[str | int, ...] = (),
    ) -> None:
        super().__init__(code, problem, text=text, line=line, column=column)
        self.path = path


class RoutingError(PointsmanError, ValueError):
    """A message, or the destinations for it, that a routing strategy can do nothing with."""


class InputError(PointsmanError, ValueError):
    """A file or an argument from outside that cannot be used."""


class TableError(PointsmanError, ValueError):
    """A routing table that cannot be used; ``failures`` are all of its mistakes, in the order of their places."""

    def __init__(self, failures: Sequence[PointsmanError]) -> None:
        first = failures[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        super().__init__(
            first.code, f"{first.problem}{more}", text=first.text, file=first.file, line=first.line, column=first.column
        )
        self.failures = tuple(failures)


class StoreError(PointsmanError, OSError):
    """A queue's file that cannot be used, or something that cannot be done with it as it is now."""


class MissingExtraError(PointsmanError, ImportError):
    """An optional part of Pointsman that is not installed."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(
            "missing-extra",
            f'the package {package!r} is not installed; pip install "pointsman[{extra}]" brings it',
        )
