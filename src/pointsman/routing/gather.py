"""Scatter-gather: one request to several targets, one result of their answers.

               scatter                all have answered, or the quorum, or the timeout
    (request) ─────────▶ waiting ────────────────────────────────────────────────────▶ complete
                          │  ▲                                                          │  ▲
                          └──┘ an answer                                                └──┘ late, counted

The result is given exactly once: by the answer that completes it, or else by ``expire``, or by the first answer that
comes after the deadline. Answers of others than the targets (foreign), second answers of one target (duplicate), and
answers after the end (late) are counted and dropped. A runtime calls ``expire`` at the time that ``due`` names, and may
drop the state when it is complete; it is what late answers are counted in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple

from pointsman.errors import InputError, RoutingError
from pointsman.routing.state_codec import (
    Fields,
    as_row,
    as_text,
    bad_state,
    is_finite_number,
    is_plain,
    is_whole,
    shown,
)

KIND = "gather/1"
FIELDS = (
    "kind",
    "correlation_id",
    "targets",
    "deadline",
    "needed",
    "answers",
    "complete",
    "late",
    "duplicate",
    "foreign",
)
TYPES = [str, str, list, float, int, list, bool, int, int, int]
_values = itemgetter(*FIELDS)


class GatherState(NamedTuple):
    """Who was asked, who has answered, and until when; the rules it began with stay in force."""

    correlation_id: str
    targets: tuple[str, ...]
    deadline: float
    needed: int
    """How many answers complete it."""
    answers: tuple[tuple[str, object], ...] = ()
    """Pairs of target and answer, in the order of their arrival."""
    complete: bool = False
    late: int = 0
    duplicate: int = 0
    foreign: int = 0

    @property
    def missing(self) -> tuple[str, ...]:
        """The targets that have not answered, in their order."""
        answered = {target for target, _ in self.answers}
        return tuple(target for target in self.targets if target not in answered)

    def with_answer(self, target: str, value: object) -> GatherState:
        """The state after one more answer."""
        # Written out, since ``_replace`` takes three times as long.
        correlation_id, targets, deadline, needed, answers, complete, *counts = self
        answered = (*answers, (target, value))
        return GatherState(correlation_id, targets, deadline, needed, answered, complete, *counts)

    def completed(self) -> GatherState:
        """The state when it is complete."""
        correlation_id, targets, deadline, needed, answers, _, *counts = self
        return GatherState(correlation_id, targets, deadline, needed, answers, True, *counts)

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "correlation_id": self.correlation_id,
            "targets": list(self.targets),
            "deadline": self.deadline,
            "needed": self.needed,
            "answers": [[target, value] for target, value in self.answers],
            "complete": self.complete,
            "late": self.late,
            "duplicate": self.duplicate,
            "foreign": self.foreign,
        }

    @classmethod
    def from_data(cls, data: object) -> GatherState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        waiting = _read_waiting(data)
        if waiting is not None:
            return waiting
        fields = Fields(data, KIND)
        state = cls(
            fields.text("correlation_id"),
            fields.texts("targets"),
            fields.seconds("deadline"),
            fields.whole("needed"),
            fields.items("answers", _answer),
            fields.flag("complete"),
            fields.whole("late"),
            fields.whole("duplicate"),
            fields.whole("foreign"),
        )
        fields.end()
        if len({target for target, _ in state.answers} & set(state.targets)) != len(state.answers):
            raise bad_state("the answers are not those of the targets, one of each at most")
        return state


def _read_waiting(data: object) -> GatherState | None:
    """The state, if nobody has answered and it is as it should be: most are so, and are read in a third of the time."""
    if type(data) is not dict or len(data) != len(FIELDS) or data.get("answers") != []:
        return None
    try:
        kind, correlation_id, targets, *rest = values = _values(data)
    except KeyError:
        return None
    deadline, needed, _, complete, late, duplicate, foreign = rest
    if kind != KIND or [*map(type, values)] != TYPES or {*map(type, targets)} - {str}:
        return None
    if not isfinite(deadline) or min(needed, late, duplicate, foreign) < 0:
        return None
    return GatherState(correlation_id, tuple(targets), deadline, needed, (), complete, late, duplicate, foreign)


def _answer(data: object, where: str) -> tuple[str, object]:
    target, value = as_row(data, where, 2)
    if not is_plain(value):
        raise bad_state(f"{where}[1] is not plain data")
    return as_text(target, f"{where}[0]"), value


# -- what is made of the answers to a scattered request
#
#     collect    the answers in a list, in the order of their arrival
#     first      the answer that came first
#     min, max   the answer with the smallest or largest number; of equal ones, the one that came first
#     count      how many have answered
#     callable   what it gives for a dict of target and answer, in the order of their arrival
#
# An answer whose number is missing or is none (a text, a truth value, NaN) takes no part in ``min`` and ``max``.


NAMES = ("collect", "first", "min", "max", "count")

Answers = tuple[tuple[str, object], ...]
Aggregation = str | Callable[[Mapping[str, object]], object]
"""One of the names above, or a callable."""
Extraction = Callable[[object], object]
"""Gives the number in an answer; None if there is none."""


class Aggregated(NamedTuple):
    """A result, and the target whose answer it is, if it is the answer of one."""

    result: object
    source: str | None = None


def whole_answer(value: object) -> object:
    """The answer itself, for answers that are numbers."""
    return value


def aggregate(aggregation: Aggregation, answers: Answers, extract: Extraction = whole_answer) -> Aggregated:
    """What the aggregation makes of the answers; None for first, min and max of nothing.

    >>> aggregate("min", (("one", {"price": 100}), ("two", {"price": 95})), lambda answer: answer["price"])
    Aggregated(result={'price': 95}, source='two')

    The name must be one of ``NAMES``. Raises what the callables raise.
    """
    if callable(aggregation):
        return Aggregated(aggregation(dict(answers)))
    if aggregation == "collect":
        return Aggregated([value for _, value in answers])
    if aggregation == "count":
        return Aggregated(len(answers))
    if aggregation == "first":
        return _one(answers[:1])
    numbered: list[tuple[Any, tuple[str, object]]] = [(extract(pair[1]), pair) for pair in answers]
    fit = [each for each in numbered if is_finite_number(each[0])]
    choose = {"min": min, "max": max}[aggregation]
    return _one((choose(fit, key=lambda each: each[0])[1],) if fit else ())


def _one(answers: Answers) -> Aggregated:
    return Aggregated(answers[0][1], answers[0][0]) if answers else Aggregated(None)


class Drop(StrEnum):
    """Why an answer does not count."""

    LATE = "late"
    DUPLICATE = "duplicate"
    FOREIGN = "foreign"


class Reason(StrEnum):
    """Why a gathering is complete."""

    ALL = "all"
    QUORUM = "quorum"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class GatherSettings:
    """How long to wait for whom, and what to make of the answers.

    Raises ``InputError`` (``bad-setting``) for a timeout that is not above 0, a quorum below 1, or an aggregation that
    is neither one of the names nor callable.
    """

    timeout: float = 30.0
    quorum: int | None = None
    """How many answers are enough; None asks for all."""
    aggregation: Aggregation = "collect"
    extract: Extraction = whole_answer
    """The number in an answer that ``min`` and ``max`` compare."""

    def __post_init__(self) -> None:
        if not is_finite_number(self.timeout) or self.timeout <= 0:
            raise InputError("bad-setting", f"timeout is {shown(self.timeout)}, not a number of seconds above 0")
        if self.quorum is not None and (not is_whole(self.quorum) or self.quorum < 1):
            raise InputError("bad-setting", f"quorum is {shown(self.quorum)}, not a whole number from 1")
        if not callable(self.aggregation) and self.aggregation not in NAMES:
            raise InputError("bad-setting", f"aggregation is {shown(self.aggregation)}, not one of {', '.join(NAMES)}")


class Gathered(NamedTuple):
    """The result, as it is to be sent to whoever asked."""

    result: object
    """What the aggregation made of the answers; None for first, min and max of nothing."""
    source: str | None
    """The target whose answer the result is, for first, min and max."""
    answers: tuple[tuple[str, object], ...]
    """Pairs of target and answer, in the order of their arrival."""
    missing: tuple[str, ...]
    """The targets that have not answered."""
    reason: Reason


class Outcome(NamedTuple):
    """What an answer or the passing of time brought about."""

    gathered: Gathered | None = None
    """The result, if this is what completed it."""
    dropped: Drop | None = None
    """Why the answer did not count, if it did not."""


NOTHING = Outcome()


def scatter(settings: GatherSettings, correlation_id: str, targets: Sequence[str], now: float) -> GatherState:
    """The state that waits for the answers of these targets; each of them is to be sent the request.

    Raises ``RoutingError``: ``no-destinations`` if there are none, ``bad-destinations`` if one is there twice; and
    ``InputError`` (``bad-setting``) for a quorum of more than there are targets.
    """
    if not targets:
        raise RoutingError("no-destinations", f"there is no target to scatter {correlation_id!r} to")
    if len(set(targets)) < len(targets):
        raise RoutingError("bad-destinations", f"one target is there twice: {', '.join(targets)}")
    needed = len(targets) if settings.quorum is None else settings.quorum
    if needed > len(targets):
        raise InputError("bad-setting", f"a quorum of {needed} is more than the {len(targets)} targets")
    return GatherState(correlation_id, tuple(targets), now + settings.timeout, needed)


def answer(
    settings: GatherSettings, state: GatherState, target: str, value: object, now: float
) -> tuple[Outcome, GatherState]:
    """What the answer of a target brings about, and the new state.

    Raises ``InputError`` (``bad-answer``) for a value that is not plain data, and what a callable aggregation raises;
    the state given then is still the state.
    """
    if not is_plain(value):
        raise InputError("bad-answer", f"the answer of {target!r} is not plain data")
    expired, state = expire(settings, state, now)
    if target not in state.targets:
        return expired._replace(dropped=Drop.FOREIGN), state._replace(foreign=state.foreign + 1)
    if target in [each for each, _ in state.answers]:
        return expired._replace(dropped=Drop.DUPLICATE), state._replace(duplicate=state.duplicate + 1)
    if state.complete:
        return expired._replace(dropped=Drop.LATE), state._replace(late=state.late + 1)
    state = state.with_answer(target, value)
    if len(state.answers) < state.needed:
        return NOTHING, state
    return _completed(settings, state, Reason.ALL if len(state.answers) == len(state.targets) else Reason.QUORUM)


def expire(settings: GatherSettings, state: GatherState, now: float) -> tuple[Outcome, GatherState]:
    """Completes with what is there if the deadline has come; otherwise nothing changes."""
    if state.complete or now < state.deadline:
        return NOTHING, state
    return _completed(settings, state, Reason.TIMEOUT)


def due(state: GatherState) -> float | None:
    """The next time at which ``expire`` has something to do; None if it never has."""
    return None if state.complete else state.deadline


def _completed(settings: GatherSettings, state: GatherState, reason: Reason) -> tuple[Outcome, GatherState]:
    made = aggregate(settings.aggregation, state.answers, settings.extract)
    gathered = Gathered(made.result, made.source, state.answers, state.missing, reason)
    return Outcome(gathered), state.completed()
