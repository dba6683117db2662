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

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pointsman.errors import InputError, RoutingError
from pointsman.routing.aggregation import NAMES, Aggregation, Extraction, aggregate, whole_answer
from pointsman.routing.gather_state import GatherState
from pointsman.routing.plain import is_finite_number, is_plain, is_whole
from pointsman.routing.shown import shown


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
