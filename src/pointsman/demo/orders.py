"""The events of orders: the steps of their sagas, and what goes with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pointsman.demo.catalogue import COUNTRIES, CURRENCIES, METHODS, WAREHOUSES, Shoppers
from pointsman.demo.event import MINUTE, SECOND, Event, event
from pointsman.demo.stories import (
    CREATED,
    PAYMENT_FAILED,
    PAYMENT_RELEASED,
    SCHEDULED,
    STOCK_RESERVED,
    STORIES,
    draw_story,
    fitting_story,
)

LAST_ORDER = 59 * MINUTE
LAST_STEP = 60 * MINUTE - 5 * SECOND
MAILS = {CREATED: "mail.confirmation", SCHEDULED: "mail.shipped", PAYMENT_RELEASED: "mail.refund"}
"""What the customer is written at which step."""


def order_events(shoppers: Shoppers, count: int, endings: Counter[str]) -> Iterator[Event]:
    """The events of so many orders, in no order; ``endings`` counts how their sagas end, and under which story.

    The first orders go through all stories once, early enough for each of them.
    """
    for number in range(count):
        if number < len(STORIES):
            created = number * 2 * SECOND + shoppers.random.randrange(SECOND)
            story, times = fitting_story(STORIES[number], shoppers.random, created, LAST_STEP)
        else:
            created = shoppers.moment() * LAST_ORDER // (60 * MINUTE)
            story, times = draw_story(shoppers.random, created, LAST_STEP)
        endings[story.ending] += 1
        order = _Order(shoppers, f"order-{number + 1:05}")
        yield from order.created(created)
        for step, at in zip(story.steps, times, strict=True):
            yield from order.step(step.subject, at)


class _Order:
    """One order: who ordered what, which its events tell."""

    def __init__(self, shoppers: Shoppers, id: str) -> None:
        random = shoppers.random
        self.id = id
        self.random = random
        self.region = shoppers.region()
        self.currency = CURRENCIES[self.region]
        self.metadata = {"customer": shoppers.customer(), "region": self.region}
        self.lines = [shoppers.category() for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4)))]
        self.amounts = [shoppers.price(category) for category in self.lines]
        self.amount = round(sum(self.amounts), 2)

    def created(self, at: int) -> Iterator[Event]:
        """The order itself, its lines, and the mail that confirms it."""
        body = {"order": self.id, "amount": self.amount, "currency": self.currency, "lines": len(self.lines)}
        yield event(at, CREATED, body, self.id, self.metadata)
        for number, (category, amount) in enumerate(zip(self.lines, self.amounts, strict=True)):
            line = {"order": self.id, "line": number + 1, "amount": amount, "currency": self.currency}
            yield event(at + 20 + 10 * number, f"orders.{self.region}.{category}", line, self.id, self.metadata)
        yield self._mail(CREATED, at)

    def step(self, subject: str, at: int) -> Iterator[Event]:
        """A step of the saga, and what goes with it."""
        if subject == PAYMENT_FAILED:
            yield from self._attempts(at)
        principal = "courier" if subject.startswith("shipping.") else None
        body = {"order": self.id, "amount": self.amount, "currency": self.currency}
        yield event(at, subject, body, self.id, self.metadata, principal=principal)
        if subject == STOCK_RESERVED:
            packed = {"order": self.id, "parcels": len(self.lines)}
            where = f"shipping.{WAREHOUSES[self.region]}.packed"
            yield event(at + 900, where, packed, self.id, self.metadata, principal="warehouse-service")
        if subject in MAILS:
            yield self._mail(subject, at)

    def _attempts(self, failed: int) -> Iterator[Event]:
        """The attempts to pay before it failed; three with a card are a case for the fraud desk."""
        method = self.random.choice(METHODS)
        country = self.random.choice(COUNTRIES[self.region])
        for number in range(self.random.randint(1, 4)):
            metadata = self.metadata | {"country": country, "method": method, "attempts": str(number + 1)}
            at = failed - 400 + 90 * number
            yield event(at, f"payments.{country.lower()}.declined", {"amount": self.amount}, self.id, metadata)

    def _mail(self, subject: str, at: int) -> Event:
        return event(at + 300, MAILS[subject], {"order": self.id}, self.id, self.metadata)
