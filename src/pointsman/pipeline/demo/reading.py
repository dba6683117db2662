"""The files of the demo read by plain Python, as Spark reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pointsman.errors import MessageError
from pointsman.message import Message


class Received(NamedTuple):
    """A message as a file has it."""

    message: Message | None
    """None if there is no subject."""
    principal: str | None


def read_file(path: Path) -> Iterator[Received]:
    """The messages of a file. Raises ``MessageError`` with the file and the line for one that is none."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                received = _received(json.loads(line))
            except ValueError as error:
                raise MessageError("bad-message", f"it is no message: {error}", file=str(path), line=number) from None
            yield received


def _received(fields: Any) -> Received:
    """What a line says; a field that is null is one that is not there, but for the correlation id."""
    if not isinstance(fields, dict):
        raise MessageError("bad-message", "it is no object")
    known = {key: value for key, value in fields.items() if value is not None or key == "correlation_id"}
    principal = known.pop("principal", None)
    known.pop("position", None)
    return Received(Message.from_dict(known) if "subject" in known else None, principal)
