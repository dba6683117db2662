"""The circuit breaker."""

from __future__ import annotations

from threading import Barrier, Lock, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pointsman.errors import InputError
from pointsman.routing.breaker import (
    BreakerSettings,
    BreakerState,
    Permit,
    Phase,
    Way,
    ask,
    due,
    failed,
    succeeded,
)

SETTINGS = BreakerSettings(failure_threshold=3, reset_after=10, probe_timeout=5)


def opened(at: float = 0.0) -> BreakerState:
    """A breaker that has just opened."""
    state = BreakerState()
    for _ in range(SETTINGS.failure_threshold):
        permit, state = ask(SETTINGS, state, at)
        state = failed(SETTINGS, state, permit, at)
    assert state.phase is Phase.OPEN
    return state


def test_circuit_breaker_state_transitions_it_is_closed_at_first() -> None:
    """'Initial State': normal operation, by the primary handler."""
    permit, state = ask(SETTINGS, BreakerState(), 0.0)
    assert (permit.way, state.phase) == (Way.PRIMARY, Phase.CLOSED)


def test_circuit_breaker_state_transitions_closed_stays_closed_on_success() -> None:
    """And forgets the failures before it: they are counted in a row."""
    permit, state = ask(SETTINGS, BreakerState(), 0.0)
    for _ in range(4):
        state = failed(SETTINGS, failed(SETTINGS, state, permit, 0.0), permit, 0.0)
        assert state.failures == 2
        state = succeeded(SETTINGS, state, permit, 0.0)
        assert (state.phase, state.failures) == (Phase.CLOSED, 0)


@pytest.mark.parametrize("threshold", [1, 2, 5])
def test_circuit_breaker_state_transitions_closed_opens_at_the_threshold(threshold: int) -> None:
    """'Failure < Threshold' stays closed, 'Failures >= Threshold' opens."""
    settings = BreakerSettings(failure_threshold=threshold)
    state = BreakerState()
    for number in range(1, threshold + 1):
        permit, state = ask(settings, state, 0.0)
        assert permit.way is Way.PRIMARY
        state = failed(settings, state, permit, 7.0)
        assert state.phase is (Phase.OPEN if number == threshold else Phase.CLOSED)
    assert state.since == 7.0


def test_circuit_breaker_state_transitions_open_uses_the_fallback_until_the_timeout() -> None:
    """'Requests use Fallback', then 'Timeout Expired'."""
    state = opened(at=100.0)
    for now in (100.0, 105.0, 109.999):
        permit, state = ask(SETTINGS, state, now)
        assert (permit.way, state.phase) == (Way.FALLBACK, Phase.OPEN)
    permit, state = ask(SETTINGS, state, 110.0)
    assert (permit.way, state.phase) == (Way.PROBE, Phase.HALF_OPEN)


def test_circuit_breaker_state_transitions_half_open_tests_with_one_request() -> None:
    """All others go to the fallback while it is under way."""
    _, state = ask(SETTINGS, opened(), 10.0)
    for now in (10.0, 11.0, 14.999):
        permit, state = ask(SETTINGS, state, now)
        assert (permit.way, state.phase) == (Way.FALLBACK, Phase.HALF_OPEN)


def test_circuit_breaker_state_transitions_half_open_closes_on_test_success() -> None:
    """'Reset to Closed', with no failures."""
    probe, state = ask(SETTINGS, opened(), 10.0)
    state = succeeded(SETTINGS, state, probe, 11.0)
    assert (state.phase, state.failures) == (Phase.CLOSED, 0)
    assert ask(SETTINGS, state, 11.0)[0].way is Way.PRIMARY


def test_circuit_breaker_state_transitions_half_open_opens_on_test_failure() -> None:
    """'Back to Open', for the whole reset time again; one failure is enough."""
    probe, state = ask(SETTINGS, opened(), 10.0)
    state = failed(SETTINGS, state, probe, 12.0)
    assert (state.phase, state.since) == (Phase.OPEN, 12.0)
    assert ask(SETTINGS, state, 21.9)[0].way is Way.FALLBACK
    assert ask(SETTINGS, state, 22.0)[0].way is Way.PROBE


def test_a_probe_that_never_reports_is_given_up() -> None:
    """It counts as failed at its time, so the next one comes after the reset time, whoever asked meanwhile."""
    probe, state = ask(SETTINGS, opened(), 10.0)
    assert due(SETTINGS, state) == 25.0
    permit, later = ask(SETTINGS, state, 15.0)
    assert (permit.way, later.phase, later.since) == (Way.FALLBACK, Phase.OPEN, 15.0)
    assert ask(SETTINGS, later, 25.0)[0].way is Way.PROBE
    second, state = ask(SETTINGS, state, 25.0)
    assert second.way is Way.PROBE
    assert second.generation > probe.generation


def test_the_result_of_a_probe_that_was_given_up_changes_nothing() -> None:
    """Neither before nor while the next one is under way."""
    probe, state = ask(SETTINGS, opened(), 10.0)
    assert succeeded(SETTINGS, state, probe, 15.0).phase is Phase.OPEN
    _, state = ask(SETTINGS, state, 25.0)
    assert succeeded(SETTINGS, state, probe, 26.0) == failed(SETTINGS, state, probe, 26.0) == state


def test_late_results_of_requests_begun_before_it_opened_change_nothing() -> None:
    """They close neither the open nor the half-open breaker, and do not count when it is closed again."""
    early, _ = ask(SETTINGS, BreakerState(), 0.0)
    state = opened()
    probe, half_open = ask(SETTINGS, state, 10.0)
    closed = succeeded(SETTINGS, half_open, probe, 11.0)
    for each in (state, half_open, closed):
        assert succeeded(SETTINGS, each, early, 9.0) == each
        assert failed(SETTINGS, each, early, 9.0) == each


@pytest.mark.parametrize("now", [5.0, 10.0])
def test_results_of_the_fallback_say_nothing_about_the_primary(now: float) -> None:
    """Although its permit is of the present generation."""
    _, state = ask(SETTINGS, opened(), now)
    permit, state = ask(SETTINGS, state, now)
    assert permit.way is Way.FALLBACK
    assert permit.generation == state.generation
    assert succeeded(SETTINGS, state, permit, now) == failed(SETTINGS, state, permit, now) == state


def test_due_names_the_time_at_which_waiting_helps() -> None:
    """Before it the fallback, at it the probe; never while closed."""
    assert due(SETTINGS, BreakerState()) is None
    assert due(SETTINGS, opened(at=3.0)) == 13.0


@pytest.mark.parametrize(
    "settings",
    [
        {"failure_threshold": 0},
        {"failure_threshold": True},
        {"failure_threshold": 1.5},
        {"reset_after": 0},
        {"reset_after": float("nan")},
        {"probe_timeout": -1},
        {"probe_timeout": float("inf")},
    ],
)
def test_settings_that_could_not_work_are_refused(settings: dict[str, float]) -> None:
    """By their name."""
    with pytest.raises(InputError, match=next(iter(settings))) as caught:
        BreakerSettings(**settings)  # type: ignore[arg-type]
    assert caught.value.code == "bad-setting"


def test_settings_have_defaults_and_may_be_parts_of_a_second() -> None:
    """Those of the documentation."""
    defaults = BreakerSettings()
    assert (defaults.failure_threshold, defaults.reset_after, defaults.probe_timeout) == (5, 30.0, 30.0)
    assert BreakerSettings(reset_after=0.25).reset_after == 0.25


class Cell:
    """A place for a state, as a runtime has one: it changes only if nobody else has changed it meanwhile."""

    def __init__(self, state: BreakerState) -> None:
        self.state = state
        self.beaten = 0
        self._lock = Lock()

    def swap(self, old: BreakerState, new: BreakerState) -> bool:
        """Puts the new state in the place of the old one; False if that is not there any more."""
        with self._lock:
            if self.state is not old:
                self.beaten += 1
                return False
            self.state = new
            return True

    def ask(self, now: float) -> Permit:
        """Asks until nobody was quicker."""
        while True:
            old = self.state
            permit, new = ask(SETTINGS, old, now)
            if self.swap(old, new):
                return permit


def test_exactly_one_probe_is_let_through_under_concurrency() -> None:
    """Of many threads that ask at once, many times over."""
    for _ in range(30):
        cell, threads, permits = Cell(opened()), 8, []
        barrier = Barrier(threads)

        def work(cell: Cell = cell, barrier: Barrier = barrier, permits: list[Permit] = permits) -> None:
            barrier.wait()
            permits.extend(cell.ask(10.0) for _ in range(5))

        running = [Thread(target=work) for _ in range(threads)]
        for each in running:
            each.start()
        for each in running:
            each.join()
        ways = [permit.way for permit in permits]
        assert (ways.count(Way.PROBE), ways.count(Way.FALLBACK)) == (1, 39)


def test_two_who_ask_from_one_state_cannot_both_have_the_probe() -> None:
    """The second finds the state changed, and asks again."""
    cell = Cell(opened())
    old = cell.state
    (first, one), (second, two) = ask(SETTINGS, old, 10.0), ask(SETTINGS, old, 10.0)
    assert first.way is second.way is Way.PROBE
    assert cell.swap(old, one)
    assert not cell.swap(old, two)
    assert cell.ask(10.0).way is Way.FALLBACK
    assert cell.beaten == 1


class BreakerMachine(RuleBasedStateMachine):
    """Requests come, succeed, fail or hang in any order, and time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.state = BreakerState()
        self.now = 0.0
        self.under_way: list[tuple[Permit, float]] = []
        self.opened_at: float | None = None

    @rule()
    def request(self) -> None:
        """Somebody asks."""
        probes = self.probes()
        permit, after = ask(SETTINGS, self.state, self.now)
        if permit.way is Way.PROBE:
            assert probes == 0
            opened_at = self.opened_at
            if self.state.phase is Phase.HALF_OPEN:
                opened_at = self.state.since + SETTINGS.probe_timeout
            assert opened_at is not None
            assert self.now >= opened_at + SETTINGS.reset_after
        elif permit.way is Way.PRIMARY:
            assert after.phase is Phase.CLOSED
        else:
            assert after.phase is not Phase.CLOSED
        self.under_way.append((permit, self.now))
        self.become(after)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), success=st.booleans())
    def report(self, data: st.DataObject, success: bool) -> None:
        """A request that is under way, maybe for long, reports."""
        permit, _ = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        before = self.state
        after = (succeeded if success else failed)(SETTINGS, before, permit, self.now)
        if permit.generation != before.generation or permit.way is Way.FALLBACK:
            assert after == before or after.phase is Phase.OPEN
        if before.phase is not Phase.CLOSED and after.phase is Phase.CLOSED:
            assert success
            assert permit.way is Way.PROBE
            assert permit.generation == before.generation
        self.become(after)

    @rule(seconds=st.sampled_from([0.5, 1.0, 4.0, 5.0, 10.0, 30.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule()
    def restart(self) -> None:
        """The state is stored and read again."""
        self.state = BreakerState.from_data(self.state.as_data())

    @invariant()
    def failures_stay_below_the_threshold(self) -> None:
        """At the threshold it would have opened."""
        assert 0 <= self.state.failures < SETTINGS.failure_threshold
        assert self.state.phase is Phase.CLOSED or self.state.failures == 0

    @invariant()
    def it_never_hangs(self) -> None:
        """After the reset time and the time of a probe, with no one reporting, the primary is tried."""
        permit, _ = ask(SETTINGS, self.state, self.now + SETTINGS.reset_after + SETTINGS.probe_timeout)
        assert permit.way is not Way.FALLBACK

    def probes(self) -> int:
        """How many probes are under way and not given up."""
        return sum(
            permit.way is Way.PROBE and self.now < began + SETTINGS.probe_timeout for permit, began in self.under_way
        )

    def become(self, after: BreakerState) -> None:
        """Takes the new state, and notes when it opened."""
        assert after.generation >= self.state.generation
        assert (after.phase == self.state.phase) or after.generation > self.state.generation
        if after.phase is Phase.OPEN and after.generation != self.state.generation:
            self.opened_at = after.since
        self.state = after


TestBreakerMachine = BreakerMachine.TestCase


@given(st.builds(Permit, st.sampled_from(Way), st.integers(0, 10**6)))
def test_a_permit_survives_being_stored(permit: Permit) -> None:
    """With the request that it was given to."""
    assert Permit.from_data(permit.as_data()) == permit


@pytest.mark.parametrize("data", [None, [], ["probe"], ["probe", -1], ["probe", True], ["way", 1], [1, 1], [[], 1]])
def test_data_that_is_no_permit_is_refused(data: object) -> None:
    """With its own code."""
    with pytest.raises(InputError) as caught:
        Permit.from_data(data)
    assert caught.value.code == "bad-state"
