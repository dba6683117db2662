"""The files of the demo read by plain Python, as Spark reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pointsman.errors import MessageError
from pointsman.table.message_lines import Received, read_received


def read_file(path: Path) -> Iterator[Received | MessageError]:
    """The messages of a file; for a line that is none, what is wrong with it."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield read_received(line.rstrip(b"\n"), None)
            except MessageError as error:
                yield error


def subjects_of(folder: Path) -> dict[str, str]:
    """The subject of each message in the ``.jsonl`` files of a folder, as it was sent, by its id."""
    read = (each for file in folder.glob("*.jsonl") for each in read_file(file))
    return {each.message.id: each.message.subject for each in read if not isinstance(each, MessageError)}
