"""What ``pointsman demo`` plays: an hour of a made-up shop, what a table makes of it, and how that is shown.

    events ─▶ files of messages ─▶ the pipeline ─▶ Counts ─▶ picture, report
                               └─▶ expected ─────▶ Counts: what the pipeline must come to

Nothing here needs Spark.
"""

from pathlib import Path

TABLE = Path(__file__).with_name("shop.yaml")
"""The routing table of the demo."""
ENVIRONMENT = "pipeline"
"""The environment in which every destination of it can be written by Spark."""

__all__ = ["ENVIRONMENT", "TABLE"]
