"""What a pipeline has left when it is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pointsman.store.message import Sizes
from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies
from tests.crash.pipeline_story import (
    ARCHIVE,
    CHECKPOINT,
    EXTRA,
    LEDGER,
    OUT,
    QUEUE,
    SOURCES,
    TURNS,
    WATCHED,
    amount_of,
)
from tests.pipeline import outputs

MOST = 1_000_000


class Delivery(NamedTuple):
    """A message in one of the places that it was delivered to."""

    id: str
    subject: str
    amount: int
    batch: int = 0


class Watched(NamedTuple):
    """A message that wildcard subscriptions of an owner matched."""

    id: str
    owner: str
    matched: tuple[str, ...]
    batch: int


class Followed(NamedTuple):
    """A move of a saga, or a command that it sent."""

    kind: str
    correlation_id: str
    cause: str | None
    outcome: str | None = None
    path: tuple[str, ...] = ()
    id: str | None = None
    subject: str | None = None


@dataclass(slots=True)
class Found:
    """What is there."""

    archive: list[Delivery] = field(default_factory=list)
    ledger: list[Delivery] = field(default_factory=list)
    turns: dict[str, list[str]] = field(default_factory=dict)
    """The ids that each destination of the balanced route got."""
    extra: dict[int, list[str]] = field(default_factory=dict)
    """The ids that the route of the later version of the table took, by the batches."""
    watched: list[Watched] = field(default_factory=list)
    """What wildcard subscriptions got, of messages."""
    watched_commands: list[Watched] = field(default_factory=list)
    """The same of the commands of sagas."""
    followed: list[Followed] = field(default_factory=list)
    committed: set[int] = field(default_factory=set)
    """The batches that Spark has committed, as far as it remembers them."""
    versions: dict[int, str] = field(default_factory=dict)
    """The version of the table by the batches, as far as they are remembered."""
    subscribed: dict[int, str] = field(default_factory=dict)
    """The version of the wildcard subscriptions likewise."""
    sizes: dict[str, Sizes] = field(default_factory=dict)
    """What the queries have left in the queue that they read."""
    undelivered: list[str] = field(default_factory=list)
    """Files of dead letters, of what was quarantined, and of what nobody wanted."""
    damage: list[str] = field(default_factory=list)
    """What is wrong with the files of the queues."""


def find(folder: Path) -> Found:
    """What is in the folder of a pipeline."""
    found = Found()
    found.archive = [_delivery(row, batch) for batch, row in _archived(folder / ARCHIVE)]
    with Queue(folder / LEDGER) as queue:
        for message in queue.messages(limit=MOST):
            id, _, place = message.id.partition("/")
            found.ledger.append(Delivery(id if place == "all/ledger" else message.id, *_said(message)))
    deliveries = folder / OUT
    found.turns = {name: [row["id"] for _, row in _rows(deliveries, name)] for name in TURNS}
    for batch, row in _rows(deliveries, EXTRA):
        found.extra.setdefault(batch, []).append(row["id"])
    found.watched = [_watched(row, batch) for batch, row in _rows(deliveries, WATCHED)]
    commands = folder / OUT / "commands"
    found.watched_commands = [_watched(row, batch) for batch, row in _rows(commands, WATCHED)]
    found.followed = [_followed(row, kind) for kind in ("move", "command") for row in _kinds(folder, kind)]
    commits = folder / CHECKPOINT / "route" / "commits"
    found.committed = {int(path.name) for path in commits.iterdir() if path.name.isdigit()}
    for path in (folder / CHECKPOINT / "pointsman" / "state").glob("*.json"):
        versions = dict(json.loads(path.read_bytes())["versions"])
        found.versions[int(path.stem)] = versions["table"]
        found.subscribed[int(path.stem)] = versions["subscriptions"]
    with Queue(folder / QUEUE) as queue:
        found.sizes = {name: queue.size(name) for name in SOURCES}
    for out in (folder / OUT, folder / OUT / "commands"):
        others = [*(out / "dead").rglob("part-*"), *outputs.files(out, "quarantined"), *outputs.files(out, "unrouted")]
        found.undelivered += [str(path.relative_to(folder)) for path in others]
    found.damage = [wrong for name in (QUEUE, LEDGER) for wrong in inconsistencies(folder / name, thorough=True)]
    return found


def _said(message: Any) -> tuple[str, int]:
    return message.routing_key, amount_of(message.body)


def _archived(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a destination that has a folder of its own, and the batch of each."""
    for path in sorted(folder.glob("batch=*/part-*")):
        for line in path.read_text().splitlines():
            yield int(outputs.batch_of(path)), json.loads(line)


def _rows(out: Path, destination: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The deliveries to a destination, and the batch of each."""
    for path in outputs.files(out, "deliveries", destination=destination):
        for line in path.read_text().splitlines():
            yield int(outputs.batch_of(path)), json.loads(line)


def _kinds(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted((folder / OUT / "followed").glob(f"batch=*/kind={kind}/part-*")):
        yield from map(json.loads, path.read_text().splitlines())


def _delivery(row: dict[str, Any], batch: int) -> Delivery:
    return Delivery(row["id"], row["subject"], amount_of(row.get("body") or ""), batch)


def _watched(row: dict[str, Any], batch: int) -> Watched:
    return Watched(row["id"], row["owner"], tuple(row["subscriptions"]), batch)


def _followed(row: dict[str, Any], kind: str) -> Followed:
    return Followed(
        kind,
        row["correlation_id"],
        row.get("causation_id"),
        row.get("outcome"),
        tuple(row.get("path") or ()),
        row.get("id"),
        row.get("subject"),
    )
