"""The order saga as a stream, along every edge of its diagram, by the time of the events."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pointsman import RoutingTable
from pointsman.message import Message
from pointsman.pipeline.correlation import follow_sagas
from pointsman.routing.saga.definition import SagaState
from pointsman.routing.saga.machine import SagaEvent, due, expire, handle
from tests.pipeline.correlation.reference import SAGA, Moved, Sent, event, random_events, seconds, threaded
from tests.pipeline.correlation.streams import Stream
from tests.routing.test_saga_order import TIMEOUT, WALKS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SHOP = RoutingTable.load(Path(__file__).parents[3] / "examples" / "shop.yaml")
START = 1_000_000.0
END = START + 5_400


def tick(time: float) -> Message:
    """A message that concerns no saga, and only says how late it is."""
    return event("clock.tick", f"tick-{time}", "clock", time)


def schedule(name: str) -> list[Message]:
    """The events of a walk at times at which its timeouts come to be due in between; each event comes twice."""
    state: SagaState | None = None
    now, made = START, []
    for number, (cause, _, _) in enumerate(WALKS[name]):
        if cause == TIMEOUT:
            assert state is not None
            at = due(SAGA, state)
            assert at is not None
            now = at
            _, state = expire(SAGA, state, now)
        else:
            now += 1
            message = event(cause, f"{name} {number}", name, now, body=f"order of {name}".encode())
            made += [message, message]
            _, state = handle(SAGA, state, SagaEvent(name, message.id, cause), now)
    return made


def seen(rows: list[dict[str, Any]], correlation_id: str) -> list[Sent | Moved]:
    """The rows of one correlation id in their order, as the reference has them."""
    mine = [row for row in rows if row["correlation_id"] == correlation_id]
    found: list[Sent | Moved] = []
    for row in sorted(mine, key=lambda row: (row["time"], row["number"])):
        cause = row["causation_id"]
        if row["kind"] == "command":
            found.append(Sent(row["subject"], None if cause is None else row["id"], cause))
        else:
            path = tuple(row["path"] or ())
            found.append(Moved(row["outcome"], path, row["reason"], cause, row["time"].timestamp()))
    return found


@pytest.fixture(scope="module")
def events() -> list[Message]:
    """Those of all walks, and generated ones of many other correlation ids, by their times."""
    walked = [each for name in WALKS for each in schedule(name)]
    return sorted([*walked, *random_events(random.Random(7), 300, 9, START)], key=seconds)


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, events: list[Message]) -> list[dict[str, Any]]:
    """What comes of these events in a stream that is stopped in between; the last timeouts wait for the time only."""

    def make(events: Any) -> Any:
        return follow_sagas(events.withWatermark("time", "0 seconds"), SHOP, buckets=5, time_mode="eventTime")

    running = Stream(spark, tmp_path_factory.mktemp("sagas"), make)
    for start, end in pairwise([START, START + 50, END]):
        running.add([*(each for each in events if start <= seconds(each) < end), tick(end)])
        made = running.run()
    return made


def test_each_walk_along_the_edges_acts_as_the_diagram_says(rows: list[dict[str, Any]]) -> None:
    """Timeouts by timers where nothing comes; every event comes twice and acts once."""
    for name, steps in WALKS.items():
        walked = [row for row in rows if row["correlation_id"] == name and row["outcome"] not in (None, "ignored")]
        walked.sort(key=lambda row: (row["time"], row["number"]))
        assert [row["path"] for row in walked] == [path for _, path, _ in steps], name
        assert walked[-1]["outcome"] == ("completed" if name == "success" else "compensated")


def test_sagas_are_what_the_pure_functions_make_of_their_events(
    rows: list[dict[str, Any]], events: list[Message]
) -> None:
    """Each command and each move of each correlation id, with the ids that the broker gives."""
    for correlation_id in {each.correlation_id or "" for each in events}:
        mine = [each for each in events if each.correlation_id == correlation_id]
        assert seen(rows, correlation_id) == threaded(mine, END), correlation_id
    assert {row["outcome"] for row in rows} == {None, "moved", "completed", "compensated", "ignored", "problem"}


def test_commands_are_messages_with_the_body_of_their_event(rows: list[dict[str, Any]]) -> None:
    """Each has an id of its own; one that follows from the time alone has no body, as in the broker."""
    commands = [row for row in rows if row["kind"] == "command"]
    assert len({row["id"] for row in commands}) == len(commands)
    assert {tuple(row["metadata"].items()) for row in commands} == {(("saga", "order"),)}
    walked = [row for row in commands if row["correlation_id"] in WALKS]
    for row in walked:
        assert row["body"] == (f"order of {row['correlation_id']}".encode() if row["causation_id"] else b"")
    assert {row["causation_id"] is None for row in walked} == {True, False}
