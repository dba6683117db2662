"""A pipeline that runs: from files to files, over restarts and new versions of its table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.run import run
from pointsman.store.queue import Queue
from tests.pipeline import outputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pointsman.pipeline.counts import Totals

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
destinations:
  desk:
  archive: {type: queue, options: {path: archive.db}}
  broken:
  first:
  second:
  third:
routes:
  - {name: large, pattern: "orders.>", strategy: content, when: "metadata['size'] = 'large'", destinations: [desk]}
  - {name: mail, pattern: "mail.*", strategy: balanced, balance: round-robin, destinations: [first, second]}
  - {name: calls, pattern: "calls.*", strategy: balanced, balance: least-connections, destinations: [first, second]}
  - {name: archive, pattern: "orders.>", destinations: [archive]}
  - {name: broken, pattern: "broken.>", destinations: [broken]}
sagas:
  order:
    starts: [{on: orders.created, to: waiting}]
    states:
      waiting: {edges: [{on: orders.paid, to: done}], timeout: {after: 60, to: late, send: [orders.remind]}}
      late: {final: true}
      done: {final: true}
"""
PIPELINE = """
table: table.yaml
source: {path: in}
destinations:
  broken: {path: blocked/below}
"""


class Case:
    """A pipeline in a folder of its own."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._spark = spark
        (folder / "in").mkdir()
        (folder / "table.yaml").write_text(TABLE)
        (folder / "pipeline.yaml").write_text(PIPELINE)
        (folder / "blocked").write_text("where a folder should be")

    def add(self, name: str, *lines: dict[str, Any] | str) -> None:
        """One more file of messages."""
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (self.folder / "in" / name).write_text("\n".join(texts) + "\n")

    def run(self) -> Totals:
        """Runs it to the end of what is there."""
        file = PipelineFile.load(self.folder / "pipeline.yaml")
        return run(file, lambda what, **fields: self.told.append((what, fields)), spark=self._spark)

    def read(self, *path: str) -> list[dict[str, Any]]:
        """The rows of a folder of JSON files; of an outcome, those of all batches unless one is named."""
        if path[0] in outputs.OUTCOMES:
            named = dict(part.split("=") for part in path[1:])
            batch = int(named["batch"]) if "batch" in named else None
            return outputs.rows(self.folder / "out", path[0], batch, named.get("destination", "*"))
        files = sorted(self.folder.joinpath("out", *path).rglob("*.json"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_pipeline_routes_files_and_goes_on_where_it_stopped(tmp_path: Path, spark: SparkSession) -> None:
    """Everything that was read is delivered, quarantined or unrouted; a second run takes up what is new."""
    case = Case(tmp_path, spark)
    case.add(
        "1.json",
        {"subject": "orders.created", "id": "1", "metadata": {"size": "large"}, "time": "2026-01-01T00:00:00Z"},
        {"subject": "orders.new", "id": "2", "body": "two laptops"},
        {"subject": "mail.a", "id": "3"},
        {"subject": "bad..subject", "id": "4"},
        {"subject": "nobody", "id": "5"},
        "this is no message",
        {"subject": "broken.x", "id": "6"},
        {"subject": "calls.a", "id": "9"},
    )
    totals = case.run()
    assert totals.messages == 8
    assert dict(totals.deliveries) == {
        ("large", "desk"): 1,
        ("archive", "archive"): 2,
        ("mail", "first"): 1,
        ("calls", "first"): 1,
    }
    assert dict(totals.quarantined) == {("resolve", "empty-token"): 1, ("receive", "bad-json"): 1}
    assert totals.unrouted == 1
    assert dict(totals.failed) == {"broken": 1}
    assert [row["id"] for row in case.read("deliveries", "batch=0", "destination=desk")] == ["1"]
    assert [row["id"] for row in case.read("unrouted")] == ["5"]
    assert {row["problem"]["code"] for row in case.read("quarantined")} == {"empty-token", "bad-json"}
    dead = spark.read.parquet(str(tmp_path / "out" / "dead" / "broken")).collect()
    assert [(row["id"], bool(row["dead"]["reason"]), row["dead"]["attempts"]) for row in dead] == [("6", True, 1)]
    with Queue(tmp_path / "archive.db") as queue:
        assert sorted(message.id for message in queue.messages()) == ["1/archive/archive", "2/archive/archive"]

    (tmp_path / "table.yaml").write_text(TABLE.replace("[first, second]", "[first, second, third]"))
    case.add("2.json", *({"subject": subject, "id": subject} for subject in ("mail.b", "mail.c", "calls.b")))
    again = case.run()
    assert again.messages == 3
    # The first call is in flight no more, so that the first destination has its turn again.
    assert dict(again.deliveries) == {("mail", "second"): 1, ("mail", "third"): 1, ("calls", "first"): 1}


def test_counts_are_those_of_the_rows_that_were_written(tmp_path: Path, spark: SparkSession) -> None:
    """Partitions have the same routes in common, and some have routes of their own."""
    case = Case(tmp_path, spark)
    for file in range(6):
        subjects = ["mail.a", "orders.new", "calls.b", "nobody", "bad..one", f"mail.{file}", "calls.x"][: 3 + file]
        case.add(f"{file}.json", *({"subject": each, "id": f"{file} {at}"} for at, each in enumerate(subjects * 5)))
    totals = case.run()
    written = Counter(
        (row["route"], name) for name in ("first", "second") for row in case.read("deliveries", f"destination={name}")
    )
    with Queue(tmp_path / "archive.db") as queue:
        written["archive", "archive"] = sum(1 for _ in queue.messages())
    assert totals.deliveries == written
    assert totals.unrouted == len(case.read("unrouted"))
    assert totals.quarantined.total() == len(case.read("quarantined"))
    again = case.run()
    assert again.messages == 0
    counted = totals.deliveries.total() + totals.unrouted + totals.quarantined.total()
    assert totals.messages == counted == 5 * (3 + 4 + 5 + 6 + 7 + 7)


QUEUE_TABLE = """
destinations:
  again: {type: subject, options: {subject: "late.{subject}"}}
  desk:
routes:
  - {name: reminders, pattern: "orders.remind", destinations: [again]}
  - {name: late, pattern: "late.>", destinations: [desk]}
sagas:
  order:
    starts: [{on: orders.created, to: waiting, send: [orders.remind]}]
    states: {waiting: {final: true}}
"""
QUEUE_PIPELINE = """
table: table.yaml
source: {format: pointsman, path: shop.db, options: {subscription: shop, start: 0}}
"""


def test_a_command_goes_back_into_the_queue_and_is_routed_from_there(tmp_path: Path, spark: SparkSession) -> None:
    """A destination of the type subject, a queue as the source, and sagas: each query has its own subscription."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(QUEUE_TABLE)
    (tmp_path / "pipeline.yaml").write_text(QUEUE_PIPELINE)
    with Queue(tmp_path / "shop.db") as queue:
        queue.put(b"an order", "orders.created", id="1")
    first = case.run()
    assert (first.messages, first.unrouted) == (1, 1)
    assert first.commands is not None
    assert dict(first.commands.deliveries) == {("reminders", "again"): 1}
    second = case.run()
    assert dict(second.deliveries) == {("late", "desk"): 1}
    [row] = case.read("deliveries")
    assert (row["subject"], row["body"], row["metadata"]["pointsman-hops"]) == ("late.orders.remind", "an order", "1")
    (tmp_path / "pipeline.yaml").write_text(QUEUE_PIPELINE.replace("subscription: shop, ", ""))
    with pytest.raises(InputError, match="let the source have 'options"):
        case.run()


def test_a_saga_times_out_by_the_times_of_the_messages(tmp_path: Path, spark: SparkSession) -> None:
    """The command that it sends then is among what was followed, and is routed and delivered as any message."""
    case = Case(tmp_path, spark)
    case.add("1.json", {"subject": "orders.created", "id": "1", "time": "2026-01-01T00:00:00Z"})
    case.run()
    case.add("2.json", {"subject": "nobody", "id": "2", "time": "2026-01-01T01:00:00Z"})
    totals = case.run()
    commands = [row for row in case.read("followed") if row.get("subject")]
    assert [row["subject"] for row in commands] == ["orders.remind"]
    assert totals.commands is not None
    assert dict(totals.commands.deliveries) == {("archive", "archive"): 1}
    with Queue(tmp_path / "archive.db") as queue:
        put = {message.id: message.routing_key for message in queue.messages()}
    assert put == {"1/archive/archive": "orders.created", f"{commands[0]['id']}/archive/archive": "orders.remind"}


def test_the_result_of_a_gathering_goes_back_to_the_one_who_asked(tmp_path: Path, spark: SparkSession) -> None:
    """It is routed as any message, under the subject that the request has in ``reply-to``, as in the broker."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text("""
destinations: {one: {}, two: {}, shop: {}}
routes:
  - name: prices
    pattern: prices.ask
    strategy: scatter-gather
    gather: {timeout: 5, aggregation: min, field: price, answers: prices.answer}
    destinations: [one, two]
  - {name: found, pattern: shop.prices, destinations: [shop]}
""")
    (tmp_path / "pipeline.yaml").write_text("{table: table.yaml, source: {path: in}}")
    asked = {"subject": "prices.ask", "correlation_id": "offer", "time": "2026-01-01T00:00:00Z"}
    answer = {"subject": "prices.answer", "correlation_id": "offer", "time": "2026-01-01T00:00:01Z"}
    case.add(
        "1.json",
        {**asked, "id": "1", "metadata": {"reply-to": "shop.prices"}},
        {**asked, "id": "2", "correlation_id": "nobody waits"},
        {**answer, "id": "3", "metadata": {"target": "one"}, "body": {"price": 7}},
        {**answer, "id": "4", "metadata": {"target": "two"}, "body": {"price": 9007199254740993}},
    )
    totals = case.run()
    assert totals.commands is not None
    assert dict(totals.commands.deliveries) == {("found", "shop"): 1}
    [row] = outputs.rows(tmp_path / "out" / "commands", "deliveries")
    assert (row["subject"], row["correlation_id"], row["metadata"]) == ("shop.prices", "offer", {"gathered": "prices"})
    result = json.loads(row["body"])
    assert (result["result"], result["reason"], result["missing"]) == ({"price": 7}, "all", [])
    told = [fields for what, fields in case.told if what == "followed"]
    assert told[-1]["request asked"] == 2
    assert told[-1]["result all"] == 1
