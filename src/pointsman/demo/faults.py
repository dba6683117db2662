"""What should not be among the events and is: messages that are none, and messages that somebody may not send."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.demo.catalogue import Shoppers
from pointsman.demo.event import WEB_SHOP, Event, event
from pointsman.demo.stories import PAYMENT_RELEASED, PAYMENT_RESERVED

INVALID_SUBJECTS = ("orders..created", ".orders.eu.books", "orders.eu.", "orders.eu. books", "users.*.joined")
UNREADABLE_BODIES = ("amount=12.50;lines=1", '{"amount": 12.50, "lin', "<order><amount>12.50</amount></order>", "")
MALFORMED = {"cut line": 0.005, "missing subject": 0.01, "invalid subject": 0.015, "unreadable body": 0.02}
FORBIDDEN = {"unknown principal": 0.01, "no rule": 0.03, "denied": 0.01}
"""What is wrong with messages, and how often for each order."""
ORPHANS = 0.005
"""Steps of orders that nobody knows, for each order."""


class Faults:
    """How many messages there are to be with what wrong with them, besides so many orders."""

    def __init__(self, orders: int) -> None:
        self.malformed = {kind: max(len(INVALID_SUBJECTS), round(orders * rate)) for kind, rate in MALFORMED.items()}
        self.forbidden = {kind: max(2, round(orders * rate)) for kind, rate in FORBIDDEN.items()}
        self.orphans = max(1, round(orders * ORPHANS))
        """Steps of orders that nobody knows."""


def faulty_events(shoppers: Shoppers, orders: int, faults: Faults) -> Iterator[Event]:
    """As many faulty messages of each kind as there are to be, in no order, besides so many orders.

    Messages without a subject that access could be asked about have no principal: they come from a trusted importer.
    """
    for kind, count in faults.malformed.items():
        yield from (_malformed(kind, number, shoppers) for number in range(count))
    for kind, count in faults.forbidden.items():
        yield from (_forbidden(kind, number, shoppers, orders) for number in range(count))
    for number in range(faults.orphans):
        yield event(shoppers.moment(), PAYMENT_RESERVED, {"amount": 1.0}, f"lost-{number + 1:03}")


def _malformed(kind: str, number: int, shoppers: Shoppers) -> Event:
    at = shoppers.moment()
    if kind == "unreadable body":
        body = UNREADABLE_BODIES[number % len(UNREADABLE_BODIES)]
        subject = f"orders.{shoppers.region()}.{shoppers.category()}"
        return Event(at, subject, body, WEB_SHOP, f"/{WEB_SHOP}", None, {"customer": shoppers.customer()})
    wrong = INVALID_SUBJECTS[number % len(INVALID_SUBJECTS)] if kind == "invalid subject" else None
    return Event(at, wrong, "{}", None, "/importer", None, {}, is_cut=kind == "cut line")


def _forbidden(kind: str, number: int, shoppers: Shoppers, orders: int) -> Event:
    at = shoppers.moment()
    if kind == "unknown principal":
        category = shoppers.category()
        body = {"amount": shoppers.price(category)}
        return event(at, f"tills.{category}.{shoppers.region()}", body, principal="old-till")
    if kind == "denied":
        return event(at, "orders.returned", {"reason": "changed my mind"}, principal=WEB_SHOP)
    if number % 2:
        return event(at, "prices.ask", {"category": shoppers.category()}, principal="partner")
    # Would undo an order that is well, if it came through.
    order = f"order-{shoppers.random.randint(1, orders):05}"
    return event(at, PAYMENT_RELEASED, {"order": order}, order, principal="courier")
