"""The folder that the demo plays in: its files, and commands to try with them."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.errors import InputError

MARK = ".pointsman-demo"
"""Marks the folder of an earlier demo."""
AWAY = "warehouse"
"""The destination that cannot be reached."""
PIPELINE = f"""# The pipeline of `pointsman demo`; `pointsman run pipeline.yaml` continues where it stopped.
table: shop.yaml
environment: {ENVIRONMENT}
source:
  path: events                              # JSON Lines: one message a line
  options: {{maxFilesPerTrigger: 1}}          # a batch is one file, a third of the hour
out: out
checkpoint: checkpoint
trigger: {{kind: available-now}}              # ends with the files; {{kind: interval, every: 10s}} waits for more
late: 1s                                    # the events are in the order of their times
destinations:
  # The warehouse is away: there is a file in place of its folder. Its deliveries fail until its breaker opens, and then
  # go to the parking. Remove the file to bring it back.
  {AWAY}: {{path: {AWAY}}}
"""
SOLD = '{"subject": "tills.laptops.eu", "body": {"amount": 1500}}'
"""A message that is translated and then routed by its content."""
ORDERED = '{"subject": "orders.eu.laptops", "principal": "web-shop", "body": {"amount": 2500}}'


class DemoFolder(NamedTuple):
    """The folder of a demo."""

    path: Path

    @property
    def events(self) -> Path:
        """The folder of the events."""
        return self.path / "events"

    @property
    def table(self) -> Path:
        """The routing table."""
        return self.path / "shop.yaml"

    @property
    def pipeline(self) -> Path:
        """The pipeline's file."""
        return self.path / "pipeline.yaml"

    @property
    def out(self) -> Path:
        """What the pipeline writes."""
        return self.path / "out"

    @property
    def warehouse(self) -> Path:
        """Where the folder of the destination ``warehouse`` should be."""
        return self.path / AWAY

    @property
    def picture(self) -> Path:
        """The flow picture."""
        return self.path / "flow.svg"

    def contents(self) -> dict[str, Path]:
        """Returns the files and folders of interest, by what they are."""
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

    def next_commands(self, program: str) -> tuple[str, str, str]:
        """Returns three shell commands to try next."""
        table, pipeline = shlex.quote(str(self.table)), shlex.quote(str(self.pipeline))
        more, warehouse = shlex.quote(str(self.events / "more.jsonl")), shlex.quote(str(self.warehouse))
        return (
            f"{program} explain {table} '{SOLD}' --principal till",
            f"echo '{ORDERED}' > {more} && {program} run {pipeline}",
            f"rm {warehouse} && {program} replay {pipeline}",
        )


def prepare(path: Path) -> DemoFolder:
    """Makes the folder with a table, a pipeline and a warehouse that is away; an earlier demo there is removed.

    Raises ``InputError``: ``folder-exists`` if it holds something else, which is left alone, and ``no-file`` if it
    cannot be written.
    """
    folder = DemoFolder(path)
    try:
        if (path / MARK).is_file():
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise InputError("folder-exists", "the folder exists and is not of a demo", file=str(path))
        (path / MARK).touch()
        shutil.copyfile(TABLE, folder.table)
        folder.pipeline.write_text(PIPELINE, "utf-8")
        folder.warehouse.write_text("The warehouse is away. Remove this file to bring it back.\n", "utf-8")
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None
    return folder


def program_name(called: str) -> str:
    """Returns how to call a program in a shell: by its name if the shell finds it, else by its path."""
    path = Path(called)
    if not path.exists():
        return path.name
    found = shutil.which(path.name)
    if found is not None and path.samefile(found):
        return path.name
    near = os.path.relpath(path)
    return shlex.quote(str(path.absolute()) if near.startswith("..") else near)
