"""The messages that may move something, as the rows that cross to Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError, MessageError
from pointsman.message import Message
from pointsman.pipeline.columns import MessageColumns, find
from pointsman.pipeline.index_file import lists, opened, ship
from pointsman.pipeline.json_lines import PLACE
from pointsman.pipeline.problem import PROBLEM
from pointsman.pipeline.stateful.part import goes_by_name, patterns_of
from pointsman.table.followed import EVENT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pointsman.patterns import Pattern
    from pointsman.table.routing_table import RoutingTable

UNKNOWN = -(1 << 62)
"""A time or a position that a row does not have; before all others."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The times that a message can have, in microseconds: the years 1 to 9999."""
WATERMARK = "spark.watermarkDelayMs"
"""What Spark notes with the column that a watermark goes by."""
REST = ("causation_id", "content_type", "source", "metadata")
"""Fields that cross together, as one text: not all rows have them, and each column costs."""


SOURCE = Message("", id="0", time=None).source
"""That of a message of which nothing is known."""

_read = json.JSONDecoder().decode
_new, _set = object.__new__, object.__setattr__


class Rest(NamedTuple):
    """The fields that crossed as one text."""

    metadata: Mapping[str, str]
    content_type: str | None
    source: str
    causation_id: str | None


@lru_cache(maxsize=1024)
def _rest(text: str) -> Rest:
    """What the text says. Many messages have the same; what it gives cannot be changed."""
    fields = _read(text)
    metadata = {key: value for key, value in fields.get("metadata", {}).items() if value is not None}
    source = fields.get("source", SOURCE)
    return Rest(MappingProxyType(metadata), fields.get("content_type"), source, fields.get("causation_id"))


class Event(NamedTuple):
    """A row that has crossed."""

    position: int
    time: int
    """In microseconds."""
    place: str
    """Orders messages of the same time, or without one, as the source has them."""
    id: str
    subject: str
    correlation_id: str
    rest: str
    body: bytes

    @property
    def seconds(self) -> float | None:
        """The time; None if it has none."""
        return None if self.time == UNKNOWN else self.time / 1_000_000

    def message(self) -> Message:
        """The message that the row is. Raises ``MessageError`` if it is none."""
        if not self.id:
            raise MessageError("bad-message", "the id is empty")
        time = None
        if self.time != UNKNOWN:
            if not FIRST <= self.time <= LAST:
                raise MessageError("bad-message", "time is outside the years 1 to 9999")
            time = EPOCH + timedelta(microseconds=self.time)
        rest = _rest(self.rest)
        made = _new(Message)
        # Texts come from Spark as texts, so that nothing is left that the constructor would look for.
        _set(made, "subject", self.subject)
        _set(made, "body", self.body)
        _set(made, "metadata", rest.metadata)
        _set(made, "id", self.id)
        _set(made, "content_type", rest.content_type)
        _set(made, "time", time)
        _set(made, "source", rest.source)
        _set(made, "correlation_id", self.correlation_id)
        _set(made, "causation_id", rest.causation_id)
        return made


def crossing(messages: DataFrame, part: RoutingTable, buckets: int) -> DataFrame:
    """The rows that may move something, each with the number of its bucket.

    Raises ``InputError`` (``bad-usage``) if the messages have no column ``id``, or one of a type that cannot be.
    """
    from pyspark.sql import functions as sf

    columns = MessageColumns(messages)
    if not columns.has("id"):
        raise InputError("bad-usage", "messages have no column 'id', by which one that comes twice is known")
    position, place = find(messages, "position"), find(messages, PLACE)
    chosen = messages.where(_concerned(messages, columns, part))
    correlation = sf.coalesce(sf.nullif(columns.correlation_id, sf.lit("")), columns.id, sf.lit(""))
    rest = sf.struct(*(getattr(columns, field).alias(field) for field in REST))
    unknown = sf.lit(UNKNOWN)
    return chosen.select(
        sf.pmod(sf.xxhash64(correlation), sf.lit(buckets)).cast("int").alias("bucket"),
        (unknown if position is None else sf.coalesce(messages[position].cast("bigint"), unknown)).alias("position"),
        sf.coalesce(sf.unix_micros(columns.time), unknown).alias("time"),
        (sf.lit("") if place is None else messages[place]).alias("place"),
        sf.coalesce(columns.id, sf.lit("")).alias("id"),
        sf.coalesce(columns.subject, sf.lit("")).alias("subject"),
        correlation.alias("correlation_id"),
        sf.to_json(rest).alias("rest"),
        sf.coalesce(columns.body, sf.lit(b"")).alias("body"),
    )


def in_order(frames: Iterable[Any]) -> list[Event]:
    """The events of frames of pandas, by their position if they have one, their time, their place and their id."""
    found: list[Event] = []
    for frame in frames:
        found += map(Event._make, zip(*(frame[name].tolist() for name in Event._fields), strict=True))
    found.sort(key=itemgetter(0, 1, 2, 3))
    return found


def _concerned(messages: DataFrame, columns: MessageColumns, part: RoutingTable) -> Column:
    """Whether a row may move something: its subject is of one of the patterns, or it names an event."""
    from pyspark.sql import functions as sf

    patterns = patterns_of(part)
    exact = [] if _has_watermark(messages) else [pattern for pattern in patterns if _is_a_subject(pattern)]
    others = [pattern for pattern in patterns if pattern not in exact]
    condition = sf.coalesce(columns.subject.isin([str(pattern) for pattern in exact]), sf.lit(False))
    if others:
        condition = condition | _matching(messages, others)(columns.subject)
    if goes_by_name(part):
        condition = condition | sf.coalesce(sf.map_contains_key(columns.metadata, sf.lit(EVENT)), sf.lit(False))
    # One expression, for Spark would move a part that it can judge by itself to before the watermark.
    return sf.when(messages[PROBLEM].isNull(), condition).otherwise(False) if PROBLEM in messages.columns else condition


def _has_watermark(messages: DataFrame) -> bool:
    """Whether rows must not be left out by what Spark can judge by itself, which it would do before the watermark.

    The watermark has to move with all rows, and with Python's judgement they come so far.
    """
    return any(WATERMARK in field.metadata for field in messages.schema)


def _is_a_subject(pattern: Pattern) -> bool:
    """Whether the only subject that it matches is its own text, so that Spark can compare it without Python."""
    return pattern.is_literal and not pattern.dialect.ignores_case and pattern.matches(str(pattern))


def _matching(messages: DataFrame, patterns: list[Pattern]) -> Any:
    """The function from a subject to whether one of the patterns matches it; only the subjects cross to Python.

    It is said not to be deterministic, for Spark would look for the watermark only in the rows that it lets pass: time
    would stand still while nothing but other messages comes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark import SparkFiles
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    columns = {
        "subscription_id": range(len(patterns)),
        "pattern": [pattern.text for pattern in patterns],
        "dialect": [pattern.dialect.name for pattern in patterns],
    }
    name = ship(messages.sparkSession.sparkContext, pa.table(columns), patterns[0].dialect.name)

    def matches(columns: Iterator[Any]) -> Iterator[Any]:
        for found in lists(opened(SparkFiles.get(name)), columns):
            yield pc.fill_null(pc.greater(pc.list_value_length(found), 0), False)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    matches.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(matches, "boolean").asNondeterministic()
