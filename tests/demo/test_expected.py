"""What the plain run over the hour comes to, against what was put into it."""

from __future__ import annotations

from collections import Counter

import pytest

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.demo.counts import Refusal
from pointsman.demo.events import HOUR_START
from pointsman.demo.expected import Run, decide_all
from pointsman.demo.outcomes import Outage
from pointsman.demo.reading import read_file
from pointsman.errors import InputError
from pointsman.routing.saga_definition import SagaDefinition
from pointsman.table.routing_table import RoutingTable
from tests.demo.conftest import Hour


def test_every_message_is_routed_quarantined_or_unrouted(hour: Hour) -> None:
    """No message disappears, and none is there twice."""
    assert hour.counts.messages == hour.summary.messages
    assert hour.counts.adds_up


def test_what_is_quarantined_is_what_was_put_in(hour: Hour) -> None:
    """By stage, and what access refuses by the reason."""
    by_stage: Counter[str] = Counter()
    by_reason: Counter[str] = Counter()
    for refusal, count in hour.counts.quarantined.items():
        by_stage[refusal.stage] += count
        by_reason[refusal.reason] += count
    malformed, forbidden = hour.summary.malformed, hour.summary.forbidden
    assert by_stage == {
        "authorize": sum(forbidden.values()),
        "receive": malformed["cut line"] + malformed["missing subject"],
        "resolve": malformed["invalid subject"],
    }
    assert hour.counts.quarantined.total() == hour.summary.quarantined
    assert (
        hour.counts.quarantined[Refusal("", "receive", "bad-message", "the subject is missing")]
        == malformed["missing subject"]
    )
    assert by_reason["not JSON: Unterminated string starting at"] == malformed["cut line"]
    assert by_reason["there is no principal …"] == forbidden["unknown principal"]
    assert by_reason["… may not publish to …: deny publish … (deny.publish[0])"] == forbidden["denied"]


def test_an_unreadable_body_goes_to_the_repair_desk(hour: Hour) -> None:
    """It is no reason to refuse a message; the content routes see that there is no amount."""
    assert hour.counts.by_destination["repair-desk"] == hour.summary.malformed["unreadable body"]


def test_every_route_and_every_destination_is_used(hour: Hour) -> None:
    """All but the fallback, which waits for a breaker to open; what sagas send has a route and a destination too."""
    assert hour.counts.by_route.keys() | {"commands"} == {route.name for route in hour.table.routes}
    assert hour.table.destinations.keys() - hour.counts.by_destination.keys() == {"parking", "services"}
    assert hour.counts.carried == {("commands", "services"): hour.counts.commands.total()}


def test_balanced_routes_share_as_they_say(hour: Hour) -> None:
    """By weight, in turn, and to the one with the fewest in flight."""
    to = hour.counts.by_destination
    mails = hour.counts.by_route["mail"]
    for name, weight in (("mailer-1", 5), ("mailer-2", 3), ("mailer-3", 2)):
        assert abs(to[name] - mails * weight / 10) <= 1
    for names in (("dock-1", "dock-2", "dock-3"), ("search-1", "search-2", "search-3")):
        assert max(to[name] for name in names) - min(to[name] for name in names) <= 1


def test_sagas_end_as_their_stories_do(hour: Hour) -> None:
    """Every ending occurs; steps of unknown orders move nothing."""
    assert hour.counts.sagas == hour.summary.endings
    assert min(hour.counts.sagas[ending] for ending in ("finished", "compensated", "timed out", "open")) > 0
    assert hour.counts.unmoved["unknown"] == hour.summary.orphans
    assert {tale.ending for tale in hour.counts.tales} == hour.counts.sagas.keys()


def test_gatherings_end_as_they_were_answered(hour: Hour) -> None:
    """By all, by the quorum and by the timeout; answers that do not count are counted."""
    assert hour.counts.gatherings == hour.summary.gatherings
    assert {reason for _, reason in hour.counts.gatherings} == {"all", "quorum", "timeout"}
    assert hour.counts.dropped == hour.summary.dropped
    assert {why for _, why in hour.counts.dropped} == {"late", "duplicate", "foreign"}


def test_every_edge_of_the_saga_occurs(hour: Hour) -> None:
    """Events, timeouts and what leads on at once."""
    run = run_over(hour)
    followed: set[tuple[str, str, str]] = set()
    for steps in run._log._steps.values():
        state = ""
        for step in steps:
            for number, entered in enumerate(step.states):
                way = "then" if number else "timeout" if step.event is None else step.event
                followed.add((state, way, entered))
                state = entered
    assert followed == moves_of(hour.table.sagas["order"])


def test_late_timers_change_nothing(hour: Hour) -> None:
    """The hour keeps clear of its timeouts: taken once a minute, they come to the same as taken in time."""

    class Late(Run):
        def _expire(self) -> None:
            pass

    run = Late(hour.table, None)
    for file in hour.summary.files:
        for received in read_file(file):
            run.add(received)
        while run._timers and run._timers[0][0] <= run.now:
            Run._expire(run)
    late = run.counts()
    assert hour.counts.differences(late, without=("tales", "sagas")) == []


def test_a_breaker_turns_deliveries_aside_while_its_destination_is_away(hour: Hour) -> None:
    """Told after each minute; the fallback gets the rest, and after the outage the destination gets them again."""
    begins = HOUR_START.timestamp() + 20 * 60
    away = Outage("warehouse", begins, begins + 10 * 60)
    table = RoutingTable.parse(TABLE.read_text().replace("reset: 2h", "reset: 5m"), ENVIRONMENT)
    counts = decide_all(hour.folder, table, files_per_batch=1, outages=[away])
    turned = counts.fallbacks["warehouse", "parking"]
    assert 0 < turned == counts.by_destination["parking"]
    assert 3 <= counts.failed["warehouse"] < counts.by_destination["warehouse"]
    assert turned + counts.by_destination["warehouse"] == hour.counts.by_destination["warehouse"]
    assert counts.adds_up


def test_what_is_finished_is_in_flight_no_more(hour: Hour) -> None:
    """With outcomes told after each file, least connections begins each with the first destination."""
    told = decide_all(hour.folder, hour.table, files_per_batch=1).by_destination
    assert told["search-1"] > hour.counts.by_destination["search-1"]
    assert told["search-1"] > told["search-2"] > told["search-3"]
    assert sum(told.values()) == hour.counts.deliveries.total()


def test_differences_are_said(hour: Hour) -> None:
    """One sentence for each count that is not the same; none if all are."""
    assert hour.counts.differences(decide_all(hour.folder, hour.table)) == []
    other = decide_all(hour.folder, hour.table, files_per_batch=1)
    found = hour.counts.differences(other)
    assert 2 <= len(found) <= 3
    assert all(text.startswith("deliveries, users > searches > search-") for text in found)


def test_a_folder_without_files_is_refused(hour: Hour, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing to decide is not the same as nothing decided."""
    with pytest.raises(InputError, match=r"no \.jsonl files"):
        decide_all(tmp_path_factory.mktemp("empty"), hour.table)


@pytest.mark.parametrize("line", ["no json", "[1]", '{"subject": 1}', '{"subject": "a", "surplus": 1}'])
def test_a_line_that_is_no_message_is_quarantined(
    hour: Hour, tmp_path_factory: pytest.TempPathFactory, line: str
) -> None:
    """By the stage that receives; what comes after it is decided."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "a.jsonl").write_text(f'{line}\n{{"subject": "a"}}\n')
    counts = decide_all(folder, hour.table)
    assert [(refusal.family, refusal.stage) for refusal in counts.quarantined] == [("", "receive")]
    assert counts.unrouted == {"a": 1}


def run_over(hour: Hour) -> Run:
    """A run over the hour, to look into."""
    run = Run(hour.table, None)
    for file in hour.summary.files:
        for received in read_file(file):
            run.add(received)
    return run


def moves_of(saga: SagaDefinition) -> set[tuple[str, str, str]]:
    """All moves of a saga: from which state, by what, to which."""
    moves = {("", str(edge.trigger), edge.move.to) for edge in saga.starts}
    for name, state in saga.states.items():
        moves |= {(name, str(edge.trigger), edge.move.to) for edge in state.edges}
        if state.timeout is not None:
            moves.add((name, "timeout", state.timeout.move.to))
        if state.then is not None:
            moves.add((name, "then", state.then.to))
    return moves
