"""Deliveries to what Spark can write to and that has no path here: ``jdbc``, and whatever else the user's Spark has.

Rows are appended. A batch that is repeated after a crash appends them again; the column ``delivery_id`` tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pointsman.pipeline.delivering.place import Turn
from pointsman.pipeline.delivering.saving import save

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Appending:
    """A format of Spark with its options."""

    def __init__(self, form: str, options: dict[str, Any]) -> None:
        self._form = form
        self._options = options

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:  # noqa: ARG002, as every place is called
        """Appends them."""
        save(rows, self._form, self._options, None, mode="append")
        return None
