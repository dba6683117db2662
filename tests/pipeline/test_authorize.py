"""Messages are refused on Spark exactly as the access rules of the table refuse them."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from pointsman import columns
from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.pipeline import authorize
from pointsman.table.routing_table import RoutingTable
from tests.pipeline import generated

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLES = max(settings().max_examples // 15, 5)
SHOP = RoutingTable.parse(
    "access: {shop: {publish: [orders.>], deny: {publish: [orders.secret]}}, desk: {publish: [desk.*]}}"
)
PAIR = "principal string, subject string"


def expected(table: RoutingTable, principal: str | None, subject: str) -> str | None:
    """Why the message is refused by access; None if it is not."""
    if table.access is None or principal is None:
        return None
    verdict = table.access.check(principal, "publish", subject)
    if verdict.allowed:
        return None
    assert table.decide(Message(subject), principal=principal).refused == verdict.reason
    return verdict.reason


def reasons(found: DataFrame) -> list[str | None]:
    """Why each message is refused, in the order of their numbers."""
    rows = sorted(found.collect(), key=lambda row: row.number)
    for row in rows:
        assert row.problem is None or (row.problem.stage, row.problem.code) == ("authorize", "publish-refused")
    return [row.problem and row.problem.reason for row in rows]


def sent(spark: SparkSession, *rows: tuple[str | None, str | None]) -> DataFrame:
    """Numbered messages of principals, in one partition."""
    numbered = [(number, *row) for number, row in enumerate(rows)]
    return spark.createDataFrame(numbered, f"number int, {PAIR}").coalesce(1)


def test_every_message_is_refused_as_decide_refuses_it(spark: SparkSession) -> None:
    """With the very reason, on generated tables; one job for many of them."""
    cases = generated.several(generated.guarded(), min(TABLES, 50))
    frames, wanted = [], []
    for plain, pairs in cases:
        table = RoutingTable.from_plain(plain)
        numbered = [(number, *pair) for number, pair in enumerate(pairs, len(wanted))]
        frames.append(authorize(spark.createDataFrame(numbered, f"number int, {PAIR}").coalesce(1), table))
        wanted += [expected(table, *pair) for pair in pairs]
    assert reasons(reduce(DataFrame.unionByName, frames).coalesce(2)) == wanted, cases


@given(generated.guarded())
def test_what_goes_to_python_comes_back_with_the_reasons_of_access(
    case: tuple[dict[str, Any], list[tuple[str | None, str]]],
) -> None:
    """Without Spark, so many more of them; null where either is null."""
    table = RoutingTable.from_plain(case[0])
    pairs = [*case[1], ("shop", None), (None, None), *case[1]]
    principals, subjects = (pa.array(column, pa.string()) for column in zip(*pairs, strict=True))
    found = columns.route(pa.table({"subject": subjects, "principal": principals}), table).quarantine.to_pylist()
    wanted = {
        f"row-{number}": reason
        for number, (principal, subject) in enumerate(pairs)
        if subject is not None and (reason := expected(table, principal, subject)) is not None
    }
    assert {row["id"]: row["problem"]["reason"] for row in found if row["problem"]["stage"] == "authorize"} == wanted


def test_the_principal_given_is_that_of_all_messages(spark: SparkSession) -> None:
    """Whatever their column says; without either, all of them are those of trusted callers."""
    messages = sent(spark, ("desk", "orders.new"), (None, "desk.1"), ("nobody", "orders.secret"))
    assert reasons(authorize(messages, SHOP, principal="shop")) == [
        None,
        "'shop' may not publish to 'desk.1': none of its 2 publish rules matches",
        "'shop' may not publish to 'orders.secret': deny publish 'orders.secret' (deny.publish[0])",
    ]
    nameless = messages.drop("principal")
    assert reasons(authorize(nameless, SHOP, principal="nobody")) == ["there is no principal 'nobody'"] * 3
    assert reasons(authorize(nameless, SHOP)) == [None] * 3


def test_a_table_that_names_nobody_refuses_everybody(spark: SparkSession) -> None:
    """A table without access rules lets everybody pass; a trusted caller passes in any case."""
    messages = sent(spark, ("shop", "a"), (None, "a"))
    assert reasons(authorize(messages, RoutingTable.parse("access: {}"))) == ["there is no principal 'shop'", None]
    assert reasons(authorize(messages, RoutingTable.parse("name: open"))) == [None, None]


def test_rows_with_a_problem_and_all_other_columns_stay_as_they_are(spark: SparkSession) -> None:
    """A message without a subject passes; bytes that are no text are refused and stop nothing."""
    problem = "struct<stage:string,code:string,reason:string>"
    schema = f"`a.b` array<int>, principal string, subject binary, number int, problem {problem}"
    known = Row(stage="read", code="bad-message", reason="cut off")
    rows = [
        ([1], "nobody", b"a", 0, known),
        (None, "nobody", None, 1, None),
        ([], None, b"a", 2, None),
        (None, "shop", b"orders.\xff", 3, None),
    ]
    given = spark.createDataFrame(rows, schema).coalesce(1)
    messages = given.withColumn("subject", sf.col("subject").cast("string"))
    found = authorize(messages, SHOP)
    assert found.schema == messages.schema
    out = sorted(found.withColumn("subject", sf.col("subject").cast("binary")).collect(), key=lambda row: row.number)
    assert [tuple(row) for row in out[:3]] == rows[:3]
    assert out[3].subject == b"orders.\xff"
    assert out[3].problem.reason == (
        r"'shop' may not publish to 'orders.\udcff': it is no subject, "
        "the character 8 of the nats subject is a lone surrogate"
    )


def test_only_the_principal_and_the_subject_go_to_python(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, and not at all when there is nothing to ask."""
    messages = spark.createDataFrame([("shop", "orders.a", "body")], f"{PAIR}, body string")
    authorize(messages, SHOP).explain()
    crossing = re.findall(r"EvalPython \[(.*?)\],", capsys.readouterr().out)
    assert len(crossing) == 1
    assert "principal" in crossing[0]
    assert "subject" in crossing[0]
    assert "body" not in crossing[0]
    for frame in (authorize(messages, RoutingTable.parse("")), authorize(messages.drop("principal"), SHOP)):
        frame.explain()
        assert "EvalPython" not in capsys.readouterr().out


def test_columns_that_cannot_be_used_are_refused_by_name(spark: SparkSession) -> None:
    """Before anything runs, and whether or not there is anything to check."""
    for schema, problem in (
        ("topic string", "no column 'subject'"),
        ("subject string, principal int", "'principal' of messages is int, not string"),
    ):
        for table in (SHOP, RoutingTable.parse("")):
            with pytest.raises(InputError, match=problem) as caught:
                authorize(spark.createDataFrame([], schema), table)
            assert caught.value.code == "bad-usage"


def test_a_stream_is_checked_as_a_batch_is(spark: SparkSession, tmp_path: Path) -> None:
    """Over several micro-batches."""
    pairs = [(("shop", "desk", None)[number % 3], f"orders.{number % 5}") for number in range(40)]
    messages = sent(spark, *pairs).repartition(2)
    messages.write.json(str(tmp_path / "in"))
    stream = spark.readStream.schema(messages.schema).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    query = (
        authorize(stream, SHOP)
        .writeStream.format("memory")
        .queryName("authorized")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert reasons(spark.table("authorized")) == [expected(SHOP, *pair) for pair in pairs]
