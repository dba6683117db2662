"""What is published to the broker in the crash test, and what must come of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

TABLE = Path(__file__).parent / "broker_table.yaml"
FILE = "broker.db"
RESULTS = "results.prices"
SUPPLIERS = ("supplier-1", "supplier-2", "supplier-3")
WORKERS = ("worker-1", "worker-2", "worker-3")
HANDLERS: dict[str, str | None] = {
    "audit": None,
    **dict.fromkeys(WORKERS),
    **dict.fromkeys(SUPPLIERS),
    "payments": "payments.commands.>",
    "stock": "stock.commands.>",
    "shipping": "shipping.commands.>",
    "results": RESULTS,
    "notes": "notes.>",
}
"""The handlers: of a destination of the table, or of a pattern."""
SUBJECTS = {"order": "orders.events.order.created", "job": "jobs.one", "ask": "prices.ask", "note": "notes.one"}
RESERVE, CHECK = "payments.commands.payment.reserve", "stock.commands.stock.check"
SCHEDULE, RELEASE = "shipping.commands.delivery.schedule", "payments.commands.payment.release"
COMMANDS: dict[str, set[str]] = {
    "payment_processing": {RESERVE},
    "stock_checking": {RESERVE, CHECK},
    "shipping_scheduled": {RESERVE, CHECK, SCHEDULE},
    "order_completed": {RESERVE, CHECK, SCHEDULE},
    "payment_releasing": {RESERVE, CHECK, RELEASE},
    "order_cancelled": {RESERVE, CHECK, RELEASE},
}
"""The commands that a saga has sent, once each, when it is in a state."""


def kind_of(name: str) -> str:
    """Order, job, ask or note."""
    return name.split(":", 1)[0]


def subject_of(name: str) -> str:
    """Under which subject the message of this name is published."""
    return SUBJECTS[kind_of(name)]


def is_in_stock(name: str) -> bool:
    """Whether an order can be completed; one of three cannot."""
    return zlib.crc32(name.encode()) % 3 > 0


def end_of(name: str) -> str:
    """The state in which the saga of an order ends."""
    return "order_completed" if is_in_stock(name) else "order_cancelled"


ANSWERS: dict[str, Callable[[str], str]] = {
    RESERVE: lambda _: "payments.events.payment.reserved",
    CHECK: lambda name: f"stock.events.stock.{'reserved' if is_in_stock(name) else 'unavailable'}",
    SCHEDULE: lambda _: "shipping.events.delivery.scheduled",
    RELEASE: lambda _: "payments.events.payment.released",
}
"""The event with which each command is answered."""


def supply_answer(supplier: str, name: str) -> dict[str, int]:
    """What a supplier answers."""
    return {"price": zlib.crc32(f"{supplier} {name}".encode()) % 1000}
