"""A bucket: the states of all sagas and gatherings whose correlation ids fall into it, as one value of Spark's state.

Spark asks its state store through a socket, which costs more than most of what is asked for. So a bucket is read and
written as a whole: a first line of JSON says what is in it, and each further line is the JSON text of one entry.

    {"format": "bucket/1", "timer": 1000, "groups": [["saga", "order", ["order-7"], [1.0]]]}
    [{"kind": "saga/1", …}, {}]

A group has the kind and the name of a key, the correlation ids, and the times at which each is due. An entry is the
state as ``as_data`` gives it and notes on it. Only entries that are asked for are decoded, only those that changed are
encoded; the others stay the lines that they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

from pydantic_core import from_json, to_json

from pointsman.errors import InputError
from pointsman.table.state import TYPES, Key, Value

FORMAT = "bucket/1"
Notes = Mapping[str, Any]
"""What is kept with a state though it is no part of it; plain data."""
NO_NOTES: Notes = {}

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Bucket(Mapping[Key, Value]):
    """The states of a bucket by their keys.

    Raises ``InputError`` (``bad-state``) for bytes that ``encode`` did not give, when it is made or when an entry is
    asked for.
    """

    __slots__ = ("_changed", "_dues", "_lines", "_notes", "_values", "is_changed", "timer")

    def __init__(self, blob: bytes | None = None) -> None:
        self._lines: dict[tuple[str, str, str], bytes] = {}
        self._dues: dict[tuple[str, str, str], float] = {}
        self._values: dict[Key, Value] = {}
        self._notes: dict[Key, Notes] = {}
        self._changed: set[Key] = set()
        self.timer: int | None = None
        """The timer that is set for the bucket, in milliseconds."""
        self.is_changed = False
        """Whether a state was changed since it was read."""
        if blob is not None:
            self._read(blob)

    def __getitem__(self, key: Key) -> Value:
        found = self._values.get(key)
        if found is not None:
            return found
        line = self._lines[key]
        try:
            data, notes = _read_line(line)
            value = TYPES[key.kind].from_data(data)
        except (ValueError, TypeError) as error:
            raise _bad(f"the entry of {key.correlation_id!r} cannot be read: {error}") from None
        self._values[key], self._notes[key] = value, notes
        return value

    def __iter__(self) -> Iterator[Key]:
        return (Key(*key) for key in self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: object) -> bool:
        return key in self._lines

    def get(self, key: Key, default: Any = None) -> Any:
        """The state, if there is one; faster than the method of a mapping, which raises and catches."""
        found = self._values.get(key)
        if found is not None:
            return found
        return self[key] if key in self._lines else default

    def notes(self, key: Key) -> Notes:
        """What is noted with a state; nothing where there is none."""
        return NO_NOTES if self.get(key) is None else self._notes[key]

    def due(self, key: Key) -> float | None:
        """When a state is to be looked at even if no message comes for it; None for never."""
        return self._dues.get(key)

    def put(self, key: Key, value: Value, due: float | None, notes: Notes) -> None:
        """Sets a state."""
        self._values[key], self._notes[key] = value, notes
        self._lines.setdefault(key, b"")
        self._changed.add(key)
        self.is_changed = True
        self.put_off(key, due)

    def put_off(self, key: Key, due: float | None) -> None:
        """Sets only when a state is due."""
        if due is None:
            self._dues.pop(key, None)
        else:
            self._dues[key] = due
        self.is_changed = True

    def drop(self, key: Key) -> None:
        """Takes a state away, if it is there."""
        for each in (self._lines, self._dues, self._values, self._notes):
            each.pop(key, None)
        self._changed.discard(key)
        self.is_changed = True

    def due_by(self, time: float) -> list[Key]:
        """What is due at this time, the earliest first."""
        found = [(due, key) for key, due in self._dues.items() if due <= time]
        return [Key(*key) for _, key in sorted(found)]

    @property
    def earliest(self) -> float | None:
        """When something is due next; None if nothing is."""
        return min(self._dues.values(), default=None)

    def encode(self) -> bytes:
        """The bucket as bytes."""
        groups: dict[tuple[str, str], tuple[list[str], list[float | None], list[bytes]]] = {}
        for key in self._changed:
            self._lines[key] = _line([self._values[key].as_data(), self._notes[key]])
        self._changed.clear()
        for place, line in self._lines.items():
            ids, dues, lines = groups.setdefault(place[:2], ([], [], []))
            ids.append(place[2])
            dues.append(self._dues.get(place))
            lines.append(line)
        named = [[*name, ids, dues] for name, (ids, dues, _) in groups.items()]
        header = _write({"format": FORMAT, "timer": self.timer, "groups": named}).encode()
        return b"\n".join([header, *(line for _, _, lines in groups.values() for line in lines)])

    def _read(self, blob: bytes) -> None:
        header, *lines = blob.split(b"\n")
        try:
            content = json.loads(header)
            if content["format"] != FORMAT:
                raise _bad(f"a bucket of the format {content['format']!r} is not one of {FORMAT!r}")
            self.timer = content["timer"]
            start = 0
            for kind, name, ids, dues in content["groups"]:
                keys = list(zip(repeat(kind), repeat(name), ids))
                self._lines.update(zip(keys, lines[start : start + len(keys)], strict=True))
                self._dues.update((key, due) for key, due in zip(keys, dues, strict=True) if due is not None)
                start += len(keys)
        except (ValueError, TypeError, KeyError) as error:
            if isinstance(error, InputError):
                raise
            raise _bad(f"a bucket cannot be read: {error}") from None
        if start != len(lines):
            raise _bad(f"a bucket has {len(lines)} entries and names {start}")


def _line(entry: list[Any]) -> bytes:
    try:
        return to_json(entry)
    except ValueError:
        # Not every text from outside can be written as UTF-8.
        return _write(entry).encode(errors="surrogatepass")


def _read_line(line: bytes) -> Any:
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line.decode(errors="surrogatepass"))


def _bad(problem: str) -> InputError:
    return InputError("bad-state", problem)
