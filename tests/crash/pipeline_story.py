"""What is put into the queue in the crash test of the pipeline, and by which table it is routed."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pointsman.message import Message
from pointsman.pipeline.spark.session import QUICK_START
from pointsman.store.message import Draft, write_envelope
from pointsman.store.queue import Queue
from tests.routing import order_saga as order

QUEUE, LEDGER = "shop.db", "ledger.db"
ARCHIVE, OUT, CHECKPOINT = "archive", "out", "checkpoint"
SOURCES = ("shop", "shop-follow")
"""What the queries of the pipeline are called in the queue that they read."""
SUBSCRIPTIONS = "subscriptions.jsonl"
WATCHED = "watched"
"""The destination of all wildcard subscriptions."""
LATER = "later"
"""The owner of the subscription that only the later version has."""
TURNS = ("left", "right")
EXTRA = "extra"
LATE = 60.0
START = datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp()
TALES: tuple[tuple[tuple[str, float], ...], ...] = (
    ((order.CREATED, 0), (order.PAYMENT_RESERVED, 5), (order.AVAILABLE, 9), (order.DELIVERED, 20)),
    ((order.CREATED, 0), (order.PAYMENT_RESERVED, 6), (order.OUT_OF_STOCK, 8), (order.PAYMENT_RELEASED, 12)),
    ((order.CREATED, 0), (order.PAYMENT_FAILED, 4), (order.PAYMENT_RESERVED, 7)),
    ((order.CREATED, 0),),
    ((order.CREATED, 0), (order.CREATED, 3), (order.PAYMENT_RESERVED, 10), (order.PAYMENT_RELEASED, 145)),
)
"""The events of an order, and the seconds after which they come: it is finished, has no stock, is not paid, is left
alone until it times out, and times out at a later step, again and again until its payment is released."""


def table(*, extra: bool = False) -> dict[str, Any]:
    """The routing table, and a later version of it with one more route."""
    more = [{"name": EXTRA, "pattern": "sales.>", "destinations": [EXTRA]}] if extra else []
    return {
        "name": "crash",
        "destinations": {name: {} for name in ("archive", "ledger", WATCHED, *TURNS, *([EXTRA] if extra else []))},
        "routes": [
            {"name": "all", "pattern": ">", "destinations": ["archive", "ledger"]},
            {
                "name": "turns",
                "pattern": "sales.>",
                "strategy": "balanced",
                "balance": "round-robin",
                "destinations": list(TURNS),
            },
            *more,
        ],
        "sagas": {"order": {key: value for key, value in order.ORDER.items() if key != "name"}},
    }


def subscriptions(*, later: bool = False) -> list[dict[str, Any]]:
    """The wildcard subscriptions, and a later version of them with one more.

    Two of one owner may match the same sale, which is delivered once; another's is for the commands of sagas.
    """
    more = [{"id": "late", "owner": LATER, "destinations": [WATCHED], "pattern": "sales.>"}] if later else []
    north = {"key": "region", "pattern": "n?rth"}
    return [
        {"id": "sales", "owner": "sales", "destinations": [WATCHED], "pattern": "sales.>"},
        {"id": "north", "owner": "sales", "destinations": [WATCHED], "condition": north},
        {"id": "commands", "owner": "desk", "destinations": [WATCHED], "pattern": "*.commands.>"},
        *more,
    ]


def pipeline(most: int) -> dict[str, Any]:
    """The pipeline: ``most`` messages make a batch. No id tells the ledger what is put twice."""
    source = {"subscription": SOURCES[0], "start": 0, "maxRows": most, "partitions": 2}
    return {
        "table": "table.yaml",
        "subscriptions": SUBSCRIPTIONS,
        "source": {"format": "pointsman", "path": QUEUE, "options": source},
        "out": OUT,
        "checkpoint": CHECKPOINT,
        "late": LATE,
        "destinations": {
            "archive": {"format": "json", "path": ARCHIVE},
            "ledger": {"format": "pointsman", "path": LEDGER, "options": {"dedupe": 0, "dialect": "nats"}},
        },
        "master": "local[2]",
        "spark": {
            "spark.sql.shuffle.partitions": 2,
            "spark.local.dir": "local",
            **QUICK_START,
            "spark.python.sql.dataFrameDebugging.enabled": "false",
        },
    }


class Story(NamedTuple):
    """Messages in the order in which they are put, which is that of their times."""

    messages: tuple[Message, ...]

    @classmethod
    def make(cls, seed: int, count: int) -> Story:
        """So many messages or a few more, of which every second one is a sale, and one that moves the time past all."""
        source = random.Random(seed)
        planned: list[tuple[float, str, str, str]] = []
        tales = max(1, count // (2 * sum(map(len, TALES))))
        for number in range(tales * len(TALES)):
            start = 0.5 + 2.5 * number + source.random()
            for step, (subject, after) in enumerate(TALES[number % len(TALES)]):
                planned.append((start + after, subject, f"order-{number}-{step}", f"order-{number}"))
        length = max(each[0] for each in planned)
        for number in range(len(planned)):
            time = length * number / len(planned) + source.random() * 0.4
            subject = f"sales.{source.choice(('north', 'south', 'east'))}.{number % 7}"
            planned.append((time, subject, f"sale-{number}", f"sale-{number}"))
        planned.sort()
        planned.append((length + 3 * LATE, "sales.end.0", "sale-end", "sale-end"))
        return cls(tuple(_message(*each, amount=source.randrange(1, 10_000)) for each in planned))

    def orders(self) -> dict[str, list[Message]]:
        """The events of each order."""
        found: dict[str, list[Message]] = defaultdict(list)
        for message in self.messages:
            if not is_sale(message.subject):
                found[str(message.correlation_id)].append(message)
        return dict(found)

    @property
    def end(self) -> float:
        """The time up to which timeouts are taken at the end."""
        time = self.messages[-1].time
        assert time is not None
        return time.timestamp() - LATE


def is_sale(subject: str) -> bool:
    """Whether a message is a sale, and no event of an order."""
    return subject.startswith("sales.")


def amount_of(body: bytes | str) -> int:
    """What a message says is to be added up; 0 if it says nothing, as the commands of timeouts."""
    return int(json.loads(body)["amount"]) if body else 0


def put(queue: Queue, messages: tuple[Message, ...]) -> None:
    """Puts messages with all their fields, in one transaction."""

    def operation(transaction: Any) -> None:
        putter = queue.store.putter(transaction)
        for message in messages:
            draft = Draft(message.body, message.subject, id=message.id, metadata=message.metadata)
            putter.put(draft, envelope=write_envelope(message))
        putter.finish()

    if messages:
        queue.store.write(operation)


def _message(time: float, subject: str, id: str, correlation_id: str, *, amount: int) -> Message:
    # Whole milliseconds are the same in all that reads and writes them.
    at = datetime.fromtimestamp(round(START + time, 3), UTC)
    body = json.dumps({"amount": amount}).encode()
    metadata = {"region": subject.split(".")[1]} if is_sale(subject) else {}
    return Message(subject, id=id, body=body, time=at, correlation_id=correlation_id, metadata=metadata)
