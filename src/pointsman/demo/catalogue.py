"""Who buys what, where and for how much in the made-up shop."""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import NamedTuple

REGIONS = {"eu": 45, "us": 30, "uk": 15, "asia": 10}
"""Where orders come from, and how many of a hundred."""
COUNTRIES = {"eu": ("DE", "FR", "IT", "NL"), "us": ("US",), "uk": ("GB",), "asia": ("JP", "KR", "SG")}
CURRENCIES = {"eu": "EUR", "us": "USD", "uk": "GBP", "asia": "SGD"}
WAREHOUSES = {"eu": "lyon", "us": "austin", "uk": "leeds", "asia": "osaka"}
METHODS = ("card-visa", "card-master", "invoice", "transfer")
CUSTOMERS = 5_000
BUSY_MINUTES = (3, 5, 6, 5, 4, 4)
"""How busy each ten minutes of the hour are."""


class Category(NamedTuple):
    """Things of one kind: how often they are bought, and what they cost."""

    share: int
    price: float
    """The one in the middle."""
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
REGION_WEIGHTS = [*accumulate(REGIONS.values())]
CATEGORY_WEIGHTS = [*accumulate(each.share for each in CATEGORIES.values())]
CUSTOMER_WEIGHTS = [*accumulate(1 / rank for rank in range(1, CUSTOMERS + 1))]
"""By Zipf: the second customer buys half as often as the first, the third a third as often."""
MINUTE_WEIGHTS = [*accumulate(share for share in BUSY_MINUTES for _ in range(10))]


class Shoppers:
    """Draws from the catalogue, by the random source it is given; not safe between threads."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._regions = [*REGIONS]
        self._categories = [*CATEGORIES]

    def region(self) -> str:
        """Where somebody buys."""
        return self.random.choices(self._regions, cum_weights=REGION_WEIGHTS)[0]

    def category(self) -> str:
        """What kind of thing."""
        return self.random.choices(self._categories, cum_weights=CATEGORY_WEIGHTS)[0]

    def customer(self) -> str:
        """Who: ``c0001`` most often."""
        rank = self.random.choices(range(1, CUSTOMERS + 1), cum_weights=CUSTOMER_WEIGHTS)[0]
        return f"c{rank:04}"

    def price(self, category: str) -> float:
        """What one thing costs."""
        known = CATEGORIES[category]
        return max(0.5, round(known.price * self.random.lognormvariate(0, known.spread), 2))

    def moment(self) -> int:
        """A millisecond of the hour, more often of a busy minute."""
        minute = self.random.choices(range(60), cum_weights=MINUTE_WEIGHTS)[0]
        return minute * 60_000 + self.random.randrange(60_000)
