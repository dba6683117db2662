"""What else happens in a shop: people look around, stock moves, machines complain."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pointsman.demo.catalogue import WAREHOUSES, Shoppers
from pointsman.demo.event import Event, event

LISTS = ("daily", "weekly", "offers")
GRAPHS = ("catalogue", "customers", "stock")
CHANGES = ("node_added", "node_removed", "edge_added")
SEVERITIES = (("info", 60), ("warning", 34), ("critical", 6))
"""Of alerts, and how many of a hundred."""
SERVICES = ("payments", "search", "shipping", "web")
TERMS = ("atlas", "bicycle", "camera", "dictionary", "easel", "fountain pen", "globe", "harmonica")


def _searched(shoppers: Shoppers) -> Event:
    body = {"terms": shoppers.random.choice(TERMS), "category": shoppers.category()}
    return event(shoppers.moment(), f"users.{shoppers.region()}.searched", body, None, _customer(shoppers))


def _viewed(shoppers: Shoppers) -> Event:
    body = {"category": shoppers.category()}
    return event(shoppers.moment(), f"users.{shoppers.region()}.viewed", body, None, _customer(shoppers))


def _joined(shoppers: Shoppers) -> Event:
    body = {"newsletter": shoppers.random.random() < 0.3}
    return event(shoppers.moment(), f"users.{shoppers.region()}.joined", body, None, _customer(shoppers))


def _newsletter(shoppers: Shoppers) -> Event:
    body = {"offers": [shoppers.category(), shoppers.category()]}
    subject = f"newsletters.{shoppers.random.choice(LISTS)}"
    return event(shoppers.moment(), subject, body, None, _customer(shoppers))


def _low(shoppers: Shoppers) -> Event:
    body = {"category": shoppers.category(), "left": shoppers.random.randrange(10)}
    return event(shoppers.moment(), f"inventory.{WAREHOUSES[shoppers.region()]}.low", body)


def _counted(shoppers: Shoppers) -> Event:
    body = {"category": shoppers.category(), "counted": shoppers.random.randrange(10, 5_000)}
    return event(shoppers.moment(), f"inventory.{WAREHOUSES[shoppers.region()]}.counted", body)


def _returned(shoppers: Shoppers) -> Event:
    category = shoppers.category()
    body = {"category": category, "amount": shoppers.price(category)}
    return event(shoppers.moment(), "orders.returned", body, None, _customer(shoppers), principal="warehouse-service")


def _alert(shoppers: Shoppers) -> Event:
    [severity] = shoppers.random.choices([name for name, _ in SEVERITIES], [share for _, share in SEVERITIES])
    body = {"load": round(shoppers.random.random(), 3)}
    return event(shoppers.moment(), f"alerts.{severity}.{shoppers.random.choice(SERVICES)}", body)


def _changed(shoppers: Shoppers) -> Event:
    subject = f"internal.{shoppers.random.choice(GRAPHS)}.events.{shoppers.random.choice(CHANGES)}"
    return event(shoppers.moment(), subject, {"node": shoppers.random.randrange(1_000_000)})


def _till(shoppers: Shoppers) -> Event:
    category = shoppers.category()
    body = {"amount": shoppers.price(category)}
    return event(shoppers.moment(), f"tills.{category}.{shoppers.region()}", body)


def _customer(shoppers: Shoppers) -> dict[str, str]:
    return {"customer": shoppers.customer()}


KINDS: tuple[tuple[Callable[[Shoppers], Event], float], ...] = (
    (_searched, 2.2),
    (_viewed, 1.0),
    (_joined, 0.1),
    (_newsletter, 0.9),
    (_low, 0.25),
    (_counted, 0.5),
    (_returned, 0.06),
    (_alert, 0.15),
    (_changed, 0.3),
    (_till, 0.25),
)
"""What happens, and how often for each order."""


def other_events(shoppers: Shoppers, orders: int) -> Iterator[Event]:
    """What happens besides so many orders, in no order; at least one of each kind."""
    for make, rate in KINDS:
        for _ in range(max(1, round(orders * rate))):
            yield make(shoppers)
