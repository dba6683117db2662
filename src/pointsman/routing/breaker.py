"""The circuit breaker of one destination.

              failures reach the threshold              the reset time has passed: PROBE
    closed ─────────────────────────────────▶ open ─────────────────────────────────────▶ half-open
      ▲ └─ success: no failures in a row       ▲ └─ FALLBACK                                │  │  └─ FALLBACK
      │    failure: one more                   │                                            │  │
      │                                        └── the probe fails, or does not report ─────┘  │
      └──────────────────────────────────────────────────────── the probe succeeds ────────────┘

Closed sends to the PRIMARY. Failures are counted in a row. Half-open means that one probe is under way: whoever else
asks gets the FALLBACK. A probe that has not reported within the probe time counts as failed at that moment.

Each change of phase begins a new generation, and a permit carries the generation it was given in. A result of an older
generation changes nothing: a request begun before the breaker opened can neither close it nor open it again.

State is a value, so exactly one probe is let through only if no two askers start from the same one: a runtime puts the
new state in place of the old one under a lock, or by comparing and swapping, and asks again when it was beaten to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from pointsman.errors import InputError
from pointsman.routing.state_codec import (
    Fields,
    as_row,
    as_text,
    as_whole,
    bad_state,
    is_finite_number,
    is_whole,
    shown,
)

KIND = "breaker/1"


class Way(StrEnum):
    """Where a request may go."""

    PRIMARY = "primary"
    PROBE = "probe"
    """To the primary, as the one request that tries it."""
    FALLBACK = "fallback"


class Phase(StrEnum):
    """The states of the diagram."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When the breaker opens and how it recovers; times are in seconds.

    Raises ``InputError`` (``bad-setting``) for a threshold below 1 and for times that are not above 0.
    """

    failure_threshold: int = 5
    reset_after: float = 30.0
    probe_timeout: float = 30.0

    def __post_init__(self) -> None:
        if not is_whole(self.failure_threshold) or self.failure_threshold < 1:
            raise InputError(
                "bad-setting", f"failure_threshold is {shown(self.failure_threshold)}, not a whole number from 1"
            )
        for name in ("reset_after", "probe_timeout"):
            if not is_finite_number(value := getattr(self, name)) or value <= 0:
                raise InputError("bad-setting", f"{name} is {shown(value)}, not a number of seconds above 0")


@dataclass(frozen=True, slots=True)
class Permit:
    """Which way one request may go, to be given back with its result."""

    way: Way
    generation: int

    def as_data(self) -> list[object]:
        """The permit as plain data, which ``from_data`` reads."""
        return [self.way.value, self.generation]

    @classmethod
    def from_data(cls, data: object) -> Permit:
        """The permit that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        way, generation = as_row(data, "the permit", 2)
        if way not in list(Way):
            raise bad_state(f"there is no permit {shown(way)}")
        return cls(Way(as_text(way, "the permit")), as_whole(generation, "the generation of the permit"))


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The breaker of one destination as it stands; a new one is closed."""

    phase: Phase = Phase.CLOSED
    failures: int = 0
    """In a row, while closed."""
    generation: int = 0
    since: float = 0.0
    """When it opened, or when the probe was let through."""

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "phase": self.phase.value,
            "failures": self.failures,
            "generation": self.generation,
            "since": self.since,
        }

    @classmethod
    def from_data(cls, data: object) -> BreakerState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        fields = Fields(data, KIND)
        phase = fields.text("phase")
        if phase not in list(Phase):
            raise bad_state(f"a breaker has no phase {shown(phase)}")
        state = cls(Phase(phase), fields.whole("failures"), fields.whole("generation"), fields.seconds("since"))
        fields.end()
        return state


def ask(settings: BreakerSettings, state: BreakerState, now: float) -> tuple[Permit, BreakerState]:
    """Which way the next request may go, and the state that this leaves."""
    state = _settled(settings, state, now)
    if state.phase is Phase.OPEN and now >= state.since + settings.reset_after:
        state = _changed(state, Phase.HALF_OPEN, now)
        return Permit(Way.PROBE, state.generation), state
    way = Way.PRIMARY if state.phase is Phase.CLOSED else Way.FALLBACK
    return Permit(way, state.generation), state


def succeeded(settings: BreakerSettings, state: BreakerState, permit: Permit, now: float) -> BreakerState:
    """The state after a request with this permit succeeded; the same one for a late result or one of the fallback."""
    state = _settled(settings, state, now)
    if not _counts(state, permit):
        return state
    return replace(state, failures=0) if state.phase is Phase.CLOSED else _changed(state, Phase.CLOSED, now)


def failed(settings: BreakerSettings, state: BreakerState, permit: Permit, now: float) -> BreakerState:
    """The state after a request with this permit failed; the same one for a late result or one of the fallback."""
    state = _settled(settings, state, now)
    if not _counts(state, permit):
        return state
    if state.phase is Phase.CLOSED and state.failures + 1 < settings.failure_threshold:
        return replace(state, failures=state.failures + 1)
    return _changed(state, Phase.OPEN, now)


def due(settings: BreakerSettings, state: BreakerState) -> float | None:
    """The next time at which waiting alone changes what ``ask`` gives; None while closed."""
    if state.phase is Phase.CLOSED:
        return None
    if state.phase is Phase.OPEN:
        return state.since + settings.reset_after
    return state.since + settings.probe_timeout + settings.reset_after


def _settled(settings: BreakerSettings, state: BreakerState, now: float) -> BreakerState:
    """The state once a probe that does not report is given up, as of the moment it should have."""
    given_up = state.since + settings.probe_timeout
    if state.phase is Phase.HALF_OPEN and now >= given_up:
        return _changed(state, Phase.OPEN, given_up)
    return state


def _counts(state: BreakerState, permit: Permit) -> bool:
    """Whether the result of a request with this permit says something about the primary as of now."""
    return permit.generation == state.generation and permit.way is not Way.FALLBACK


def _changed(state: BreakerState, phase: Phase, now: float) -> BreakerState:
    return BreakerState(phase, 0, state.generation + 1, now)
