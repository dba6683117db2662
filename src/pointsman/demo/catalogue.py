"""The made-up shop: who buys what, where and for how much, and what an event of it looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from pydantic_core import to_json

SECOND = 1000
"""Events are dated in milliseconds after the start of the hour."""
MINUTE = 60 * SECOND
HOUR_START = datetime(2026, 3, 2, 9, tzinfo=UTC)

REGIONS = {"eu": 45, "us": 30, "uk": 15, "asia": 10}
"""Each region with its share of the orders, in percent."""
COUNTRIES = {"eu": ("DE", "FR", "IT", "NL"), "us": ("US",), "uk": ("GB",), "asia": ("JP", "KR", "SG")}
CURRENCIES = {"eu": "EUR", "us": "USD", "uk": "GBP", "asia": "SGD"}
WAREHOUSES = {"eu": "lyon", "us": "austin", "uk": "leeds", "asia": "osaka"}
METHODS = ("card-visa", "card-master", "invoice", "transfer")
CUSTOMERS = 5_000
BUSY_MINUTES = (3, 5, 6, 5, 4, 4)
"""How busy each ten minutes of the hour are."""


class Category(NamedTuple):
    """Products of one kind: their share of the sales, the median price, and how far prices spread."""

    share: int
    price: float
    spread: float


CATEGORIES = {
    "books": Category(26, 17, 0.4),
    "electronics": Category(16, 210, 0.9),
    "fashion": Category(20, 55, 0.5),
    "garden": Category(9, 70, 0.8),
    "laptops": Category(6, 1150, 0.35),
    "music": Category(12, 21, 0.3),
    "toys": Category(11, 29, 0.5),
}

Weighted = tuple[Sequence[Any], Sequence[float] | None]
"""Values with their cumulated weights; with None, all are equally likely."""


def _weighted(shares: Mapping[Any, float]) -> Weighted:
    return [*shares], [*accumulate(shares.values())]


DRAWN: Mapping[str, Weighted] = {
    "minute": _weighted({minute: BUSY_MINUTES[minute // 10] for minute in range(60)}),
    "region": _weighted(REGIONS),
    "warehouse": _weighted({WAREHOUSES[region]: share for region, share in REGIONS.items()}),
    "category": _weighted({name: each.share for name, each in CATEGORIES.items()}),
    # Zipf's law: the second customer buys half as often as the first, the third a third as often.
    "customer": _weighted({f"c{rank:04}": 1 / rank for rank in range(1, CUSTOMERS + 1)}),
    "terms": (("atlas", "bicycle", "camera", "dictionary", "easel", "fountain pen", "globe", "harmonica"), None),
    "newsletter": _weighted({True: 3, False: 7}),
    "list": (("daily", "weekly", "offers"), None),
    "left": (range(10), None),
    "counted": (range(10, 5_000), None),
    "severity": _weighted({"info": 60, "warning": 34, "critical": 6}),
    "service": (("payments", "search", "shipping", "web"), None),
    "load": ([load / 1000 for load in range(1001)], None),
    "graph": (("catalogue", "customers", "stock"), None),
    "change": (("node_added", "node_removed", "edge_added"), None),
    "node": (range(1_000_000), None),
    "lines": ((1, 1, 1, 2, 2, 3, 4), None),
}
"""What can be drawn, by name."""


class Shoppers:
    """Draws from the catalogue with the random source it is given. Not thread-safe."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def draw(self, name: str, count: int) -> list[Any]:
        """Returns this many values of ``DRAWN``; drawing many at once is several times as fast as one by one."""
        values, weights = DRAWN[name]
        return self.random.choices(values, cum_weights=weights, k=count)

    def moments(self, count: int) -> list[int]:
        """Returns milliseconds of the hour, more of them in busy minutes."""
        random = self.random.random
        return [minute * MINUTE + int(random() * MINUTE) for minute in self.draw("minute", count)]

    def prices(self, categories: Sequence[str]) -> list[float]:
        """Returns the price of one product of each category."""
        known = (CATEGORIES[category] for category in categories)
        lognormal = self.random.lognormvariate
        return [max(0.5, round(each.price * lognormal(0, each.spread), 2)) for each in known]


PUBLISHERS = {
    "alerts": "monitoring",
    "internal": "graph-service",
    "inventory": "warehouse-service",
    "newsletters": "marketing",
    "payments": "payment-service",
    "tills": "till",
}
"""Who publishes subjects by their first token; the web shop publishes all others."""
WEB_SHOP = "web-shop"
NO_METADATA: Mapping[str, str] = {}


class Event(NamedTuple):
    """Something that happened in the shop, before it has an id."""

    at: int
    subject: str | None
    """None for a message whose sender forgot it."""
    body: object
    """Text is written as it is, anything else as JSON."""
    correlation_id: str | None = None
    metadata: Mapping[str, str] = NO_METADATA
    principal: str | None = None
    """None for the usual publisher of the subject."""
    source: str | None = None
    """None for that of the principal; an event with a source has no principal."""
    is_cut: bool = False
    """Whether its sender stopped in the middle of the line."""

    def as_line(self, position: int) -> bytes:
        """Returns the event as a line of a file; what it does not have is left out."""
        subject, source = self.subject, self.source
        who = self.principal or PUBLISHERS.get((subject or "").partition(".")[0], WEB_SHOP)
        fields: dict[str, object] = {"id": f"m-{position:06}", "position": position, "time": _time(self.at)}
        if subject is not None:
            fields["subject"] = subject
        fields["body"] = self.body if isinstance(self.body, str) else to_json(self.body).decode()
        fields |= {"principal": who, "source": f"/{who}"} if source is None else {"source": source}
        if self.correlation_id is not None:
            fields["correlation_id"] = self.correlation_id
        fields["metadata"] = self.metadata
        line = to_json(fields)
        return line[: line.index(b'"metadata"') + 5] if self.is_cut else line


def _time(at: int) -> str:
    seconds, milliseconds = divmod(at, SECOND)
    return f"{_SECONDS[seconds]}.{milliseconds:03}Z"


_SECONDS = [f"{HOUR_START + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S}" for second in range(61 * 60)]
