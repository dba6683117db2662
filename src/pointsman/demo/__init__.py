"""What ``pointsman demo`` plays: an hour of a made-up shop, what a table makes of it, and how that is shown.

    catalogue ─▶ orders, traffic ─▶ events ─▶ the pipeline ─▶ written ─▶ counts ─▶ report, picture
                                          └─▶ check: RoutingTable.decide about a sample of the same messages

Only ``play`` needs Spark, when it is called.
"""

from pathlib import Path

TABLE = Path(__file__).with_name("shop.yaml")
"""The routing table of the demo."""
ENVIRONMENT = "pipeline"
"""The environment in which every destination of it can be written by Spark."""

__all__ = ["ENVIRONMENT", "TABLE"]
