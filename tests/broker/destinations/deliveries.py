"""Deliveries for the tests of this folder, and a short way to hand them over."""

from __future__ import annotations

import asyncio
from typing import Any

from pointsman.destinations import Delivered, DeliveryFailed, Sink
from pointsman.message import Message


def delivery(body: bytes = b"{}", *, number: int = 1, **fields: Any) -> Delivered:
    """A delivery of the route ``everything`` to the destination ``there``; equal numbers are repetitions."""
    message = Message("orders.paid", body, **{"id": f"message {number}", "time": None, **fields})
    return Delivered(f"delivery-{number}", "everything", "there", message)


def deliver(sink: Sink, *deliveries: Delivered) -> list[DeliveryFailed | None]:
    """Opens the sink, hands over the deliveries all at once, closes it, and gives how each ended."""

    async def attempt(each: Delivered) -> DeliveryFailed | None:
        try:
            await sink.deliver(each)
        except DeliveryFailed as failure:
            return failure
        return None

    async def run() -> list[DeliveryFailed | None]:
        await sink.open()
        try:
            return await asyncio.gather(*(attempt(each) for each in deliveries))
        finally:
            await sink.close()
            await sink.close()

    return asyncio.run(run())
