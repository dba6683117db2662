"""The behaviour that every engine has, by ``pipeline.route``: patterns, subjects, access and translations on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman import RoutingTable
from pointsman.conformance import load_cases
from pointsman.errors import PointsmanError
from pointsman.pipeline import authorize, route, translate
from pointsman.pipeline.columns import PROBLEM
from pointsman.pipeline.stages import OUTCOME, QUARANTINED
from tests.matching.behaviour import Matches, MatchingBehaviour, Patterns, is_pattern
from tests.pipeline.agreement import QUICK_PLANS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

CASES = Path(__file__).parents[1] / "conformance"


@pytest.fixture(autouse=True, scope="module")
def _quick_plans(spark: SparkSession) -> None:
    """Plans that are used once, on a few rows."""
    for name, value in QUICK_PLANS.items():
        spark.conf.set(name, value)


def table_of(some: Patterns) -> RoutingTable:
    """A table with a route for each pattern, named by its position."""
    routes = [
        {"name": str(number), "pattern": pattern, "dialect": dialect, "destinations": ["d"]}
        for number, (pattern, dialect) in enumerate(some)
    ]
    return RoutingTable.from_plain({"dialect": some[0][1], "routes": routes}, "generated")


def is_writable(text: str) -> bool:
    """Whether it can be a value of a column at all: UTF-8 has no lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class TestRoute(MatchingBehaviour):
    """A message is delivered by the routes that match, and quarantined if it has no subject."""

    examples = 4

    @pytest.fixture(autouse=True)
    def _session(self, spark: SparkSession) -> None:
        self.spark = spark

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Routes the texts in one job."""
        asked = [(number, text) for number, text in enumerate(texts) if is_writable(text)]
        answers: Matches = [None] * len(texts)
        if not asked:
            return answers
        messages = self.spark.createDataFrame(asked, "row int, subject string").coalesce(1)
        rows = route(messages, table_of(some)).rows.select("row", OUTCOME, "route").collect()
        for row in rows:
            if row[OUTCOME] != QUARANTINED:
                found = answers[row["row"]] or []
                answers[row["row"]] = found + ([] if row["route"] is None else [int(row["route"])])
        return [None if answer is None else sorted(answer) for answer in answers]


@pytest.mark.parametrize("dialect", ["nats", "zato", "mqtt"])
def test_what_is_no_subject_is_quarantined(spark: SparkSession, dialect: str) -> None:
    """The cases of the real servers."""
    cases = [case for case in load_cases(CASES / "validation.json") if case["dialect"] == dialect]
    asked = [(case["value"], case["valid"]) for case in cases if case["kind"] == "subject"]
    many = {"nats": ">", "zato": "**", "mqtt": "#"}[dialect]
    messages = spark.createDataFrame(asked, "subject string, valid boolean").coalesce(1)
    rows = route(messages, table_of([(many, dialect)])).rows.collect()
    assert len(rows) == len(asked) > 5
    assert [row for row in rows if (row[OUTCOME] != QUARANTINED) != row["valid"]] == []


def test_a_principal_may_publish_what_its_rules_say(spark: SparkSession) -> None:
    """The cases of the real servers about access, each with a principal of its own, in one job."""
    cases = [case for case in load_cases(CASES / "access.json") if case["operation"] == "publish"]
    by_dialect: dict[str, dict[str, dict[str, list[str]]]] = {}
    asked: dict[str, list[tuple[str, str, bool]]] = {}
    for number, case in enumerate(cases):
        dialect = case["dialect"]
        granted = [
            text for text, role in case["permissions"] if role.startswith("publisher") and is_pattern(text, dialect)
        ]
        by_dialect.setdefault(dialect, {})[f"p{number}"] = {"publish": granted}
        asked.setdefault(dialect, []).append((case["subject"], f"p{number}", case["allowed"]))
    assert sum(map(len, asked.values())) > 30
    for dialect, access in by_dialect.items():
        table = RoutingTable.from_plain({"dialect": dialect, "access": access, "routes": []}, "generated")
        messages = spark.createDataFrame(asked[dialect], "subject string, principal string, allowed boolean")
        rows = authorize(messages.coalesce(1), table).collect()
        assert [row for row in rows if (row[PROBLEM] is None) != row["allowed"]] == []


def test_a_subject_becomes_what_its_translation_says(spark: SparkSession) -> None:
    """The cases of the real servers about subject mapping, each with a table of its own, in one job."""
    frames: list[DataFrame] = []
    expected: dict[int, str] = {}
    for number, case in enumerate(load_cases(CASES / "transforms.json")):
        if "src" not in case:
            continue
        translation = {"from": case["src"] or ">", "to": case["dest"], "dialect": case["dialect"]}
        try:
            table = RoutingTable.from_plain({"translations": [translation], "routes": []}, "generated")
        except PointsmanError:
            assert case["output"] is None or not case["dest"], case
            continue
        expected[number] = case["input"] if case["output"] is None else case["output"]
        message = spark.createDataFrame([(number, case["input"])], "number int, subject string")
        frames.append(translate(message, table).select("number", "subject", sf.col(PROBLEM).isNull().alias("fine")))
    rows = reduce(DataFrame.unionByName, frames).collect()
    assert len(expected) > 10
    assert {row["number"]: row["subject"] for row in rows} == expected
    assert all(row["fine"] for row in rows)
