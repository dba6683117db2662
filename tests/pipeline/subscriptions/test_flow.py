"""The diagram of the wildcard subscriptions, from a source file to destination files, on Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.conditions import AllOf, AnyOf, Group, Matcher, NumberComparison, Subscription
from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.patterns import Pattern
from pointsman.pipeline import resolve
from pointsman.pipeline.subscriptions import versions as versions_module
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions, compile_subscriptions
from pointsman.pipeline.subscriptions.flow import SubscriptionFlow, input_adapter
from pointsman.pipeline.subscriptions.frame import with_destinations
from pointsman.pipeline.subscriptions.versions import SubscriptionVersions, read_files
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.writing import write_subscription
from pointsman.table.routing_table import RoutingTable
from tests.pipeline import outputs

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = RoutingTable.from_plain({"destinations": {"archive": None, "desk": None, "pager": None}})
NEUTRINO = Matcher("title", "?eutrino*", partial=True)
PHYSICS = Matcher("field", "physics")
REVIEWS = Group(False, (Matcher("kind", "review"),))
CITED = NumberComparison("cited", ">=", 100)
STERILE = {"title": "Twin Sterile Neutrinos", "field": "physics", "cited": "120"}
SUBSCRIPTIONS = (
    WildcardSubscription("everything", "ann", ("archive",), Pattern("papers.>")),
    WildcardSubscription("neutrinos", "ann", ("archive", "desk"), None, NEUTRINO),
    WildcardSubscription("physics", "bob", ("desk",), Pattern("papers.*"), AnyOf((PHYSICS, NEUTRINO))),
    WildcardSubscription("no-reviews", "bob", ("desk",), None, Subscription(Group(True, (PHYSICS, NEUTRINO)), REVIEWS)),
    WildcardSubscription("cited", "cy", ("pager", "desk"), None, AllOf((PHYSICS, CITED))),
    WildcardSubscription("off", "cy", ("pager",), Pattern(">"), enabled=False),
    WildcardSubscription("over", "cy", ("pager",), Pattern(">"), expires=1.0),
)
MESSAGES = (
    Message("papers.new", b"1", id="m1", metadata=STERILE),
    Message("papers.old", b"2", id="m2", metadata={"title": "neutrino", "field": "physics", "kind": "review"}),
    Message("papers.a.b", b"3", id="m3", metadata={"title": "Whales", "field": "biology"}),
    Message("talks", b"4", id="m4", metadata={"title": "A neutrino talk", "cited": "99"}),
    Message("talks", b"5", id="m5", metadata={}),
)


def expected(subscriptions: tuple[WildcardSubscription, ...]) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """The deliveries that brute force says: message, owner, destination, and which subscriptions matched."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for message in MESSAGES:
        for each in subscriptions:
            if each.is_live(2.0) and each.matches(message.subject, message.metadata):
                for destination in each.destinations:
                    found.setdefault((message.id, each.owner, destination), []).append(each.id)
    return {(*place, tuple(sorted(ids))) for place, ids in found.items()}


def write_lines(path: Path, subscriptions: tuple[WildcardSubscription, ...]) -> None:
    """As an export has them; the file is there whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_text("".join(json.dumps(write_subscription(each)) + "\n" for each in subscriptions))
    draft.replace(path)


def delivered(out: Path) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """What is in the destination files."""
    rows = []
    for file in outputs.files(out, "deliveries", ending=".json"):
        destination = file.parent.name.partition("=")[2]
        rows += [json.loads(line) | {"destination": destination} for line in file.read_text().splitlines()]
    assert all(row["matched"] == len(row["subscriptions"]) for row in rows)
    assert {row["delivery_id"] for row in rows} == {
        f"{r['id']}/subscriptions:{r['owner']}/{r['destination']}" for r in rows
    }
    return {(row["id"], row["owner"], row["destination"], tuple(row["subscriptions"])) for row in rows}


def flow(spark: SparkSession, folder: Path, told: list[Any], table: RoutingTable = TABLE) -> SubscriptionFlow:
    """The flow in a folder, with pages of two."""
    versions = SubscriptionVersions(
        lambda: with_destinations(read_files(spark, folder / "subscriptions.jsonl")),
        folder / "versions",
        stamp=(folder / "subscriptions.jsonl").read_bytes,
        tell=lambda event, **fields: told.append((event, fields)),
    )
    return SubscriptionFlow(versions, table, folder / "out", page=2)


def run(spark: SparkSession, folder: Path, own: SubscriptionFlow) -> None:
    """Streams what is in the source."""
    messages = input_adapter(spark, folder / "source")
    query = (
        messages.writeStream.foreachBatch(own)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)


def write_messages(folder: Path, name: str, messages: tuple[Message, ...]) -> None:
    """A source file."""
    (folder / "source").mkdir(exist_ok=True)
    lines = [
        {"id": each.id, "subject": each.subject, "body": "x", "metadata": dict(each.metadata)} for each in messages
    ]
    (folder / "source" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.classic
def test_from_a_source_file_to_destination_files_in_pages_of_two(spark: SparkSession, tmp_path: Path) -> None:
    """Source, input adapter, resolver, matchers, subscriptions, output adapter, destinations; then another version.

    The second version is taken up between two batches, one that cannot be used is told and left, and a batch that is
    repeated works with the version that it began with.
    """
    told: list[Any] = []
    write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    write_messages(tmp_path, "one.json", MESSAGES)
    own = flow(spark, tmp_path, told)
    run(spark, tmp_path, own)
    before = expected(SUBSCRIPTIONS)
    assert max(len(ids) for *_, ids in before) == 2
    assert delivered(tmp_path / "out") == before
    assert told == []

    write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS[2:])
    again = tuple(Message(each.subject, each.body, id=f"{each.id}-again", metadata=each.metadata) for each in MESSAGES)
    write_messages(tmp_path, "two.json", again)
    (tmp_path / "source" / "bad.json").write_text("no message\n")
    run(spark, tmp_path, own)
    [(event, fields)] = told
    assert event == "subscriptions-taken-up"
    assert fields["version"] != fields["instead_of"]
    after = {(f"{id}-again", *rest) for id, *rest in expected(SUBSCRIPTIONS[2:])}
    assert delivered(tmp_path / "out") == before | after
    wrong = [path.read_text() for path in (tmp_path / "out" / "quarantined").glob("batch=1/*.json")]
    assert [json.loads(line)["problem"]["code"] for text in wrong for line in text.splitlines()] == ["bad-json"]

    unusable = {"id": "x", "owner": "x", "destinations": ["desk"], "pattern": ".."}
    (tmp_path / "subscriptions.jsonl").write_text(json.dumps(unusable))
    first = spark.createDataFrame([("m9", "papers.a.b", {})], "id string, subject string, metadata map<string,string>")
    own(first, 0)
    assert told[-1][0] == "subscriptions-refused"
    assert told[-1][1]["code"] == "empty-token"
    repeated = {row for row in delivered(tmp_path / "out") if row[0] == "m9"}
    assert repeated == {("m9", "ann", "archive", ("everything",))}


@pytest.mark.classic
def test_owners_get_what_they_may_read(spark: SparkSession, tmp_path: Path) -> None:
    """By the access rules of the table, as ``Access.check`` says."""
    rules = {
        "ann": {"subscribe": ["papers.>"], "deny": {"subscribe": ["papers.old"]}},
        "bob": {"publish": [">"]},
        "cy": {"subscribe": [">"]},
    }
    table = RoutingTable.from_plain({"destinations": {"archive": None, "desk": None, "pager": None}, "access": rules})
    access = table.access
    assert access is not None
    write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    write_messages(tmp_path, "one.json", MESSAGES)
    run(spark, tmp_path, flow(spark, tmp_path, [], table))
    subjects = {message.id: message.subject for message in MESSAGES}
    wanted = expected(SUBSCRIPTIONS)
    may = {each for each in wanted if access.check(each[1], "subscribe", subjects[each[0]]).allowed}
    assert {each[1] for each in may} == {"ann", "cy"}
    assert delivered(tmp_path / "out") == may < wanted


def test_versions_are_kept_for_batches_and_no_longer(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ones are; a batch whose version is gone cannot be repeated. Files are read again when they changed."""
    monkeypatch.setattr(versions_module, "KEPT", 2)
    path = tmp_path / "subscriptions.jsonl"
    write_lines(path, SUBSCRIPTIONS[:1])
    told: list[str] = []
    versions = SubscriptionVersions.of_files(
        spark, path, tmp_path / "checkpoint", tell=lambda event, **fields: told.append(fields.get("code", event))
    )
    first = versions.of_batch(0)
    assert versions.of_batch(1) is first
    for number in (1, 2):
        write_lines(path, SUBSCRIPTIONS[number : number + 1])
        os.utime(path, ns=(0, number))
        versions.current()
    with pytest.raises(InputError) as caught:
        versions.of_batch(0)
    assert caught.value.code == "bad-state"
    assert (last := versions.of_batch(2)) == versions.current() != first
    path.write_text("no JSON")
    assert versions.of_batch(3) == last
    path.unlink()
    assert versions.of_batch(4) == last
    assert told == ["subscriptions-taken-up", "subscriptions-taken-up", "spark-failed", "no-file"]


def test_what_is_delivered_needs_owner_and_destinations(spark: SparkSession) -> None:
    """They are named when they are missing."""
    with pytest.raises(InputError, match="'owner'"):
        with_destinations(spark.createDataFrame([], "id string, destinations array<string>"))


def memory_of_workers(spark: SparkSession) -> int:
    """The most that a Python worker has held since this was asked before, in kilobytes."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            # From now on, the most is that of now.
            Path("/proc/self/clear_refs").write_text("5")
            yield pa.record_batch({"most": pa.array([int(lines["VmHWM"].split()[0])])})

    rows = spark.range(0, 64, 1, 8).mapInArrow(look, "most bigint").collect()
    return int(max(row.most for row in rows))


def everybody(spark: SparkSession, count: int) -> DataFrame:
    """So many subscriptions that the messages of ``reached`` all reach."""
    return spark.range(count).select(
        sf.col("id").alias("subscription_id"),
        sf.when(sf.col("id") % 2 == 0, "a.>").alias("pattern"),
        sf.lit(json.dumps({"key": "k", "pattern": "v"})).alias("condition"),
    )


def reached(spark: SparkSession, subscriptions: CompiledSubscriptions, messages: int, **how: Any) -> int:
    """How many subscriptions so many messages reach."""
    sent = spark.range(0, messages, 1, 1).select(
        sf.lit("a.b").alias("subject"), sf.create_map(sf.lit("k"), sf.lit("v")).alias("metadata")
    )
    return resolve(sent, subscriptions, **how).count()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nothing tells what a process holds")
def test_a_worker_stays_flat_when_messages_reach_everybody(spark: SparkSession) -> None:
    """What the workers hold at most does not depend on how many messages reach all subscriptions."""
    count = int(os.environ.get("POINTSMAN_SUBSCRIPTIONS", "100000"))
    compiled = compile_subscriptions(everybody(spark, count))
    held = []
    for messages in (2, 24):
        memory_of_workers(spark)
        assert reached(spark, compiled, messages, page=20_000) == messages * count
        held.append(memory_of_workers(spark))
    # What the 22 more messages reach would be 17 MB for each 100,000 subscriptions.
    assert held[1] - held[0] < 8_000 * max(1, count // 100_000)


def test_a_delivery_names_few_of_many_subscriptions(spark: SparkSession, tmp_path: Path) -> None:
    """A delivery says how many matched, and names the first hundred."""
    many = [
        (f"{number:03}", "ann", ["desk"], ">", None if number else json.dumps({"key": "a", "pattern": "*"}))
        for number in range(120)
    ]
    table = spark.createDataFrame(
        many, "id string, owner string, destinations array<string>, pattern string, condition string"
    )
    sent = spark.createDataFrame([("m", "a.b", {"a": "1"})], "id string, subject string, metadata map<string,string>")
    versions = SubscriptionVersions(lambda: with_destinations(table), tmp_path / "versions")
    [row] = SubscriptionFlow(versions, TABLE, tmp_path / "out", page=50).resolve(sent, 0).deliveries.collect()
    assert (row.matched, row.subscriptions, row.metadata) == (120, [f"{n:03}" for n in range(100)], {"a": "1"})


def test_a_message_without_a_subject_is_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    """It reaches nobody, and the reason is written."""
    write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    nameless = spark.createDataFrame([("m9", None, STERILE)], "id string, subject string, metadata map<string,string>")
    flow(spark, tmp_path, [])(nameless, 0)
    wrong = [path.read_text() for path in (tmp_path / "out" / "quarantined").glob("batch=0/*.json")]
    assert [json.loads(line)["id"] for text in wrong for line in text.splitlines()] == ["m9"]
    assert delivered(tmp_path / "out") == set()
