"""Both ways say of every message what Python says."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from pointsman.message import Message
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.predicates import held_column, holding_column, holds_column, way
from pointsman.pipeline.predicates.arrow import answered_column
from pointsman.pipeline.predicates.inputs import Pair
from tests.pipeline.predicates import nasty, odd, questions

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]


@pytest.fixture(scope="module")
def sent() -> list[Message]:
    """Two thousand messages, two of them with long bodies."""
    made = nasty.messages(1998)
    return made + [Message("a", body, id="1") for body in odd.LONG_BODIES]


def differences(pairs: list[Pair], sent: list[Message], *found: dict[int, list[bool | None]]) -> list[str]:
    """Where what was found, in one way or more, is not what is so; in words."""
    return [
        f"{pair} is {answers} for {message!r}"[:1000]
        for number, message in enumerate(sent)
        for pair, *answers in zip(pairs, *(each[number] for each in found), strict=True)
        if set(answers) != {nasty.takes(pair, message)}
    ]


def test_a_hundred_questions_about_two_thousand_messages_are_answered_alike_on_both_ways(
    spark: SparkSession, sent: list[Message]
) -> None:
    """Predicates over all fields and conditions of all forms, mixed, in one job; also if only a third is asked."""
    predicates = nasty.examples(questions.any_trees, 40) + nasty.examples(questions.plain_trees, 30)
    conditions = nasty.examples(questions.conditions(st.booleans()), 30)
    pairs: list[Pair] = [(None, predicate) for predicate in predicates]
    pairs += [(condition, None) for condition in conditions[:20]]
    pairs += list(zip(conditions[20:], predicates[:10], strict=True))
    assert len(pairs) == 100
    frame = nasty.frame_of(spark, sent)
    columns = MessageColumns(frame)
    mixed, crossed = held_column(pairs, columns), answered_column(pairs, columns)
    every_third = sf.filter(sf.sequence(sf.lit(1), sf.lit(100)), lambda asked: (asked + sf.col("number")) % 3 == 0)
    holding = holding_column(pairs, columns, every_third)
    rows = frame.select("number", mixed.alias("mixed"), crossed.alias("crossed"), holding.alias("holding")).collect()
    assert {way(*pair).name for pair in pairs} == {"native", "arrow"}
    assert differences(pairs, sent, *({row.number: row[name] for row in rows} for name in ("mixed", "crossed"))) == []
    for row in rows:
        expected = {asked for asked in range(1, 101) if (asked + row.number) % 3 == 0 and row.crossed[asked - 1]}
        assert set(row.holding) == expected


@pytest.mark.parametrize("number", range(2))
def test_native_expressions_say_what_python_says(spark: SparkSession, sent: list[Message], number: int) -> None:
    """For predicates without the body, and conditions without words; each is TRUE or FALSE, and never NULL."""
    pairs: list[Pair] = [(None, predicate) for predicate in nasty.examples(questions.plain_trees, 60, number)]
    pairs += [(condition, None) for condition in nasty.examples(questions.conditions(st.just(False)), 25, number)]
    assert {way(*pair).name for pair in pairs} == {"native"}
    frame = nasty.frame_of(spark, sent)
    columns = MessageColumns(frame)
    held = sf.array(*(holds_column(*pair, columns) for pair in pairs))
    found = {row.number: row.held for row in frame.select("number", held.alias("held")).collect()}
    assert differences(pairs, sent, found) == []
    assert {answer for answers in found.values() for answer in answers} == {True, False}


def test_the_settings_of_a_session_change_nothing(spark: SparkSession, sent: list[Message]) -> None:
    """Errors of casts on or off, the time zone, and whether Spark compiles what it plans."""
    pairs: list[Pair] = [(None, predicate) for predicate in nasty.examples(questions.plain_trees, 20, 7)]
    pairs += [(condition, None) for condition in nasty.examples(questions.conditions(st.just(False)), 10, 7)]
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    frame = nasty.frame_of(spark, sent[:500])
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        rows = frame.select("number", held_column(pairs, MessageColumns(frame)).alias("held")).collect()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert differences(pairs, sent[:500], {row.number: row.held for row in rows}) == []
