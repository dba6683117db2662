"""Subjects are translated on Spark as RoutingTable.decide translates them, by Spark's own functions and by Python."""

from __future__ import annotations

import re
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.errors import InputError, MissingExtraError, SubjectError, TemplateError
from pointsman.message import Message
from pointsman.patterns import DIALECTS
from pointsman.pipeline.authorize import authorize
from pointsman.pipeline.native_translation import fault, tokens_of, translated
from pointsman.pipeline.subject_map import map_texts
from pointsman.pipeline.template_plan import TemplatePlan, no_subject, plan_template
from pointsman.pipeline.translate import translate, translations, way
from pointsman.table.routing_table import RoutingTable
from tests.pipeline import generated

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

stage = sys.modules[translate.__module__]
TABLES = max(settings().max_examples // 6, 10)
AT_ONCE = 25
"""Tables whose translations are in one expression."""


def plain(dialect: str, *rules: tuple[str, ...]) -> dict[str, Any]:
    """A table of translations alone, each with a dialect of its own if it names one."""
    keys = ("from", "to", "dialect")
    return {"dialect": dialect, "translations": [dict(zip(keys, rule, strict=False)) for rule in rules]}


CORNERS: list[tuple[dict[str, Any], list[str]]] = [
    (plain("mqtt", ("+/#", "x/$1/#"), ("#", "all/#")), ["$s/a", "a/$s", "$", "a", "/", "a/+", "a/b/c", "", "a\x00"]),
    (plain("mqtt", ("a/+", "$1"), ("a/#", "#")), ["a/", "a", "a//", "a/b", "b"]),
    (plain("amqp", ("", "empty"), ("*", ""), ("#", "$1.end")), ["", "a", ".", "a.b", "x" * 255, "x" * 256, "." * 252]),
    (plain("amqp", ("a.*", "longer.$1"), ("a.#", "b")), ["a." + "x" * 250, "a." + "x" * 248, "a." + "é" * 125, "a"]),
    (
        plain("nats", ("a.>", "b.>"), ("+/#", "m/#", "mqtt"), ("#", "r.#", "amqp")),
        ["a.b/c", "a b/c", "a", "*", "a.*", "a.>", "", "a.\x00", "a..b", ".a", "a.", "a.b*", "é" * 200, "a.\x85\u2028"],
    ),
]
"""Tables that the functions of Spark can do, and subjects at the edges of what they match."""


def table_of(*rules: tuple[str, str], dialect: str = "nats") -> RoutingTable:
    """A table of translations alone."""
    return RoutingTable.from_plain(plain(dialect, *rules))


def sent(spark: SparkSession, *subjects: str | None) -> DataFrame:
    """Messages with nothing but a number and a subject, in one partition."""
    return spark.createDataFrame(list(enumerate(subjects)), "number int, subject string").coalesce(1)


def expected(table: RoutingTable, subject: str) -> tuple[str, str, str | None]:
    """The new subject, the old one, and why there is no new one."""
    try:
        return table.decide(Message(subject)).subject, subject, None
    except TemplateError as error:
        assert isinstance(error.__cause__, SubjectError)
        return subject, subject, no_subject(error.text or "", error.__cause__.problem)


def outcomes(found: DataFrame) -> list[tuple[str | None, str | None, str | None]]:
    """The same, as the stage says it, in the order of the numbers."""
    rows = sorted(found.collect(), key=lambda row: row.number)
    for row in rows:
        assert row.problem is None or (row.problem.stage, row.problem.code) == ("translate", "invalid-result")
    return [(row.subject, row.original_subject, row.problem and row.problem.reason) for row in rows]


def in_both_ways(
    monkeypatch: pytest.MonkeyPatch, messages: DataFrame, table: RoutingTable
) -> tuple[DataFrame, DataFrame]:
    """What the stage gives by Spark's own functions, and what it gives by Python."""
    assert way(table).native, way(table).why
    native = translate(messages, table)
    with monkeypatch.context() as patched:
        patched.setattr(stage, "MOST_NATIVE", 0)
        assert not way(table).native
        return native, translate(messages, table)


@pytest.mark.parametrize("job", range(-(-TABLES // AT_ONCE)))
def test_the_functions_of_spark_make_of_a_subject_what_decide_makes_of_it(spark: SparkSession, job: int) -> None:
    """On generated tables, which are all in one expression: it chooses by the number of the table."""
    cases = CORNERS + generated.several(generated.translated(generated.PLAIN), min(AT_ONCE, TABLES - job * AT_ONCE))
    tables = [_without_the_others(plain) for plain, _ in cases]
    plans = [stage._plans(table) for table in tables]
    assert all(isinstance(each, list) for each in plans)
    rows = [(number, subject) for number, (_, subjects) in enumerate(cases) for subject in subjects]
    frame = spark.createDataFrame(rows, "number int, subject string").coalesce(2)
    split = frame.withColumns({name: tokens_of(frame["subject"], DIALECTS[name]) for name in generated.PLAIN})
    names = {name: name for name in generated.PLAIN}
    made = split.withColumn(
        "made", _by_number([translated(each, "subject", names) if each else "NULL" for each in plans])
    )
    told = made.withColumn("reason", _by_number([fault(each, "made") for each in plans]))
    found = told.select("number", "subject", "made.subject", "reason").collect()
    assert len(found) == len(rows)
    assert sum(new is not None for _, _, new, _ in found) > len(rows) // 10
    for number, subject, new, reason in found:
        wanted = expected(tables[number], subject)
        assert (subject if new is None or reason else new, subject, reason) == wanted, tables[number].plain


def _without_the_others(plain: dict[str, Any]) -> RoutingTable:
    """The table with the translations alone that the functions of Spark can do."""
    table = RoutingTable.from_plain(plain)
    kept = [
        written
        for written, rule in zip(plain["translations"], table.translations, strict=True)
        if isinstance(plan_template(rule.template), TemplatePlan)
    ]
    return RoutingTable.from_plain(plain | {"translations": kept})


def _by_number(expressions: list[str]) -> Column:
    branches = (f"WHEN number = {number} THEN {each}" for number, each in enumerate(expressions))
    return sf.expr(f"CASE {' '.join(branches)} END")


def test_the_stage_does_what_decide_does(spark: SparkSession) -> None:
    """On generated tables, each in the way that is its own."""
    cases = [
        *generated.several(generated.translated(), 6),
        *generated.several(generated.translated(generated.PLAIN), 3),
    ]
    frames, wanted = [], []
    for plain, subjects in cases:
        table = RoutingTable.from_plain(plain)
        numbered = list(enumerate(subjects, len(wanted)))
        frames.append(translate(spark.createDataFrame(numbered, "number int, subject string").coalesce(1), table))
        wanted += [expected(table, subject) for subject in subjects]
    assert outcomes(reduce(DataFrame.unionByName, frames).coalesce(2)) == wanted, cases


@settings(max_examples=settings().max_examples // 2)
@given(generated.translated())
@example(CORNERS[0])
@example(CORNERS[1])
@example(CORNERS[2])
@example(CORNERS[3])
@example(CORNERS[4])
def test_what_goes_to_python_comes_back_as_decide_has_it(case: tuple[dict[str, Any], list[str]]) -> None:
    """Without Spark, so many more of them; null where the subject stays."""
    table = RoutingTable.from_plain(case[0])
    subjects = [*case[1], None, *case[1]]
    for subject, made in zip(subjects, translations(table, pa.array(subjects)).to_pylist(), strict=True):
        new, reason = ((made or {}).get(name) for name in ("subject", "reason"))
        if subject is None:
            assert made is None
        else:
            assert (new or subject if new != "" else new, subject, reason) == expected(table, subject)


def test_each_subject_is_asked_about_once_in_a_batch() -> None:
    """However often it comes; a null is not asked about."""
    asked = []

    def ask(text: str) -> str:
        asked.append(text)
        return text * 2

    assert map_texts(pa.array(["a", None, "b", "a"]), ask, pa.string()).to_pylist() == ["aa", None, "bb", "aa"]
    assert asked == ["a", "b"]
    assert len(map_texts(pa.array([], pa.string()), ask, pa.string())) == 0


def test_without_spark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By each of the two stages that begin a pipeline."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    for call in (translate, authorize):
        with pytest.raises(MissingExtraError, match=r"pointsman\[spark\]"):
            call(None, table_of())


@pytest.mark.parametrize(
    ("dialect", "source", "target", "why"),
    [
        ("nats", "internal.*.events.*", "public.$1.notifications.$2", None),
        ("nats", "a.*.>", "b.{{ Wildcard( 1 ) }}.>", None),
        ("nats", "a.b", "", None),
        ("amqp", "a.*.#", "$2.$1.#", None),
        ("amqp", "", "empty", None),
        ("mqtt", "+/#", "all/$1/#", None),
        ("nats", "a.*", "b.{{split(1,-)}}", "'translation 1': 'b.{{split(1,-)}}' calls split"),
        ("nats", "a.*", "b.{{partition(3,1)}}", "'translation 1': 'b.{{partition(3,1)}}' calls partition"),
        ("amqp", "#.a", "b.$1", "'translation 1': '#.a' has '#' before the end"),
        ("amqp", "a.#.#", "b.$2", "'translation 1': 'a.#.#' has '#' before the end"),
        ("zato", "a", "b", "'translation 1': the dialect zato compares in its own way"),
    ],
)
def test_the_way_that_is_taken_is_known_and_explained(dialect: str, source: str, target: str, why: str | None) -> None:
    """One translation that has to go to Python takes all others along."""
    told = way(table_of((source, target), dialect=dialect))
    assert told == (why is None, why or "all of them go by whole tokens in their places")
    if why is not None and dialect != "zato":
        more = table_of(("x", "y"), (source, target), dialect=dialect)
        assert way(more) == (False, why.replace("translation 1", "translation 2"))


def test_many_translations_are_left_to_the_index(spark: SparkSession) -> None:
    """Which does not ask them one after the other; the first that matches is taken all the same."""
    rules = [(f"a.{number}.*", f"b.$1.{number}") for number in range(stage.MOST_NATIVE)]
    assert way(table_of(*rules)).native
    table = table_of(*rules, ("a.>", "c.>"))
    assert way(table) == (False, f"there are {stage.MOST_NATIVE + 1} translations, more than {stage.MOST_NATIVE}")
    found = outcomes(translate(sent(spark, "a.7.x", "a.x.y", "b"), table))
    assert [new for new, _, _ in found] == ["b.x.7", "c.x.y", "b"]


def test_a_table_without_translations_changes_nothing(spark: SparkSession) -> None:
    """The column of the old subjects is there all the same."""
    assert way(table_of()) == (True, "there are no translations")
    assert outcomes(translate(sent(spark, "a", None, ""), table_of())) == [
        ("a", "a", None),
        (None, None, None),
        ("", "", None),
    ]


@pytest.mark.parametrize(
    ("dialect", "source", "target", "subject"),
    [
        ("amqp", "a.*", "longer.$1", "a." + "x" * 250),
        ("mqtt", "a/#", "#", "a"),
        ("mqtt", "a/#", "longer/#", "a/" + "x" * 65_530),
    ],
)
def test_what_would_be_no_subject_is_set_aside_with_the_reason(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, dialect: str, source: str, target: str, subject: str
) -> None:
    """It keeps its old subject; others go on. Both ways say the same."""
    table = table_of((source, target), (source, "other"), dialect=dialect)
    good = source.replace("+", "x").replace("*", "x").replace("#", "x")
    wanted = [expected(table, subject), expected(table, good)]
    assert [reason is None for _, _, reason in wanted] == [False, True]
    for found in in_both_ways(monkeypatch, sent(spark, subject, good), table):
        assert outcomes(found) == wanted


def test_other_columns_and_rows_with_a_problem_stay_as_they_are(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spelling of the column of the subject, NULL and bytes that are no text among them."""
    schema = "`a.b` map<string,int>, SUBJECT binary, Number int, problem struct<stage:string,code:string,reason:string>"
    known = ("authorize", "publish-refused", "no")
    rows = [({"x": 1}, b"a.b", 0, None), (None, b"a.b", 1, known), (None, None, 2, None), (None, b"a.\xff", 3, None)]
    messages = spark.createDataFrame(rows, schema).coalesce(1).withColumn("SUBJECT", sf.col("SUBJECT").cast("string"))
    for found in in_both_ways(monkeypatch, messages, table_of(("a.*", "b.$1"))):
        assert found.columns == ["a.b", "SUBJECT", "Number", "problem", "original_subject"]
        raw = found.withColumns({name: sf.col(name).cast("binary") for name in ("SUBJECT", "original_subject")})
        assert sorted(map(tuple, raw.collect()), key=lambda row: row[2]) == [
            ({"x": 1}, b"b.b", 0, None, b"a.b"),
            (None, b"a.b", 1, known, b"a.b"),
            (None, None, 2, None, None),
            (None, b"a.\xff", 3, None, b"a.\xff"),
        ]


def test_a_subject_of_very_many_tokens_is_no_trouble(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regular expressions of Java have no deep stack."""
    long = "a." + ".".join(["x"] * 50_000)
    subjects = [long, f"{long}.", f"{long}.*", f"{long} "]
    table = table_of(("a.*.>", "b.$1.>"))
    for found in in_both_ways(monkeypatch, sent(spark, *subjects), table):
        assert outcomes(found) == [expected(table, subject) for subject in subjects]


def test_only_the_subject_goes_to_python_and_only_if_it_must(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the plans of Spark say."""
    messages = spark.createDataFrame([("a.b", "body")], "subject string, body string")
    native, by_python = in_both_ways(monkeypatch, messages, table_of(("a.*", "b.$1")))
    native.explain()
    assert "EvalPython" not in capsys.readouterr().out
    by_python.explain()
    crossing = re.findall(r"EvalPython \[(.*?)\],", capsys.readouterr().out)
    assert len(crossing) == 1
    assert "subject" in crossing[0]
    assert "body" not in crossing[0]


def test_a_subject_is_split_once_however_many_translations_there_are(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark does not put the splitting into each of them again."""
    rules = [(f"a.{number}.*", f"b.$1.{number}") for number in range(10)]
    translate(sent(spark, "a.1.x"), table_of(*rules)).explain()
    assert capsys.readouterr().out.count("split(") == 1


def test_messages_that_have_an_old_subject_already_are_refused(spark: SparkSession) -> None:
    """It would be lost; and a message without a subject cannot be translated."""
    for schema, problem in (
        ("subject string, Original_Subject string", "'original_subject' already"),
        ("topic string", "no column 'subject'"),
        ("subject int", "'subject' of messages is int, not string"),
    ):
        with pytest.raises(InputError, match=problem) as caught:
            translate(spark.createDataFrame([], schema), table_of(("a", "b")))
        assert caught.value.code == "bad-usage"


def test_a_stream_is_translated_as_a_batch_is(spark: SparkSession, tmp_path: Path) -> None:
    """In both ways at once, over several micro-batches."""
    subjects = [f"a.{number % 7}.x-y" for number in range(60)]
    messages = sent(spark, *subjects).repartition(3)
    messages.write.json(str(tmp_path / "in"))
    stream = spark.readStream.schema(messages.schema).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    first, second = table_of(("a.*.>", "b.$1.>")), table_of(("b.*.*", "c.$1.{{split(2,-)}}"))
    once = translate(stream, first).withColumnRenamed("original_subject", "first_subject")
    query = (
        translate(once, second)
        .writeStream.format("memory")
        .queryName("translated")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert len(query.recentProgress) >= 2
    rows = {
        row.number: (row.first_subject, row.original_subject, row.subject)
        for row in spark.table("translated").collect()
    }
    assert rows == {
        number: (subject, "b" + subject[1:], f"c.{number % 7}.x.y") for number, subject in enumerate(subjects)
    }
