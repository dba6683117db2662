"""What a batch leaves behind: a folder that appears whole or not at all, and in it a report in numbers."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from pointsman.errors import InputError

REPORT = "report.json"


class Sent(NamedTuple):
    """How many deliveries a route made to a destination."""

    route: str
    destination: str
    deliveries: int


class SetAside(NamedTuple):
    """How many rows of the quarantine a stage has made, and the reason that one of them has.

    A message has one, or one for each route that could not choose a destination.
    """

    stage: str
    code: str
    rows: int
    reason: str


@dataclass(slots=True)
class BatchReport:
    """What became of the messages of a batch: counts that grow while it is routed, until they are checked."""

    table: str
    """The hash of the table."""
    environment: str | None
    read: int = 0
    delivered: int = 0
    """Messages with at least one delivery."""
    quarantined: int = 0
    """Messages without a delivery that something is wrong with."""
    unrouted: int = 0
    partly: int = 0
    """Messages that are delivered by one route, and quarantined by another that could not choose a destination."""
    by_route: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries by route and destination."""
    by_problem: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    """By stage and code: the rows of the quarantine, and the first of their reasons in the order of texts."""

    def set_apart(self, stage: str, code: str, rows: int, reason: str) -> None:
        """Adds rows of the quarantine."""
        known, first = self.by_problem.get((stage, code), (0, reason))
        self.by_problem[stage, code] = (known + rows, min(first, reason))

    @property
    def sent(self) -> list[Sent]:
        """The deliveries, most first."""
        found = [Sent(*key, count) for key, count in self.by_route.items()]
        return sorted(found, key=lambda each: (-each.deliveries, each.route, each.destination))

    @property
    def set_aside(self) -> list[SetAside]:
        """The rows of the quarantine, most first."""
        found = [SetAside(*key, *told) for key, told in self.by_problem.items()]
        return sorted(found, key=lambda each: (-each.rows, each.stage, each.code))

    @property
    def deliveries(self) -> int:
        """All of them."""
        return self.by_route.total()

    def check(self) -> None:
        """Raises ``InputError`` (``uneven-batch``) if the messages do not add up."""
        parts = (self.delivered, self.quarantined, self.unrouted)
        if sum(parts) != self.read:
            added = f"{' + '.join(map(str, parts))} = {sum(parts)}"
            raise InputError("uneven-batch", f"{self.read} messages were read, but {added} have an outcome")

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        counts = ("read", "delivered", "quarantined", "unrouted", "partly")
        return {
            "table": self.table,
            "environment": self.environment,
            "messages": {name: getattr(self, name) for name in counts},
            "deliveries": self.deliveries,
            "sent": [each._asdict() for each in self.sent],
            "quarantine": [each._asdict() for each in self.set_aside],
        }

    def write(self, folder: Path) -> None:
        """Writes ``report.json`` into a folder."""
        (folder / REPORT).write_text(json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n", "utf-8")


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder beside the path, to be written to; it is renamed to the path when the block ends well.

    If the block raises, it is removed, and the path is as it was before. With ``overwrite``, what was at the path is
    removed after the new folder is in its place. Raises ``InputError``: ``folder-exists`` when there is something at
    the path and it is not to be overwritten, ``no-file`` when no folder can be made beside it.
    """
    path = path.absolute()
    check_free(path, overwrite=overwrite)
    draft = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None
    try:
        yield draft
        check_free(path, overwrite=overwrite)
        old = draft.with_name(f"{draft.name}-old")
        if path.exists():
            path.rename(old)
        try:
            draft.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Raises ``InputError``, if there is something at a path that may not be overwritten."""
    if path.is_dir() and overwrite:
        return
    if path.exists() or path.is_symlink():
        what = "there is a folder already" if path.is_dir() else "there is a file in its place, which is no folder"
        raise InputError("folder-exists", what, file=str(path))
