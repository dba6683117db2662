"""A DataFrame of subscriptions: its columns, what it weighs, the hash of what it holds, and its shards.

A shard is chosen by the first token, which ends at the first ``.`` or ``/`` whichever dialect a pattern is written in;
case is overlooked. Subjects that a pattern matches begin with the same token in this sense, unless there is a wildcard
in it. So each message goes to one shard. Patterns that begin with a wildcard, and subscriptions without a pattern, are
looked up for all messages.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from pointsman.errors import InputError
from pointsman.pipeline.columns import find, find_all

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

ID = "subscription_id"
TEXTS = ("pattern", "dialect", "condition")
GROUPS = ("includes", "excludes")
GROUP = "struct<all:boolean,matchers:array<struct<key:string,pattern:string,partial:boolean>>>"
CARRIED = ("id", "owner", "destinations")
BYTES_EACH = 40
BYTES_A_BYTE = 0.5
"""What an index weighs: so much for each subscription, and so much for each byte of what it says in JSON, roughly."""


class Weighed(NamedTuple):
    """What is known of a frame after one look at all of it."""

    digest: str
    """Of its rows, in any order."""
    subscriptions: int
    index_bytes: int
    """What its index will have, estimated."""


def chosen(frame: DataFrame) -> DataFrame:
    """The columns that are used, with the names and types that are used.

    The id is ``subscription_id``, or else ``id``. Raises ``InputError`` (``bad-usage``) if there is none, if there is
    neither ``pattern`` nor ``condition`` nor ``includes``, and for a column of another type.
    """
    from pyspark.sql import functions as sf

    names = find_all(frame, (ID, "id", *TEXTS, *GROUPS, "enabled", "expires"))
    known = ", ".join(map(repr, frame.columns))
    name = names[ID] or names["id"]
    if name is None:
        raise InputError("bad-usage", f"subscriptions have no column {ID!r}, only {known}")
    if not (names["pattern"] or names["condition"] or names["includes"]):
        problem = "subscriptions have none of the columns 'pattern', 'condition' and 'includes'"
        raise InputError("bad-usage", f"{problem}, only {known}")
    columns = [frame[name].alias(ID)]
    for field, found in names.items():
        if found is None or field in (ID, "id"):
            continue
        kind = frame.schema[found].dataType
        column = frame[found]
        if field in GROUPS:
            columns.append(_group(column, kind, field).alias(field))
            continue
        wanted = {"enabled": ("boolean",), "expires": ("double", "timestamp", "float", "bigint", "int")}
        allowed = wanted.get(field, ("string",))
        if kind.simpleString() not in (*allowed, "void"):
            problem = f"the column {found!r} of subscriptions holds {kind.simpleString()}, not {' or '.join(allowed)}"
            raise InputError("bad-usage", problem)
        if kind.simpleString() == "timestamp":
            column = sf.unix_micros(column) / sf.lit(1e6)
        columns.append(column.cast("double" if field == "expires" else allowed[0]).alias(field))
    return frame.select(*columns)


def with_destinations(subscriptions: DataFrame) -> DataFrame:
    """The subscriptions with a ``subscription_id`` that says all that a delivery needs: id, owner and destinations."""
    from pyspark.sql import functions as sf

    missing = [name for name in CARRIED if find(subscriptions, name) is None]
    if missing:
        raise InputError("bad-usage", f"subscriptions have no column {missing[0]!r}")
    return subscriptions.withColumn(ID, sf.struct(*CARRIED)).drop(*CARRIED)


def weigh(rows: DataFrame) -> Weighed:
    """What the rows of ``chosen`` are: one job, which brings back a few numbers and hashes."""
    from pyspark.sql import functions as sf

    text = sf.to_json(sf.struct(*rows.columns))
    hashed = rows.select(sf.sha2(text, 256).alias("row"), sf.octet_length(text).alias("bytes"))
    groups = (
        hashed.groupBy(sf.substring("row", 1, 2).alias("group"))
        .agg(
            sf.count("*").alias("count"),
            sf.sum("bytes").alias("bytes"),
            sf.sha2(sf.concat_ws(",", sf.sort_array(sf.collect_list("row"))), 256).alias("digest"),
        )
        .orderBy("group")
        .collect()
    )
    digest = hashlib.sha256("".join(row["digest"] for row in groups).encode())
    digest.update(rows.schema.json().encode())
    count = sum(row["count"] for row in groups)
    weight = BYTES_EACH * count + BYTES_A_BYTE * sum(row["bytes"] for row in groups)
    return Weighed(digest.hexdigest()[:32], count, int(weight))


def _group(column: Column, kind: DataType, field: str) -> Column:
    """A column of groups. Fields are found by name; missing ones have their defaults."""
    from pyspark.sql import functions as sf

    if kind.simpleString() not in (GROUP, "void"):
        try:
            kind["matchers"].dataType.elementType["pattern"]  # type: ignore[index]
        except (AttributeError, KeyError, TypeError):
            problem = f"the column {field!r} of subscriptions holds {kind.simpleString()}, not {GROUP}"
            raise InputError("bad-usage", problem) from None
        column = sf.from_json(sf.to_json(column), GROUP)

    def whole(matcher: Column) -> Column:
        return matcher.withField("partial", sf.coalesce(matcher["partial"], sf.lit(False)))

    group = column.cast(GROUP)
    return group.withField("matchers", sf.transform(group["matchers"], whole))


# -- shards: each message goes to one, by the first literal token

FIRST = r"^([^./]*)"
WILDCARD = r"[*>#+]"


def shard_of_subject(subject: Column, shards: int) -> Column:
    """From 0 to one less than there are shards; that of the empty text for NULL."""
    from pyspark.sql import functions as sf

    token = sf.lower(sf.regexp_extract(sf.coalesce(subject, sf.lit("")), FIRST, 1))
    return sf.pmod(sf.xxhash64(token), sf.lit(shards)).cast("int")


def shard_of_pattern(pattern: Column, shards: int) -> Column:
    """Likewise; the number of shards for what belongs to all of them."""
    from pyspark.sql import functions as sf

    token = sf.regexp_extract(pattern, FIRST, 1)
    literal = pattern.isNotNull() & ~token.rlike(WILDCARD)
    return sf.when(literal, shard_of_subject(pattern, shards)).otherwise(sf.lit(shards))
