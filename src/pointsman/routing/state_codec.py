"""Reading states back from plain data: what ``json.loads`` returns, and nothing else.

Every state has a ``kind`` such as ``saga/1``, so that no state is taken for one of another strategy or version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeGuard, TypeVar

from pointsman.errors import InputError

LENGTH = 40


def shown(value: object) -> str:
    """The value if it is a text, a number, true, false or nothing, cut where it is long; otherwise its type.

    >>> shown("x"), shown(10**9999), shown([[1]])
    ("'x'", 'a number of many digits', 'a value of the type list')
    """
    if isinstance(value, int) and value.bit_length() > LENGTH:
        return "a number of many digits"
    if isinstance(value, str):
        return repr(value) if len(value) <= LENGTH else f"{value[:LENGTH]!r}…"
    return (
        repr(value)
        if value is None or isinstance(value, int | float)
        else f"a value of the type {type(value).__name__}"
    )


Value = TypeVar("Value")


def bad_state(problem: str) -> InputError:
    """The error for data that is no state."""
    return InputError("bad-state", problem)


class Fields:
    """The fields of one JSON object, read one by one; each must be there and be what is asked for.

    Raises ``InputError`` (``bad-state``) that names the field and what it should be. ``end`` refuses what was not read.
    """

    __slots__ = ("_left", "what")

    what: str

    def __init__(self, data: object, kind: str) -> None:
        self.what = f"the state {kind}"
        if not isinstance(data, dict):
            raise bad_state(f"{self.what} is {shown(data)} where an object should be")
        self._left = dict(data)
        if self.text("kind") != kind:
            raise bad_state(f"{self.what} is expected, and the data says {shown(data['kind'])}")

    def text(self, name: str) -> str:
        """A text."""
        value = self._take(name)
        # What it is is looked at first: to say where it stands costs more than to read it.
        return value if type(value) is str else as_text(value, f"{self.what}: {name}")

    def text_or_none(self, name: str) -> str | None:
        """A text or null."""
        value = self._take(name)
        return None if value is None else as_text(value, f"{self.what}: {name}")

    def whole(self, name: str) -> int:
        """A whole number from 0."""
        value = self._take(name)
        return value if type(value) is int and value >= 0 else as_whole(value, f"{self.what}: {name}")

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._take(name)
        if not isinstance(value, bool):
            raise bad_state(f"{self.what}: {name} is {shown(value)} where true or false should be")
        return value

    def seconds(self, name: str) -> float:
        """A time: any finite number."""
        value = self._take(name)
        return value if is_finite_number(value) else as_seconds(value, f"{self.what}: {name}")

    def items(self, name: str, read: Callable[[object, str], Value]) -> tuple[Value, ...]:
        """A list, each item of it read by ``read(item, where)``."""
        value = self._take(name)
        return () if value == [] else as_items(value, f"{self.what}: {name}", read)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._take(name)
        if type(value) is list and all(type(item) is str for item in value):
            return tuple(value)
        return as_items(value, f"{self.what}: {name}", as_text)

    def end(self) -> None:
        """Raises if a field was not read."""
        if self._left:
            raise bad_state(f"{self.what} has no field {shown(next(iter(self._left)))}")

    def _take(self, name: str) -> object:
        try:
            return self._left.pop(name)
        except KeyError:
            raise bad_state(f"{self.what} lacks the field {name!r}") from None


def as_text(value: object, where: str) -> str:
    """The text that the value is."""
    if not isinstance(value, str):
        raise bad_state(f"{where} is {shown(value)} where a text should be")
    return value


def as_whole(value: object, where: str, minimum: int | None = 0) -> int:
    """The whole number that the value is, from the minimum on if there is one."""
    if not is_whole(value) or (minimum is not None and value < minimum):
        least = "" if minimum is None else f" from {minimum}"
        raise bad_state(f"{where} is {shown(value)} where a whole number{least} should be")
    return value


def as_seconds(value: object, where: str) -> float:
    """The time that the value is."""
    if not is_finite_number(value):
        raise bad_state(f"{where} is {shown(value)} where a finite number should be")
    return value


def as_items(value: object, where: str, read: Callable[[object, str], Value]) -> tuple[Value, ...]:
    """The items of the list that the value is."""
    if not isinstance(value, list):
        raise bad_state(f"{where} is {shown(value)} where a list should be")
    return tuple(read(item, f"{where}[{number}]") for number, item in enumerate(value))


def as_row(value: object, where: str, length: int) -> list[object]:
    """The list of so many items that the value is."""
    if not isinstance(value, list) or len(value) != length:
        raise bad_state(f"{where} is {shown(value)} where a list of {length} should be")
    return value


def is_whole(value: object) -> TypeGuard[int]:
    """Whether the value is a whole number, which a truth value is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite_number(value: object) -> TypeGuard[float]:
    """Whether the value is a number of JSON: no truth value, no infinity, and not larger than a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_plain(value: object) -> bool:
    """Whether the value is what JSON can carry, all the way down; never recurses."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if not {*map(type, each)} <= {str} and not all(isinstance(key, str) for key in each):
                return False
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
        elif not (each is None or isinstance(each, str | bool | int) or is_finite_number(each)):
            return False
    return True
