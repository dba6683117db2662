"""What questions need to see of a message: the columns that cross to Python, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pointsman.conditions import Condition, Predicate
from pointsman.conditions.body import MAX_BODY_BYTES
from pointsman.conditions.nodes import ROOTS, Field
from pointsman.pipeline.predicates.fields import field_column, metadata_column, time_column
from pointsman.pipeline.predicates.leaves import leaves_of_condition

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns

Pair = tuple[Condition | None, Predicate | None]
"""What a route asks: a condition on the metadata, a predicate, or both."""

MOST_KEYS = 16
"""Keys of the metadata that cross as a column each; for more of them the metadata cross as they are."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The columns that are needed, in the order in which they cross."""

    roots: tuple[str, ...]
    """Fields of the message other than its metadata."""
    keys: tuple[str, ...]
    """Keys of the metadata; empty if ``whole``."""
    whole: bool
    """Whether all of the metadata are needed."""

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Inputs:
        """What these questions need together."""
        roots: set[str] = set()
        keys: set[str | None] = set()
        for condition, predicate in pairs:
            if condition is not None:
                keys.update(leaf.key for leaf in leaves_of_condition(condition))
            for field in () if predicate is None else predicate.fields:
                if field.root == "metadata":
                    keys.add(str(field.path[0]))
                else:
                    roots.add(field.root)
        whole = None in keys or len(keys) > MOST_KEYS
        chosen = () if whole else tuple(sorted(key for key in keys if key is not None))
        return cls(tuple(root for root in ROOTS if root in roots), chosen, whole)

    def columns(self, columns: MessageColumns) -> list[Column]:
        """The columns themselves, under names of their own; times are microseconds since 1970."""
        from pyspark.sql import functions as sf

        asked = [_root(root, columns) for root in self.roots] + [metadata_column(key, columns) for key in self.keys]
        if self.whole:
            asked.append(
                sf.map_filter(columns.metadata, lambda key, value: sf.is_valid_utf8(key) & sf.is_valid_utf8(value))
            )
        return [column.alias(f"column{place}") for place, column in enumerate(asked)]


def _root(root: str, columns: MessageColumns) -> Column:
    from pyspark.sql import functions as sf

    if root == "body":
        # A longer body is not looked into, so it need not cross.
        return sf.when(sf.octet_length(columns.body) <= MAX_BODY_BYTES, columns.body)
    if root == "time":
        return sf.unix_micros(time_column(columns))
    return field_column(Field(root), columns)
