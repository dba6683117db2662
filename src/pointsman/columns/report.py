"""The report of a batch: what became of its messages, in numbers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pointsman.errors import InputError
from pointsman.table.routing_table import RoutingTable

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


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of the messages of a batch."""

    table: str
    """The hash of the table."""
    environment: str | None
    read: int
    delivered: int
    """Messages with at least one delivery."""
    quarantined: int
    """Messages without a delivery that something is wrong with."""
    unrouted: int
    partly: int
    """Messages that are delivered by one route, and quarantined by another that could not choose a destination."""
    sent: tuple[Sent, ...]
    set_aside: tuple[SetAside, ...]

    @property
    def deliveries(self) -> int:
        """All of them."""
        return sum(each.deliveries for each in self.sent)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "table": self.table,
            "environment": self.environment,
            "messages": {
                "read": self.read,
                "delivered": self.delivered,
                "quarantined": self.quarantined,
                "unrouted": self.unrouted,
                "partly": self.partly,
            },
            "deliveries": self.deliveries,
            "sent": [each._asdict() for each in self.sent],
            "quarantine": [each._asdict() for each in self.set_aside],
        }

    def write(self, folder: Path) -> None:
        """Writes ``report.json`` into a folder."""
        (folder / REPORT).write_text(json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n", "utf-8")


@dataclass(slots=True)
class Tally:
    """Counts that grow, chunk by chunk, until they are a report."""

    read: int = 0
    delivered: int = 0
    quarantined: int = 0
    unrouted: int = 0
    partly: int = 0
    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries by route and destination."""
    set_aside: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows of the quarantine by stage and code."""
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    """For each stage and code the first reason in the order of texts."""

    def set_apart(self, stage: str, code: str, rows: int, reason: str) -> None:
        """Adds rows of the quarantine."""
        key = (stage, code)
        self.set_aside[key] += rows
        self.reasons[key] = min(reason, self.reasons.get(key, reason))

    def report(self, table: RoutingTable) -> BatchReport:
        """The report. Raises ``InputError`` (``uneven-batch``) if the messages do not add up."""
        sent = [Sent(*key, count) for key, count in self.sent.items()]
        aside = [SetAside(*key, count, self.reasons[key]) for key, count in self.set_aside.items()]
        parts = (self.delivered, self.quarantined, self.unrouted)
        if sum(parts) != self.read:
            added = f"{' + '.join(map(str, parts))} = {sum(parts)}"
            raise InputError("uneven-batch", f"{self.read} messages were read, but {added} have an outcome")
        return BatchReport(
            table.hash,
            table.environment,
            self.read,
            *parts,
            self.partly,
            tuple(sorted(sent, key=lambda each: (-each.deliveries, each.route, each.destination))),
            tuple(sorted(aside, key=lambda each: (-each.rows, each.stage, each.code))),
        )
