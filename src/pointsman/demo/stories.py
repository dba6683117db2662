"""How an order can go: the steps of each story along the saga ``order`` of the demo's table, and how it ends.

The waits keep clear of the timeouts of the saga (30 s for the payment, 60 s for the stock, 1200 s for the delivery and
60 s for each undoing), so that the end of a story does not depend on how exactly a runtime's timers go.
"""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import Literal, NamedTuple

from pointsman.demo.event import SECOND

Ending = Literal["finished", "compensated", "timed out", "open"]
"""Of a saga: it came to its end; it was undone; it was undone and a timeout was taken on the way; none of these yet."""

CREATED = "orders.events.order.created"
PAYMENT_RESERVED = "payments.events.payment.reserved"
PAYMENT_FAILED = "payments.events.payment.failed"
PAYMENT_RELEASED = "payments.events.payment.released"
STOCK_RESERVED = "inventory.events.stock.reserved"
STOCK_UNAVAILABLE = "inventory.events.stock.unavailable"
STOCK_RELEASED = "inventory.events.stock.released"
SCHEDULED = "shipping.events.delivery.scheduled"
DELIVERY_FAILED = "shipping.events.delivery.failed"


class Step(NamedTuple):
    """An event, between so many seconds after the one before it."""

    subject: str
    shortest: float
    longest: float


class Story(NamedTuple):
    """One way an order can go after it was created."""

    name: str
    share: float
    """Of a hundred orders, about so many."""
    ending: Ending
    steps: tuple[Step, ...]
    after: float = 0.0
    """Seconds after the last step until it has ended."""

    def times(self, random: Random, created: int) -> list[int]:
        """When each step of an order that was created then comes."""
        return [*accumulate((_wait(step, random) for step in self.steps), initial=created)][1:]


def _wait(step: Step, random: Random) -> int:
    return int(random.uniform(step.shortest, step.longest) * SECOND)


PAID = Step(PAYMENT_RESERVED, 0.2, 4)
IN_STOCK = Step(STOCK_RESERVED, 0.5, 8)
NOT_IN_STOCK = Step(STOCK_UNAVAILABLE, 0.5, 8)
REFUNDED = Step(PAYMENT_RELEASED, 1, 20)
PUT_BACK = Step(STOCK_RELEASED, 1, 20)
LOST = Step(DELIVERY_FAILED, 2, 100)

COMPLETED = Story("completed", 74, "finished", (PAID, IN_STOCK, Step(SCHEDULED, 2, 400)))
"""The story of most orders."""
STORIES = (
    COMPLETED,
    Story("hasty courier", 1, "finished", (Step(SCHEDULED, 0.05, 0.15), PAID, IN_STOCK, Step(SCHEDULED, 2, 60))),
    Story("payment refused", 6, "compensated", (Step(PAYMENT_FAILED, 0.5, 6),)),
    Story("payment forgotten", 2, "timed out", (), after=31),
    Story("payment too late", 1, "timed out", (Step(PAYMENT_RESERVED, 33, 50),)),
    Story("out of stock", 6, "compensated", (PAID, NOT_IN_STOCK, REFUNDED)),
    Story("slow bank", 1, "timed out", (PAID, NOT_IN_STOCK, Step(PAYMENT_RELEASED, 63, 110))),
    Story("stock forgotten", 2, "timed out", (PAID, Step(PAYMENT_RELEASED, 62, 80))),
    Story("delivery failed", 4, "compensated", (PAID, IN_STOCK, LOST, PUT_BACK, REFUNDED)),
    Story("slow warehouse", 1, "timed out", (PAID, IN_STOCK, LOST, Step(STOCK_RELEASED, 63, 110), REFUNDED)),
    Story("delivery forgotten", 2, "timed out", (PAID, IN_STOCK, Step(STOCK_RELEASED, 1203, 1240), REFUNDED)),
)
UNDER_WAY = Story("under way", 0, "open", (PAID, IN_STOCK))
"""The story of orders that come too late in the hour to come to their end in it."""
SHARES = [*accumulate(story.share for story in STORIES)]


def draw_story(random: Random, created: int, last: int) -> tuple[Story, list[int]]:
    """A story, with the times of its steps, that has ended before ``last``; if there is none, one that is under way."""
    [drawn] = random.choices(STORIES, cum_weights=SHARES)
    return fitting_story(drawn, random, created, last)


def fitting_story(wanted: Story, random: Random, created: int, last: int) -> tuple[Story, list[int]]:
    """The story that is wanted, or if it would not have ended before ``last`` the usual one, or one under way."""
    for story in (wanted, COMPLETED):
        times = story.times(random, created)
        if (times or [created])[-1] + story.after * SECOND < last:
            return story, times
    return UNDER_WAY, UNDER_WAY.times(random, created)
