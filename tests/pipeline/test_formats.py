"""Messages are read from any format and written to any; what cannot be read is set aside, and no row is left out."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.columns.receive import receive
from pointsman.errors import InputError, MessageError
from pointsman.pipeline import json_lines
from pointsman.pipeline.destinations.folder import save
from pointsman.pipeline.formats import format_of, read_archive, read_messages, stream_messages
from pointsman.pipeline.json_lines import PLACE
from pointsman.store.queue import Queue
from pointsman.table.tools.messages_file import TOO_LONG, read_line

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

ODD_LINES = [
    b'{"subject": "a", "body": {"b": 1.50, "a": [1e20, "\xc3\xa9"]}}',
    b'{"subject": "a", "body": "text", "metadata": {"k": "v", "\xc3\xa9": ""}, "content_type": "text/plain"}',
    b'{"subject": "a", "body_base64": "/w==", "time": "2024-02-29T10:00:00.123456+02:00", "id": "x"}',
    b'{"subject": "a", "correlation_id": null, "causation_id": "c", "source": "shop"}\r',
    b'{"subject": "a"} {"subject": "b"}',
    b'{"subject": "a", "subject": "b"}',
    b'{"subject": 5}',
    b'{"subject": "a", "metadata": {"n": 1}}',
    b'{"subject": "a", "colour": "red"}',
    b'{"subject": "a", "body": NaN}',
    b'{"subject": "a", "time": "yesterday"}',
    b"{'subject': 'a'}",
    b"\xff\xfe",
    b"[]",
    b" \t\r",
    b"",
    b'{"subject": "\\ud800"}',
]


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[None]:
    """Files are read in parts of a few lines."""
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "1000")
    yield
    spark.conf.set(name, before or "")


def expected(line: bytes, name: str) -> tuple[Any, ...]:
    """What the reader of the project makes of a line."""
    try:
        message = read_line(line, name)
    except MessageError as error:
        return name, None, line, None, None, ("receive", error.code, error.problem)
    fields = (message.source, message.correlation_id, message.causation_id, message.content_type)
    time = None if message.time is None else message.time.astimezone(UTC)
    return message.id, message.subject, message.body, dict(message.metadata), (*fields, time), None


def found(row: Any) -> tuple[Any, ...]:
    """The same of a row."""
    problem = None if row.problem is None else tuple(row.problem)
    fields = (row.source, row.correlation_id, row.causation_id, row.content_type)
    time = None if row.time is None else row.time.astimezone(UTC)
    return row.id, row.subject, bytes(row.body), row.metadata, None if problem else (*fields, time), problem


@pytest.mark.usefixtures("small_splits")
def test_a_line_means_on_spark_what_it_means_everywhere(spark: SparkSession, tmp_path: Path) -> None:
    """Also in parts of files, with its place; a line that is no message keeps its text and says what is wrong."""
    files = {"a b.jsonl": ODD_LINES * 3, "c.jsonl": ODD_LINES[::-1]}
    for name, lines in files.items():
        (tmp_path / name).write_bytes(b"\n".join(lines))
    archive = read_archive(spark, tmp_path)
    assert archive.messages.rdd.getNumPartitions() > 2
    rows = {archive.line(row[PLACE]): found(row) for row in archive.messages.collect()}
    assert rows == {
        (str(tmp_path / name), number): expected(line, f"{name} line {number}")
        for name, lines in files.items()
        for number, line in enumerate(lines, 1)
        if line.strip()
    }
    [alone] = read_messages(spark, tmp_path / "c.jsonl").where("id = 'line 17'").collect()
    assert (alone.position, alone.subject) == (17, "a")


TEXTS = st.text(st.characters(exclude_characters="\n"), max_size=5)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=4,
)
KEYS = st.sampled_from(["subject", "id", "metadata", "body", "body_base64", "time", "correlation_id", "colour"])


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(st.dictionaries(KEYS, st.one_of(VALUES, TEXTS)).map(lambda data: {"subject": "a"} | data), max_size=8))
def test_whatever_a_line_holds_its_columns_are_those_of_the_message(lines: list[dict[str, Any]]) -> None:
    """As Arrow, which is what crosses between Spark and Python."""
    texts = [json.dumps(each).encode() for each in lines]
    made = receive(pa.array(texts, pa.binary()), pa.array(["line 1"] * len(texts), pa.string())).to_pylist()
    for text, row in zip(texts, made, strict=True):
        wanted = expected(text, "line 1")
        assert (row["id"], row["subject"]) == wanted[:2]
        if wanted[-1] is None:
            assert (row["body"], dict(row["metadata"])) == wanted[2:4]
        else:
            assert tuple(row["problem"].values()) == wanted[-1]


def test_a_line_that_is_too_long_is_no_message(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark does not hand it over at all; its text is the body."""
    monkeypatch.setattr(json_lines, "MAXIMUM_LINE", 20)
    (tmp_path / "in.jsonl").write_text('{"subject": "a"}\n{"subject": "a", "id": "x"}\n')
    short, long = read_messages(spark, tmp_path / "in.jsonl").orderBy("position").collect()
    assert (short.subject, short.problem) == ("a", None)
    assert (long.id, bytes(long.body)) == ("line 2", b'{"subject": "a", "id": "x"}')
    assert tuple(long.problem) == ("receive", "bad-message", TOO_LONG)


def test_csv_has_names_in_its_first_line_and_a_row_of_another_length_is_set_aside(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Metadata is a JSON object, the time a text; what is neither is set aside as well."""
    (tmp_path / "in.csv").write_text(
        "subject,metadata,time,colour\n"
        'a,"{""k"": ""v""}",2024-01-01T00:00:00Z,red\n'
        "b,,,\n"
        "c,,,,,,\n"
        "d,{,,\n"
        "e,,yesterday,\n"
    )
    rows = {row.subject: row for row in read_messages(spark, tmp_path / "in.csv").collect()}
    assert rows["a"].metadata == {"k": "v"}
    assert rows["a"].time.astimezone(UTC) == datetime(2024, 1, 1, tzinfo=UTC)
    assert rows["a"].colour == "red"
    assert [rows[name].problem is None for name in "abcde"] == [True, True, False, False, False]
    assert rows["c"].body == "c,,,,,,"
    assert tuple(rows["d"].problem) == ("receive", "bad-message", "metadata is not a JSON object of texts: {")
    assert rows["e"].problem.reason == "time is not a time: yesterday"


def test_json_may_have_what_a_schema_names_and_who_published_it_and_its_position(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What is of another type keeps its text; what a schema says of the fields of a message is overlooked."""
    lines = [
        '{"subject": "a", "amount": 1.5, "principal": "shop", "position": 7}',
        '{"subject": "b", "amount": "much"}',
        '{"subject": "c", "colour": "red"}',
        '{"subject": "d", "position": 1.5}',
        '{"subject": "e", "principal": 5}',
        "no",
    ]
    (tmp_path / "in.json").write_text("\n".join(lines))
    options = {"schema": "subject int, amount double"}
    rows = read_messages(spark, tmp_path / "in.json", "json", options).orderBy("position").collect()
    assert [(row.subject, row.amount, row.principal, row.position) for row in rows if row.problem is None] == [
        ("a", 1.5, "shop", 7)
    ]
    assert [(row.id, bytes(row.body).decode(), row.problem.reason) for row in rows if row.problem] == [
        ("line 2", lines[1], "the line is not as the columns say"),
        ("line 3", lines[2], "a message has no 'colour'"),
        ("line 4", lines[3], "position is 1.5, not a whole number of 64 bits"),
        ("line 5", lines[4], "principal is no text that UTF-8 can write, but '5'"),
        ("line 6", lines[5], "not JSON: Expecting value"),
    ]
    with pytest.raises(InputError, match="no columns with names"):
        read_messages(spark, tmp_path / "in.json", "json", {"schema": "int"})


def streamed(stream: DataFrame) -> list[Any]:
    """The rows of all batches of a stream that ends with its source."""
    rows: list[Any] = []
    query = stream.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect())).trigger(availableNow=True)
    assert query.start().awaitTermination(120)
    return rows


def test_a_stream_reads_lines_as_a_batch_does(spark: SparkSession, tmp_path: Path) -> None:
    """But for the names after lines, which a stream has none of; fields may have other keys."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.jsonl").write_bytes(b"\n".join(ODD_LINES))
    wanted = [expected(line, "-") for line in ODD_LINES if line.strip()]
    for row in streamed(stream_messages(spark, str(tmp_path / "in"), "json")):
        got = found(row)
        [same] = [each for each in wanted if each[1:3] == got[1:3] and each[5] == got[5]]
        wanted.remove(same)
        assert (got[0], got[3]) == (None if same[0] == "-" else same[0], same[3])
    assert wanted == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "1.jsonl").write_text('{"topic": "a", "n": 3}\n{"topic": "a", "subject": "b"}\n')
    names = {"topic": "subject", "n": "position"}
    first, second = streamed(stream_messages(spark, str(tmp_path / "other"), "json", {}, names))
    assert (first.subject, first.position, first.id, first.correlation_id) == ("a", 3, None, None)
    assert second.problem.reason == "there are both 'topic' and 'subject'"


def test_other_files_are_streamed_with_the_columns_that_they_have(spark: SparkSession, tmp_path: Path) -> None:
    """CSV by its first line, Parquet by what is there; a column that is named must be."""
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "1.csv").write_text('topic,metadata\na,"{""k"": ""v""}"\nb,\nc,,,\n')
    rows = {
        row.subject: row
        for row in streamed(stream_messages(spark, str(tmp_path / "csv"), "csv", {}, {"topic": "subject"}))
    }
    assert (rows["a"].metadata, rows["b"].problem, rows["c"].problem.code) == ({"k": "v"}, None, "bad-message")
    spark.createDataFrame([("a", 1)], "subject string, amount int").write.parquet(str(tmp_path / "parquet"))
    [row] = streamed(stream_messages(spark, str(tmp_path / "parquet"), "parquet"))
    assert (row.subject, row.amount, row.problem) == ("a", 1, None)
    with pytest.raises(InputError, match="the source has no column 'topic' for 'subject'"):
        stream_messages(spark, str(tmp_path / "parquet"), "parquet", {}, {"topic": "subject"})


def test_the_queue_is_a_format_too(spark: SparkSession, tmp_path: Path) -> None:
    """By the path of its file."""
    with Queue(tmp_path / "shop.db") as queue:
        queue.put(b"one", "orders.new", id="1")
    [row] = read_messages(spark, tmp_path / "shop.db").collect()
    assert (row.subject, bytes(row.body), row.id) == ("orders.new", b"one", "1")


def test_formats_of_text_hold_any_body(spark: SparkSession, tmp_path: Path) -> None:
    """As text, or as Base64; with folders by the values of a column."""
    frame = spark.createDataFrame(
        [("x", b"\xc3\xa9", {"k": "v"}), ("y", b"\xff", None)], "to string, body binary, metadata map<string,string>"
    ).coalesce(1)
    save(frame, "json", {}, str(tmp_path / "json"), by=("to",))
    lines = [json.loads(next((tmp_path / "json" / f"to={to}").glob("*.json")).read_text()) for to in "xy"]
    assert lines == [
        {"body": "é", "metadata": {"k": "v"}},
        {"body_base64": base64.b64encode(b"\xff").decode()},
    ]
    save(frame, "csv", {}, str(tmp_path / "csv"))
    [file] = (tmp_path / "csv").glob("*.csv")
    assert file.read_text() == 'to,body,body_base64,metadata\nx,é,,"{""k"":""v""}"\ny,,/w==,\n'


def test_what_spark_refuses_is_told_in_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """A file that is not there, and a format that is none."""
    with pytest.raises(InputError) as caught:
        read_messages(spark, tmp_path / "none", "parquet")
    assert caught.value.code == "no-file"
    with pytest.raises(InputError, match=r"\S: \[DATA_SOURCE_NOT_FOUND\] Failed to find") as caught:
        read_messages(spark, tmp_path, "nonsense")
    assert (caught.value.code, "\n" in caught.value.problem) == ("spark-failed", False)


def test_the_format_is_told_by_the_endings_of_names(tmp_path: Path) -> None:
    """Those of the files that Spark reads, if it is a folder."""
    for name, kind in [
        ("a.jsonl.gz", "json"),
        ("b.CSV", "csv"),
        ("c.snappy.parquet", "parquet"),
        ("d.db", "pointsman"),
    ]:
        file = tmp_path / name / name
        file.parent.mkdir()
        file.touch()
        (file.parent / "_SUCCESS").touch()
        assert (format_of(file), format_of(file.parent)) == (kind, kind)
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    assert format_of(tmp_path / "delta") == "delta"
    assert format_of("s3://shop/orders.parquet") == "parquet"


@pytest.mark.parametrize(
    ("names", "problem"),
    [([], "no format can be told"), (["a"], "no format can be told"), (["a.csv", "b.json"], "several formats")],
)
def test_a_format_that_cannot_be_told_must_be_named(tmp_path: Path, names: list[str], problem: str) -> None:
    """Rather than guessed."""
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=problem) as caught:
        format_of(tmp_path)
    assert caught.value.code == "bad-usage"


def test_a_path_that_leads_nowhere_has_no_format(tmp_path: Path) -> None:
    """It is an error about the file."""
    with pytest.raises(InputError) as caught:
        format_of(tmp_path / "none.csv")
    assert caught.value.code == "no-file"


def test_a_time_without_a_zone_is_in_utc_whatever_the_zone_of_the_session_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As in process; one that names a zone keeps it."""
    texts = ["2026-01-01 10:00:00", "2026-01-01T10:00", "2026-01-01T10:00:00Z", "2026-01-01 12:00:00+02:00"]
    lines = [f"{text},a,{text}" for text in [*texts, "2026-01-01"]]
    (tmp_path / "in.csv").write_text("\n".join(["id,subject,time", *lines]) + "\n")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        rows = read_messages(spark, tmp_path / "in.csv").select("id", sf.unix_micros("time").alias("at")).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    ten = int(datetime(2026, 1, 1, 10, tzinfo=UTC).timestamp()) * 1_000_000
    assert {row.id: row.at for row in rows} == dict.fromkeys(texts, ten) | {"2026-01-01": ten - 36_000_000_000}


def test_a_file_of_json_without_lines_has_no_messages(spark: SparkSession, tmp_path: Path) -> None:
    """On both kinds of session: an empty DataFrame has to say its columns."""
    path = tmp_path / "empty.jsonl"
    path.write_text("\n")
    assert read_messages(spark, path).count() == 0
    path.write_text("")
    assert read_messages(spark, path).count() == 0
