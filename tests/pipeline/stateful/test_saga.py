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
from pointsman.pipeline.stateful import follow_sagas
from pointsman.routing.saga import SagaEvent, due, expire, handle
from pointsman.routing.saga_state import SagaState
from tests.pipeline.stateful.reference import SAGA, Moved, Sent, event, random_events, seconds, threaded
from tests.pipeline.stateful.streams import Stream
from tests.routing import order_saga as order
from tests.routing.test_saga_order import TIMEOUT, WALKS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SHOP = RoutingTable.load(Path(__file__).parents[3] / "examples" / "shop.yaml")
START = 1_000_000.0
END = START + 5_400


def stream(spark: SparkSession, folder: Path, buckets: int = 3) -> Stream:
    """The sagas of the shop, by the time of the events."""

    def make(events: Any) -> Any:
        return follow_sagas(events.withWatermark("time", "0 seconds"), SHOP, buckets=buckets, time_mode="eventTime")

    return Stream(spark, folder, make)


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


def test_each_walk_along_the_edges_acts_as_the_diagram_says_through_two_restarts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Timeouts by timers where nothing comes; every event comes twice and acts once."""
    events = sorted((each for name in WALKS for each in schedule(name)), key=seconds)
    running = stream(spark, tmp_path)
    cuts = [START, START + 50, START + 63.5, END]
    for start, end in pairwise(cuts):
        running.add([each for each in events if start <= seconds(each) < end])
        running.add([tick(end)])
        rows = running.run()
    for name, steps in WALKS.items():
        assert seen(rows, name) == threaded(schedule(name), END), name
        walked = [row for row in rows if row["correlation_id"] == name and row["outcome"] not in (None, "ignored")]
        walked.sort(key=lambda row: (row["time"], row["number"]))
        assert [row["path"] for row in walked] == [path for _, path, _ in steps], name
        assert walked[-1]["outcome"] == ("completed" if name == "success" else "compensated")
    commands = [row for row in rows if row["kind"] == "command"]
    assert len({row["id"] for row in commands}) == len(commands)
    assert {tuple(row["metadata"].items()) for row in commands} == {(("saga", "order"),)}
    for row in commands:
        assert row["body"] == (f"order of {row['correlation_id']}".encode() if row["causation_id"] else b"")


def test_many_sagas_at_once_are_what_the_pure_functions_make_of_their_events(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Generated events of many correlation ids, in few buckets, cut into batches."""
    events = random_events(random.Random(7), 300, 9, START)
    running = stream(spark, tmp_path, buckets=5)
    # Not between two of the same time: the order of rows is that of their times, then that within the batch.
    cuts = [START, *(seconds(events[len(events) * part // 3]) for part in (1, 2)), END]
    for start, end in pairwise(cuts):
        running.add([each for each in events if start <= seconds(each) < end])
    running.add([tick(END)])
    rows = running.run()
    for correlation_id in {each.correlation_id or "" for each in events}:
        mine = [each for each in events if each.correlation_id == correlation_id]
        assert seen(rows, correlation_id) == threaded(mine, END)
    assert {row["outcome"] for row in rows} == {None, "moved", "completed", "compensated", "ignored", "problem"}


def test_events_of_one_batch_are_handled_in_the_order_of_their_positions(spark: SparkSession, tmp_path: Path) -> None:
    """Where there is such a column; whatever their times and ids say."""
    subjects = [order.CREATED, order.PAYMENT_RESERVED, order.AVAILABLE, order.DELIVERED]
    events = [event(subject, f"{9 - place}", "7", START - place) for place, subject in enumerate(subjects)]
    running = stream(spark, tmp_path)
    running.schema += ", position int"
    running.add(events)
    running.run()
    rows = sorted(running.rows(), key=lambda row: row["number"])
    assert [row["outcome"] for row in rows if row["kind"] == "move"] == ["moved", "moved", "moved", "completed"]
