"""Which shard of an index a message goes to, and in which a subscription is: by the first literal token.

The token ends at the first ``.`` or ``/``, whichever dialect a pattern is written in, and case is overlooked: subjects
that a pattern matches begin with the same token in this sense, unless there is a wildcard in it. So each message goes
to one shard, and patterns that begin with a wildcard, and subscriptions without a pattern, are looked up for all
messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

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
