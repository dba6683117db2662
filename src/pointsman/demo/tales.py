"""Follows sagas through a run: what moved each of them, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pointsman.demo.counts import SagaStep, Tale
from pointsman.routing.saga import Compensate, Complete, SendCommands
from pointsman.table.followed import SagaMove

ENDINGS = ("finished", "compensated", "timed out", "open")


class SagaLog:
    """The steps of every saga, in the order in which they are added. Not safe between threads."""

    def __init__(self) -> None:
        self._steps: dict[str, list[SagaStep]] = {}
        self._ended: set[str] = set()
        self._compensated: set[str] = set()
        self.commands: Counter[str] = Counter()
        self.unmoved: Counter[str] = Counter()

    def add(self, time: float, event: str | None, moved: SagaMove) -> None:
        """Adds what a message of this subject, or with None a timeout, did to a saga."""
        if moved.problem is not None:
            self.unmoved["unknown"] += 1
            return
        outcome = moved.outcome
        sent = [each.commands for each in outcome.actions if isinstance(each, SendCommands | Compensate)]
        undone = [each.commands for each in outcome.actions if isinstance(each, Compensate)]
        commands = tuple(command.subject for group in sent for command in group)
        compensations = tuple(command.subject for group in undone for command in group)
        step = SagaStep(time, event, outcome.path, commands, compensations)
        ended = any(isinstance(each, Complete) for each in outcome.actions)
        self.add_step(moved.correlation_id, step, ended=ended, compensated=bool(undone))
        if outcome.ignored is not None:
            self.unmoved["ignored"] += 1

    def add_step(self, correlation_id: str, step: SagaStep, *, ended: bool, compensated: bool) -> None:
        """Adds a step, and whether the saga ended with it, and whether it undid anything."""
        self._steps.setdefault(correlation_id, []).append(step)
        self.commands.update(step.commands)
        if ended:
            self._ended.add(correlation_id)
        if compensated:
            self._compensated.add(correlation_id)

    def ending(self, correlation_id: str) -> str:
        """How this saga ended: ``stories.Ending``."""
        if correlation_id not in self._ended:
            return "open"
        if correlation_id not in self._compensated:
            return "finished"
        timed_out = any(step.event is None for step in self._steps[correlation_id])
        return "timed out" if timed_out else "compensated"

    def endings(self) -> Counter[str]:
        """How many sagas ended in which way."""
        return Counter(map(self.ending, self._steps))

    def states(self) -> Counter[str]:
        """How many sagas are in which state now."""
        return Counter(_last_state(steps) for steps in self._steps.values())

    def tales(self) -> tuple[Tale, ...]:
        """One saga of each ending that occurred: of those with the most steps, the one whose id comes first."""
        longest: dict[str, str] = {}
        for correlation_id in sorted(self._steps):
            ending = self.ending(correlation_id)
            if ending not in longest or len(self._steps[correlation_id]) > len(self._steps[longest[ending]]):
                longest[ending] = correlation_id
        return tuple(
            Tale(longest[each], each, tuple(self._steps[longest[each]])) for each in ENDINGS if each in longest
        )


def _last_state(steps: Iterable[SagaStep]) -> str:
    return [state for step in steps for state in step.states][-1]
