"""A pipeline with wildcard subscriptions besides its routes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.batch import BatchRunner
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.state import batches
from pointsman.pipeline.subscriptions.versions import versions_of_pipeline
from pointsman.pipeline.versions import Tables
from tests.pipeline.running.test_run import TABLE, Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.classic, pytest.mark.spark, pytest.mark.xdist_group("spark")]

LARGE = {"key": "size", "pattern": "large"}
ACCESS = """
access:
  ann: {publish: [">"], subscribe: [">"]}
  bob: {subscribe: [">"], deny: {subscribe: ["mail.>"]}}
"""


def subscription(id: str, owner: str, *destinations: str, **fields: Any) -> dict[str, Any]:
    """As a line of an export has it."""
    return {"id": id, "owner": owner, "destinations": destinations, **fields}


class SubscribedCase(Case):
    """A pipeline that has a file of subscriptions."""

    def subscribe(self, *subscriptions: dict[str, Any]) -> None:
        """The file has these and no others."""
        pipeline = self.folder / "pipeline.yaml"
        if "subscriptions:" not in pipeline.read_text():
            pipeline.write_text(f"{pipeline.read_text()}subscriptions: subscriptions.jsonl\n")
        draft = self.folder / "draft"
        draft.write_text("".join(json.dumps(each) + "\n" for each in subscriptions))
        draft.replace(self.folder / "subscriptions.jsonl")

    def deliveries(self, batch: int, destination: str) -> list[tuple[str, str, list[str]]]:
        """The id, the route and the subscriptions of what went to a destination."""
        rows = self.read("deliveries", f"batch={batch}", f"destination={destination}")
        return sorted((row["id"], row["route"], row.get("subscriptions", [])) for row in rows)


def quiet(*_: object, **__: object) -> None:
    """Is told everything, and says nothing."""


def runner_of(case: SubscribedCase, spark: SparkSession, clock: Callable[[], float] = lambda: 0.0) -> BatchRunner:
    """What runs the batches of a pipeline."""
    tables = Tables(case.folder / "table.yaml", None, case.folder / "checkpoint", quiet)
    path = str(case.folder / "subscriptions.jsonl")
    subscribed = versions_of_pipeline(spark, path, tables, case.folder / "own", quiet)
    file = PipelineFile.load(case.folder / "pipeline.yaml")
    return BatchRunner(file, tables, case.folder / "checkpoint", "run", quiet, clock, subscribed=subscribed)


def test_subscriptions_get_messages_besides_the_routes(tmp_path: Path, spark: SparkSession) -> None:
    """Once for each owner and destination; not what is quarantined, and new versions from batch to batch."""
    case = SubscribedCase(tmp_path, spark)
    case.subscribe(
        subscription("large", "ann", "desk", condition=LARGE),
        subscription("orders", "ann", "desk", pattern="orders.>"),
        subscription("all", "bob", "inbox", "leaving", pattern=">"),
        subscription("off", "bob", "inbox", pattern=">", enabled=False),
    )
    case.add(
        "1.json",
        {"subject": "orders.new", "id": "1", "metadata": {"size": "large"}},
        {"subject": "calls.a", "id": "2"},
        {"subject": "bad..subject", "id": "3", "metadata": {"size": "large"}},
        {"subject": "nobody", "id": "4"},
    )
    (tmp_path / "table.yaml").write_text(TABLE.replace("  desk:\n", "  desk:\n  inbox:\n  leaving:\n"))
    totals = case.run()
    assert dict(totals.deliveries) == {
        ("large", "desk"): 1,
        ("archive", "archive"): 1,
        ("calls", "first"): 1,
        ("subscriptions:", "desk"): 1,
        ("subscriptions:", "inbox"): 3,
        ("subscriptions:", "leaving"): 3,
    }
    assert case.deliveries(0, "desk") == [("1", "large", []), ("1", "subscriptions:ann", ["large", "orders"])]
    assert case.deliveries(0, "inbox") == [(id, "subscriptions:bob", ["all"]) for id in ("1", "2", "4")]
    # No route takes the message 4, but somebody has subscribed to it.
    assert (totals.unrouted, case.read("unrouted")) == (0, [])
    assert [(row["id"], "owner" in row) for row in case.read("quarantined")] == [("3", False)]
    known = batches.recorded(tmp_path / "checkpoint", 0)
    assert known is not None

    case.subscribe(subscription("calls", "cy", "inbox", pattern="calls.>"))
    case.add("2.json", {"subject": "calls.b", "id": "5"})
    again = case.run()
    # The call before is in flight no more.
    assert dict(again.deliveries) == {("calls", "first"): 1, ("subscriptions:", "inbox"): 1}
    assert case.deliveries(1, "inbox") == [("5", "subscriptions:cy", ["calls"])]
    later = batches.recorded(tmp_path / "checkpoint", 1)
    assert later is not None
    assert known[1]["subscriptions"] != later[1]["subscriptions"]


def test_an_owner_gets_only_what_it_may_read(tmp_path: Path, spark: SparkSession) -> None:
    """By the access rules of the table."""
    case = SubscribedCase(tmp_path, spark)
    case.subscribe(subscription("a", "ann", "desk", pattern=">"), subscription("b", "bob", "desk", pattern=">"))
    (tmp_path / "table.yaml").write_text(TABLE + ACCESS)
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(f"{pipeline.read_text()}principal: ann\n")
    case.add("1.json", {"subject": "mail.a", "id": "1"}, {"subject": "else", "id": "2"})
    case.run()
    assert case.deliveries(0, "desk") == [
        ("1", "subscriptions:ann", ["a"]),
        ("2", "subscriptions:ann", ["a"]),
        ("2", "subscriptions:bob", ["b"]),
    ]


def test_subscriptions_that_cannot_be_used_are_refused(tmp_path: Path, spark: SparkSession) -> None:
    """Before anything is read."""
    case = SubscribedCase(tmp_path, spark)
    case.add("1.json", {"subject": "a", "id": "1"})
    for wrong, said in (
        (subscription("a", "ann", "desk", condition={"not": LARGE}), "'a'"),
        (subscription("b", "ann", "nowhere", pattern=">"), "'b': the table has no destination 'nowhere'"),
    ):
        case.subscribe(wrong)
        with pytest.raises(InputError, match=said) as caught:
            case.run()
        assert caught.value.code == "bad-subscription"


def test_what_a_destination_that_is_gone_should_get_becomes_dead_letters(tmp_path: Path, spark: SparkSession) -> None:
    """The subscriptions were all right when they were taken up."""
    case = SubscribedCase(tmp_path, spark)
    case.subscribe(subscription("a", "ann", "leaving", pattern=">"))
    case.add("1.json", {"subject": "a", "id": "1"})
    with_it = TABLE.replace("  desk:\n", "  desk:\n  leaving:\n")
    (tmp_path / "table.yaml").write_text(with_it)
    runner = runner_of(case, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    runner(spark.createDataFrame([("1", "a")], "id string, subject string"), 0)
    assert dict(runner.totals.failed) == {"leaving": 1}


def test_a_batch_that_is_repeated_goes_by_the_time_and_the_version_that_it_began_with(
    tmp_path: Path, spark: SparkSession
) -> None:
    """A subscription that has expired meanwhile, or is gone, still gets its message."""
    case = SubscribedCase(tmp_path, spark)
    case.subscribe(subscription("short", "ann", "desk", pattern=">", expires=1_000.0))
    now = 999.0
    runner = runner_of(case, spark, lambda: now)
    messages = spark.createDataFrame([("1", "a")], "id string, subject string")
    for batch in (0, 0, 1):
        runner(messages, batch)
        now = 1_001.0
        case.subscribe(subscription("other", "bob", "desk", pattern="b", expires=1_000.0))
    assert case.deliveries(0, "desk") == [("1", "subscriptions:ann", ["short"])]
    assert case.deliveries(1, "desk") == []
    assert dict(runner.totals.deliveries) == {("subscriptions:", "desk"): 2}


def test_a_route_must_not_look_like_a_subscription(tmp_path: Path, spark: SparkSession) -> None:
    """Its deliveries would have the ids of others."""
    case = SubscribedCase(tmp_path, spark)
    case.subscribe(subscription("a", "ann", "desk", pattern=">"))
    (tmp_path / "table.yaml").write_text(TABLE.replace("name: large", 'name: "subscriptions:ann"'))
    with pytest.raises(InputError, match="needs another name"):
        case.run()
