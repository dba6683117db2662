"""A field of a message, or of an answer, named by a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pointsman.conditions import Predicate
from pointsman.conditions.body import walk
from pointsman.conditions.compile import compile_field
from pointsman.errors import InputError
from pointsman.message import Message


def field_of_message(text: str) -> Callable[[Message], str | None]:
    """The value of a field, written as in a predicate (``metadata['customer']``, ``body.order.id``), as text.

    None when it is not there, or is a list or a mapping. Raises ``PredicateError`` and ``InputError`` (``bad-table``).
    """
    fields = Predicate(f"({text}) IS NOT NULL").fields
    if len(fields) != 1:
        raise InputError("bad-table", f"{text!r} is not one field")
    read = compile_field(next(iter(fields)))

    def value(message: Message) -> str | None:
        found = read(message, [])
        if isinstance(found, bool):
            return "true" if found else "false"
        return None if found is None or isinstance(found, list | dict) else str(found)

    return value


def field_of_answer(path: str) -> Callable[[object], object]:
    """The value at a path of an answer: ``price.amount``, ``offers.0.price``."""
    steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))

    def value(answer: object) -> Any:
        return walk(answer, steps)

    return value
