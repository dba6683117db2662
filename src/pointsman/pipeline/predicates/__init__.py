"""What routes ask of messages besides their subjects, on Spark: predicates and conditions on the metadata.

    leaves ─▶ way                                     native or arrow, and why
    fields, fits ─▶ native, native_condition ─▶ held  expressions of Spark's own
    fields, leaves ─▶ inputs ─▶ evaluate ─▶ arrow ─▶ held  what Python answers

Importing it imports nothing of Spark.
"""

from pointsman.pipeline.predicates.held import held_column, holding_column, holds_column
from pointsman.pipeline.predicates.way import Way, way

__all__ = ["Way", "held_column", "holding_column", "holds_column", "way"]
