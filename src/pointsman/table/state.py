"""What a table remembers between messages: one value for each key, to be stored by whoever runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from pointsman.errors import InputError
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerState
from pointsman.routing.gather import GatherState
from pointsman.routing.saga.definition import SagaState


class Key(NamedTuple):
    """What a value is about."""

    kind: str
    """``balance``, ``breaker``, ``gather`` or ``saga``."""
    name: str
    """Of the route, destination or saga."""
    correlation_id: str = ""


Value = BalanceState | BreakerState | GatherState | SagaState
Changes = Mapping[Key, Value | None]
"""New values by their keys; None where a value is not needed any more."""
Kept = TypeVar("Kept", BalanceState, BreakerState, GatherState, SagaState)

TYPES: dict[str, type[BalanceState | BreakerState | GatherState | SagaState]] = {
    "balance": BalanceState,
    "breaker": BreakerState,
    "gather": GatherState,
    "saga": SagaState,
}


class State(Mapping[Key, Value]):
    """The values of a table that were changed so far; it never changes itself.

    >>> State().updated({Key("breaker", "stock"): BreakerState()})[Key("breaker", "stock")].phase.value
    'closed'
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[Key, Value] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, key: Key) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def updated(self, changes: Changes) -> State:
        """The state after these changes."""
        if not changes:
            return self
        values = self._values | {key: value for key, value in changes.items() if value is not None}
        for key, value in changes.items():
            if value is None:
                values.pop(key, None)
        return State(values)

    def as_data(self) -> list[list[Any]]:
        """The state as plain data, which ``from_data`` reads."""
        return [[*key, value.as_data()] for key, value in self._values.items()]

    @classmethod
    def from_data(cls, data: object) -> State:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        values: dict[Key, Value] = {}
        for row in data if isinstance(data, list) else [data]:
            if not isinstance(row, list) or len(row) != 4 or row[0] not in TYPES:
                raise InputError("bad-state", "the state of a table is a list of kind, name, correlation id and value")
            values[Key(*row[:3])] = TYPES[row[0]].from_data(row[3])
        return cls(values)


class Working:
    """A state while a decision is made: what it reads, and what it changes."""

    __slots__ = ("_state", "changes")

    def __init__(self, state: Mapping[Key, Value]) -> None:
        self._state = state
        self.changes: dict[Key, Value | None] = {}

    def get(self, key: Key, new: Kept) -> Kept:
        """The value as it is now; ``new`` where there is none."""
        found = self.find(key)
        return found if isinstance(found, type(new)) else new

    def find(self, key: Key) -> Value | None:
        """The value as it is now, if there is one."""
        return self.changes[key] if key in self.changes else self._state.get(key)

    def put(self, key: Key, value: Value | None) -> None:
        """Changes a value."""
        self.changes[key] = value
