"""Numbers and patterns as Spark's own expressions."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.conditions import Predicate
from pointsman.conditions.body import read_body
from pointsman.conditions.like import compile_like, pieces, with_backslashes
from pointsman.conditions.values import number_of
from pointsman.matching.terms.glob import glob_matches
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.predicates import holds_column
from pointsman.pipeline.predicates.fits import fits_column, glob_signs
from pointsman.pipeline.predicates.native import number_column
from tests.pipeline.predicates import nasty, odd

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

SCHEMA = "subject string, metadata map<string,string>"


def texts_frame(spark: SparkSession, texts: list[str]) -> DataFrame:
    """Texts in a column."""
    return spark.createDataFrame(pa.table({"text": pa.array(texts, pa.string())}))


def test_a_text_is_the_same_number_in_java_and_in_python(spark: SparkSession) -> None:
    """To the last bit, also in the middle between two floats; what is no number in one is none in the other."""
    texts = [*odd.ODD_TEXTS, *nasty.examples(odd.number_texts, 1000), *nasty.examples(odd.odd_texts, 200)]
    found = texts_frame(spark, texts).select("text", number_column(sf.col("text")).alias("number")).collect()
    different = [(row.text, row.number) for row in found if row.number != number_of(row.text)]
    assert different == []
    assert sum(row.number is not None for row in found) > 700


def test_a_text_fits_a_pattern_in_java_if_it_does_in_python(spark: SparkSession) -> None:
    """Patterns of LIKE, ILIKE and matchers: all short ones, and odd ones."""
    short = ["".join(signs) for size in range(4) for signs in itertools.product("a%_", repeat=size)]
    longer = nasty.examples(st.text("aK\u212a\u017f%_.\n\\\U0001f600", max_size=8), 60)
    texts = [*odd.ODD_TEXTS, *nasty.examples(st.text("aAbkK\u212as\u017f\n\\.\U0001f600", max_size=6), 400)]
    frame = texts_frame(spark, texts)
    text = sf.col("text")
    tested = []
    for pattern in dict.fromkeys([*short, *longer]):
        signs = pieces(with_backslashes(pattern, None))
        tested.append((fits_column(text, signs), compile_like(with_backslashes(pattern, None)), pattern))
        folded = compile_like(with_backslashes(pattern, None), ignore_case=True)
        tested.append((fits_column(text, signs, ignore_case=True), folded, pattern))
        glob = pattern.replace("%", "*").replace("_", "?")
        tested.append((fits_column(text, glob_signs(glob)), lambda value, glob=glob: glob_matches(glob, value), glob))
    found = frame.select("text", sf.array(*(column for column, _, _ in tested)).alias("fits")).collect()
    different = [
        (row.text, pattern, answer)
        for row in found
        for answer, (_, fits, pattern) in zip(row.fits, tested, strict=True)
        if answer is not fits(row.text)
    ]
    assert different == []


def test_no_pattern_makes_a_long_text_take_long(spark: SparkSession) -> None:
    """A search that goes back and tries again, as LIKE of Spark does, would not end."""
    frame = texts_frame(spark, ["a" * 50_000, "a" * 50_000 + "b"])
    many = fits_column(sf.col("text"), pieces("%a" * 30 + "%_a%b"))
    assert [row.many for row in frame.select(many.alias("many")).collect()] == [False, True]


@pytest.mark.parametrize("zero", ["0", "-0"])
def test_zero_has_no_sign_in_a_long_list(spark: SparkSession, zero: str) -> None:
    """Spark makes a set of more than ten literals."""
    frame = spark.createDataFrame([("s", {"a": text}) for text in ("0", "-0", "0.0", "-0e5")], SCHEMA)
    among = Predicate(f"metadata.a IN ({zero}, {', '.join(map(str, range(1, 20)))})")
    column = holds_column(None, among, MessageColumns(frame))
    assert [row.held for row in frame.select(column.alias("held")).collect()] == [True] * 4


def test_spark_reads_json_by_other_rules(spark: SparkSession) -> None:
    """Why the body is read in Python: what Spark takes for JSON, or does not, is not what ``read_body`` does."""
    bodies = [
        b"1 2",
        b'{"a": 1} // no',
        b"[" * 101 + b"]" * 101,
        b'{"b": 1, "a": "\\ud800"}',
        b"1." + b"0" * 2000 + b"1",
    ]
    frame = spark.createDataFrame([(body,) for body in bodies], "body binary")
    parsed = sf.try_parse_json(sf.col("body").cast("string")).isNotNull()
    found = frame.select("body", parsed.alias("parsed")).collect()
    assert [row.body for row in found if row.parsed is not (read_body(bytes(row.body)) is not None)] == bodies
