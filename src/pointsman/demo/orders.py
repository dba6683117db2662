"""Orders: how each can go along the saga ``order`` of the demo's table, and the events it makes on its way.

The waits keep clear of the saga's timeouts (30 s for the payment, 60 s for the stock, 1200 s for the delivery, 60 s to
undo each of them), so that the ending of a story does not depend on how exactly a runtime's timers fire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import NamedTuple

from pointsman.demo.catalogue import COUNTRIES, CURRENCIES, METHODS, MINUTE, SECOND, WAREHOUSES, Event, Shoppers

CREATED = "orders.events.order.created"
PAYMENT_RESERVED = "payments.events.payment.reserved"
PAYMENT_FAILED = "payments.events.payment.failed"
PAYMENT_RELEASED = "payments.events.payment.released"
STOCK_RESERVED = "inventory.events.stock.reserved"
STOCK_UNAVAILABLE = "inventory.events.stock.unavailable"
STOCK_RELEASED = "inventory.events.stock.released"
SCHEDULED = "shipping.events.delivery.scheduled"
DELIVERY_FAILED = "shipping.events.delivery.failed"

LAST_ORDER = 59 * MINUTE
LAST_STEP = 60 * MINUTE - 5 * SECOND
MAILS = {CREATED: "mail.confirmation", SCHEDULED: "mail.shipped", PAYMENT_RELEASED: "mail.refund"}
"""The mail that a customer gets at a step."""


class Step(NamedTuple):
    """An event that comes between ``shortest`` and ``longest`` seconds after the one before it."""

    subject: str
    shortest: float
    longest: float


class Story(NamedTuple):
    """One way an order can go after it was created."""

    share: float
    """Of the orders, in percent."""
    ending: str
    """Of its saga, one of ``counts.ENDINGS``."""
    steps: tuple[Step, ...]
    after: float = 0.0
    """Seconds from the last step until the saga has ended."""

    def times(self, random: Random, created: int) -> list[int]:
        """Returns when each step comes."""
        waits = (int(random.uniform(step.shortest, step.longest) * SECOND) for step in self.steps)
        return [*accumulate(waits, initial=created)][1:]


PAID = Step(PAYMENT_RESERVED, 0.2, 4)
IN_STOCK = Step(STOCK_RESERVED, 0.5, 8)
NOT_IN_STOCK = Step(STOCK_UNAVAILABLE, 0.5, 8)
REFUNDED = Step(PAYMENT_RELEASED, 1, 20)
PUT_BACK = Step(STOCK_RELEASED, 1, 20)
LOST = Step(DELIVERY_FAILED, 2, 100)

COMPLETED = Story(74, "finished", (PAID, IN_STOCK, Step(SCHEDULED, 2, 400)))
"""How most orders go."""
STORIES = (
    COMPLETED,
    # A hasty courier: the first delivery date comes too early and is ignored.
    Story(1, "finished", (Step(SCHEDULED, 0.05, 0.15), PAID, IN_STOCK, Step(SCHEDULED, 2, 60))),
    # The payment: refused, forgotten, too late.
    Story(6, "compensated", (Step(PAYMENT_FAILED, 0.5, 6),)),
    Story(2, "timed out", (), after=31),
    Story(1, "timed out", (Step(PAYMENT_RESERVED, 33, 50),)),
    # The stock: none left, none left and a slow refund, forgotten.
    Story(6, "compensated", (PAID, NOT_IN_STOCK, REFUNDED)),
    Story(1, "timed out", (PAID, NOT_IN_STOCK, Step(PAYMENT_RELEASED, 63, 110))),
    Story(2, "timed out", (PAID, Step(PAYMENT_RELEASED, 62, 80))),
    # The delivery: failed, failed with a slow warehouse, forgotten.
    Story(4, "compensated", (PAID, IN_STOCK, LOST, PUT_BACK, REFUNDED)),
    Story(1, "timed out", (PAID, IN_STOCK, LOST, Step(STOCK_RELEASED, 63, 110), REFUNDED)),
    Story(2, "timed out", (PAID, IN_STOCK, Step(STOCK_RELEASED, 1203, 1240), REFUNDED)),
)
UNDER_WAY = Story(0, "open", (PAID, IN_STOCK))
"""For orders that come too late to end within the hour."""
SHARES = [*accumulate(story.share for story in STORIES)]


def order_events(shoppers: Shoppers, orders: int, endings: Counter[str]) -> Iterator[Event]:
    """Yields the events of this many orders, in no order, and counts in ``endings`` how their sagas end.

    The first orders go through all stories once, early enough for each of them.
    """
    random = shoppers.random
    drawn = (shoppers.draw(name, orders) for name in ("region", "customer", "lines"))
    for number, (moment, region, customer, lines) in enumerate(zip(shoppers.moments(orders), *drawn, strict=True)):
        if number < len(STORIES):
            created, wanted = number * 2 * SECOND + random.randrange(SECOND), STORIES[number]
        else:
            created = moment * LAST_ORDER // (60 * MINUTE)
            [wanted] = random.choices(STORIES, cum_weights=SHARES)
        story, times = _fitting(wanted, random, created)
        endings[story.ending] += 1
        order = _Order(shoppers, f"order-{number + 1:05}", region, customer, lines)
        yield from order.created(created)
        for step, at in zip(story.steps, times, strict=True):
            yield from order.step(step.subject, at)


def _fitting(wanted: Story, random: Random, created: int) -> tuple[Story, list[int]]:
    """Returns the wanted story, or the usual one or one under way if it would not end within the hour."""
    for story in (wanted, COMPLETED):
        times = story.times(random, created)
        if (times or [created])[-1] + story.after * SECOND < LAST_STEP:
            return story, times
    return UNDER_WAY, UNDER_WAY.times(random, created)


class _Order:
    """An order: who ordered what, which its events tell."""

    def __init__(self, shoppers: Shoppers, id: str, region: str, customer: str, lines: int) -> None:
        self.id = id
        self.random = shoppers.random
        self.region = region
        self.metadata = {"customer": customer, "region": region}
        self.lines = shoppers.draw("category", lines)
        self.amounts = shoppers.prices(self.lines)
        self.body = {"order": id, "amount": round(sum(self.amounts), 2), "currency": CURRENCIES[region]}

    def created(self, at: int) -> Iterator[Event]:
        """Yields the order, its lines, and the mail that confirms it."""
        yield self._event(at, CREATED, self.body | {"lines": len(self.lines)})
        for number, (category, amount) in enumerate(zip(self.lines, self.amounts, strict=True)):
            line = self.body | {"amount": amount, "line": number + 1}
            yield self._event(at + 20 + 10 * number, f"orders.{self.region}.{category}", line)
        yield self._event(at + 300, MAILS[CREATED], {"order": self.id})

    def step(self, subject: str, at: int) -> Iterator[Event]:
        """Yields a step of the saga, and what goes with it."""
        if subject == PAYMENT_FAILED:
            yield from self._attempts(at)
        yield self._event(at, subject, self.body, "courier" if subject.startswith("shipping.") else None)
        if subject == STOCK_RESERVED:
            packed = {"order": self.id, "parcels": len(self.lines)}
            yield self._event(at + 900, f"shipping.{WAREHOUSES[self.region]}.packed", packed, "warehouse-service")
        if subject in MAILS:
            yield self._event(at + 300, MAILS[subject], {"order": self.id})

    def _attempts(self, failed: int) -> Iterator[Event]:
        """Yields the attempts to pay; the third one with a card is a case for the fraud desk."""
        method, country = self.random.choice(METHODS), self.random.choice(COUNTRIES[self.region])
        body = {"amount": self.body["amount"]}
        for number in range(self.random.randint(1, 4)):
            declined = self._event(failed - 400 + 90 * number, f"payments.{country.lower()}.declined", body)
            more = {"country": country, "method": method, "attempts": str(number + 1)}
            yield declined._replace(metadata=self.metadata | more)

    def _event(self, at: int, subject: str, body: object, principal: str | None = None) -> Event:
        return Event(at, subject, body, self.id, self.metadata, principal)
