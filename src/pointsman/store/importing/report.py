"""What an import did, counted as it goes."""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple

from pointsman.store.importing.kinds import State, Status
from pointsman.store.importing.terms import Change

SAMPLES = 5
"""How many values of each change are named."""


class Tally:
    """Counts of what was taken over, which are stored with it, so that those of an import that was killed go on."""

    def __init__(self) -> None:
        self.statuses: Counter[Status] = Counter()
        self.states: Counter[State] = Counter()
        self.changes: Counter[Change] = Counter()
        self.samples: dict[Change, list[str]] = {}

    @property
    def total(self) -> int:
        """How many messages were taken over."""
        return self.states.total()

    def add(self, status: Status, state: State, changes: tuple[tuple[Change, str], ...]) -> None:
        """Counts one message."""
        self.statuses[status] += 1
        self.states[state] += 1
        for change, value in changes:
            self.changes[change] += 1
            samples = self.samples.setdefault(change, [])
            if len(samples) < SAMPLES and value not in samples:
                samples.append(value)

    def as_text(self) -> str:
        """The counts as text, which ``from_text`` reads."""
        changes = {change.name: [count, self.samples[change]] for change, count in self.changes.items()}
        return json.dumps({"statuses": self.statuses, "states": self.states, "changes": changes})

    @classmethod
    def from_text(cls, text: str) -> Tally:
        """The counts that ``as_text`` wrote."""
        data = json.loads(text)
        tally = cls()
        tally.statuses.update({Status(name): count for name, count in data["statuses"].items()})
        tally.states.update({State(name): count for name, count in data["states"].items()})
        for name, (count, samples) in data["changes"].items():
            tally.changes[Change[name]] = count
            tally.samples[Change[name]] = samples
        return tally


class Changed(NamedTuple):
    """Messages that were not taken over as they were."""

    change: Change
    messages: int
    samples: tuple[str, ...]
    """The first values that were changed."""

    def as_dict(self) -> dict[str, object]:
        """For ``--json``."""
        code = self.change.name.lower()
        return {"code": code, "what": self.change.value, "messages": self.messages, "samples": list(self.samples)}


class ImportReport(NamedTuple):
    """What an import did, with all that earlier runs of it did."""

    source: str
    kind: str
    table: str
    rows: int
    """Messages in the source."""
    already: int
    """Taken over by earlier runs."""
    read: int
    """Taken over by this run."""
    statuses: dict[Status, int]
    """What they were in the source."""
    states: dict[State, int]
    """What they are now."""
    changed: tuple[Changed, ...]
    adds_up: bool
    """Whether the source, counted by SQLite, has as many messages of each status as were taken over."""

    def as_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {
            **self._asdict(),
            "statuses": {status.value: count for status, count in self.statuses.items()},
            "states": {state.value: count for state, count in self.states.items()},
            "changed": [each.as_dict() for each in self.changed],
        }


def changed_of(tally: Tally) -> tuple[Changed, ...]:
    """The changes that were counted, in the order in which they are declared."""
    return tuple(
        Changed(change, tally.changes[change], tuple(tally.samples[change]))
        for change in Change
        if tally.changes[change]
    )
