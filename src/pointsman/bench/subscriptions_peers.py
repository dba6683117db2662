"""What one writes without an index: a loop over all conditions in Python, and a cross join with ``rlike`` on Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pointsman.bench.terms import compile_pattern
from pointsman.bench.terms_data import Message
from pointsman.matching.terms import lexemes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Test = Callable[[dict[str, str], dict[str, list[str]]], bool]


def loop(table: Any) -> Callable[[Sequence[Message]], int]:
    """Counts matches by asking every subscription about every message; patterns are compiled beforehand."""
    rules = [(_side(row["includes"]), _side(row["excludes"])) for row in table.to_pylist()]

    def count(messages: Sequence[Message]) -> int:
        total = 0
        for message in messages:
            values = dict(message)
            words = {key: lexemes(value) for key, value in message}
            total += sum(includes(values, words) and not excludes(values, words) for includes, excludes in rules)
        return total

    return count


def _side(group: dict[str, Any] | None) -> Test:
    """Whether a group holds for the values and the lexemes of a message."""
    if group is None or not group["matchers"]:
        return lambda _values, _words: False
    tests = [_test(each) for each in group["matchers"]]
    if len(tests) == 1:
        return tests[0]
    enough = all if group["all"] else any
    return lambda values, words: enough(test(values, words) for test in tests)


def _test(matcher: dict[str, Any]) -> Test:
    key, fits = matcher["key"], compile_pattern(matcher["pattern"]).fullmatch
    if matcher["partial"]:
        return lambda _values, words: any(map(fits, words.get(key, ())))
    return lambda values, _words: key in values and fits(values[key]) is not None


def cross_join(spark: SparkSession, table: Any) -> Callable[[DataFrame], DataFrame]:
    """What people write: a regular expression for each matcher, and a join of everything with everything."""
    import pyarrow as pa
    from pyspark.sql import functions as sf

    rows = [
        {
            "subscription_id": row["subscription_id"],
            "every": row["includes"]["all"],
            "includes": _expressions(row["includes"]),
            "excludes": _expressions(row["excludes"]),
        }
        for row in table.to_pylist()
    ]
    matchers = pa.list_(pa.struct([("key", pa.string()), ("regex", pa.string())]))
    schema = pa.schema(
        [("subscription_id", pa.int64()), ("every", pa.bool_()), ("includes", matchers), ("excludes", matchers)]
    )
    subscriptions = spark.createDataFrame(pa.Table.from_pylist(rows, schema))
    fits = "m -> metadata[m.key] RLIKE m.regex"
    condition = f"IF(every, forall(includes, {fits}), exists(includes, {fits})) AND NOT exists(excludes, {fits})"

    def join(messages: DataFrame) -> DataFrame:
        joined = messages.join(sf.broadcast(subscriptions), sf.expr(condition))
        return joined.drop("every", "includes", "excludes")

    return join


def _expressions(group: dict[str, Any] | None) -> list[dict[str, str]]:
    matchers = [] if group is None else group["matchers"]
    return [{"key": each["key"], "regex": regular_expression(each["pattern"], each["partial"])} for each in matchers]


def regular_expression(pattern: str, partial: bool) -> str:
    """A pattern for a value, or for a word between blanks, which is what the lexemes are in this benchmark."""
    one, many = (r"[^ ]", r"[^ ]*") if partial else (".", ".*")
    text = re.escape(pattern).replace(r"\*", many).replace(r"\?", one).replace("\\ ", " ")
    return f"(^| ){text}( |$)" if partial else f"^{text}$"
