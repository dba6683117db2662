"""An event of the shop before it has an id, and how it becomes a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pointsman.text.timestamp import format_timestamp

SECOND = 1000
"""In the milliseconds by which events are dated."""
MINUTE = 60 * SECOND

PUBLISHERS = {
    "alerts": "monitoring",
    "internal": "graph-service",
    "inventory": "warehouse-service",
    "newsletters": "marketing",
    "payments": "payment-service",
    "tills": "till",
}
"""Who publishes the subjects that begin so; all others are the web shop's."""
WEB_SHOP = "web-shop"

as_json: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Event(NamedTuple):
    """Something that happened, so many milliseconds after the beginning of the hour."""

    at: int
    subject: str | None
    """None for a message whose sender forgot it."""
    body: str
    principal: str | None
    source: str
    correlation_id: str | None
    metadata: Mapping[str, str]
    is_cut: bool = False
    """Whether its sender stopped in the middle of it."""

    def as_line(self, position: int, hour_start: datetime) -> str:
        """The event at its place in the hour as a line of a file; a subject that is missing is left out."""
        fields = self._asdict()
        del fields["is_cut"]
        fields["id"] = f"m-{position:06}"
        fields["position"] = position
        fields["time"] = format_timestamp(hour_start + timedelta(milliseconds=fields.pop("at")))
        if self.subject is None:
            del fields["subject"]
        text = as_json(fields)
        return text[: text.index('"metadata"') + 5] if self.is_cut else text


def event(
    at: int,
    subject: str,
    body: object,
    correlation_id: str | None = None,
    metadata: Mapping[str, str] | None = None,
    *,
    principal: str | None = None,
) -> Event:
    """An event with a body of JSON, published by whoever publishes such subjects unless it is said who does."""
    who = principal or PUBLISHERS.get(subject.partition(".")[0], WEB_SHOP)
    return Event(at, subject, as_json(body), who, f"/{who}", correlation_id, metadata or {})
