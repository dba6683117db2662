"""The folder that the demo plays in, and everything in it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.errors import InputError

MARK = ".pointsman-demo"
"""The file by which a folder of an earlier demo is known."""
FILES_PER_BATCH = 21
"""Minutes of the hour that are one batch."""
LATE = 1
"""Seconds; the messages come in the order of their times."""
PIPELINE = f"""# The pipeline of `pointsman demo`: pointsman run pipeline.yaml goes on where it stopped.
table: shop.yaml
environment: {ENVIRONMENT}
source:
  path: events                              # JSON Lines: a message in each line
  options: {{maxFilesPerTrigger: {FILES_PER_BATCH}}}         # a batch is some minutes of the hour
out: out
checkpoint: checkpoint
trigger: {{kind: available-now}}              # it ends with the files; {{kind: interval, every: 10s}} waits for more
late: {LATE}s                                    # the events are in the order of their times
destinations:
  # The warehouse is away: a file stands where this folder should be. Its deliveries fail until its breaker opens, and
  # go to the parking from then on. If the file is removed, it comes back.
  warehouse: {{path: warehouse}}
"""


class Place(NamedTuple):
    """A folder of the demo."""

    folder: Path

    @property
    def events(self) -> Path:
        """The folder of the events."""
        return self.folder / "events"

    @property
    def table(self) -> Path:
        """The routing table."""
        return self.folder / "shop.yaml"

    @property
    def pipeline(self) -> Path:
        """The file of the pipeline."""
        return self.folder / "pipeline.yaml"

    @property
    def out(self) -> Path:
        """What the pipeline writes."""
        return self.folder / "out"

    @property
    def warehouse(self) -> Path:
        """Where the folder of the destination ``warehouse`` should be."""
        return self.folder / "warehouse"

    @property
    def picture(self) -> Path:
        """The flow picture."""
        return self.folder / "flow.svg"

    def what_is_where(self) -> dict[str, Path]:
        """The files and folders that are of use, by what they are."""
        return {
            "the events": self.events,
            "the routing table": self.table,
            "the pipeline": self.pipeline,
            "deliveries, quarantine and unrouted, by batch": self.out / "routed",
            "what sagas and gatherings did and sent": self.out / "followed",
            "deliveries of what they sent": self.out / "commands" / "routed",
            "deliveries that failed": self.out / "dead",
            "a picture of what went where": self.picture,
        }


def prepare(folder: Path) -> Place:
    """The folder with a table, a pipeline and a warehouse that is away; what an earlier demo left there is removed.

    Raises ``InputError``: ``folder-exists`` if there is something else, which is left alone, and ``no-file`` if nothing
    can be written there.
    """
    place = Place(folder)
    try:
        if (folder / MARK).is_file():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError("folder-exists", "there is a folder already, and it is no demo's", file=str(folder))
        (folder / MARK).touch()
        shutil.copyfile(TABLE, place.table)
        place.pipeline.write_text(PIPELINE, "utf-8")
        place.warehouse.write_text("The warehouse is away. Remove this file, and it comes back.\n", "utf-8")
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(folder)) from None
    return place
