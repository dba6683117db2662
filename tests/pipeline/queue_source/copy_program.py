"""A program that streams one queue into another until nothing is left; to be killed. Arguments: source and target."""

from __future__ import annotations

import sys
from pathlib import Path

from pointsman.pipeline import local_session
from pointsman.pipeline.queue_source import register
from pointsman.pipeline.spark.session import QUICK_START


def main(source: Path, target: Path) -> None:
    """Copies subject and body, so that no id could tell a repetition."""
    spark = local_session("copying", "local[2]", **QUICK_START)
    register(spark)
    reader = spark.readStream.format("pointsman").options(path=str(source), maxRows=25, partitions=2)
    writer = reader.load().select("subject", "body").writeStream.format("pointsman").option("path", str(target))
    checkpoint = str(target.with_name("checkpoint"))
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
