"""The destination ``queue``: each delivery is put into another queue, in a file of its own.

The id of the delivery is the id in that queue, so that a delivery that comes twice within the queue's window for
deduplication is in it once. The data is the body; what else a message has goes into the metadata, under keys that begin
with ``pointsman-``.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pointsman.destinations.base import SUBJECT_PLACE, Delivered, DeliveryFailed, Options, PathText, filled
from pointsman.destinations.file import make_folder
from pointsman.errors import InputError, PointsmanError, StoreError
from pointsman.table.loading.schema import DialectName

if TYPE_CHECKING:
    from pointsman.store.queue import Queue

PREFIX = "pointsman-"


class QueueOptions(Options):
    """The options of a destination of the type ``queue``."""

    path: PathText = Field(description="The file of the queue; it is made when it is not there.")
    routing_key: str = Field(
        SUBJECT_PLACE, description="The key to put under; {subject} stands for the subject of the message."
    )
    dialect: DialectName | None = Field(None, description="The dialect of the queue's keys; that of Queue if left out.")


class QueueSink:
    """Puts deliveries into a queue."""

    def __init__(self, name: str, options: QueueOptions, path: Path) -> None:
        self._name = name
        self._options = options
        self._path = path
        self._queue: Queue | None = None

    async def open(self) -> None:
        """Open the queue; raises ``StoreError`` as ``Queue`` does, and ``InputError`` when there can be no file."""
        self._queue = await asyncio.to_thread(self._opened)

    async def deliver(self, delivery: Delivered) -> None:
        """Put one message; it is tried again unless the fault is the message's: its size, its key or its id."""
        if self._queue is None:
            raise RuntimeError("the sink is not open")
        try:
            await asyncio.to_thread(
                self._queue.put,
                delivery.message.body,
                filled(self._options.routing_key, delivery.message.subject),
                id=delivery.delivery_id,
                metadata=metadata_of(delivery),
            )
        except PointsmanError as error:
            retry = isinstance(error, StoreError) and error.code != "too-large"
            raise DeliveryFailed(f"the queue does not take it: {error}", retry=retry) from error

    async def close(self) -> None:
        """Close the queue."""
        queue, self._queue = self._queue, None
        if queue is not None:
            await asyncio.to_thread(queue.close)

    def _opened(self) -> Queue:
        from pointsman.store.queue import Queue

        try:
            make_folder(self._path.parent)
        except OSError as error:
            problem = f"destination {self._name!r}: the folder of the queue cannot be made: {error.strerror}"
            raise InputError("bad-destination", problem, file=str(self._path)) from None
        return Queue(self._path) if self._options.dialect is None else Queue(self._path, dialect=self._options.dialect)


def metadata_of(delivery: Delivered) -> dict[str, str]:
    """The metadata of the message, and the rest of it that is known, under keys that begin with ``pointsman-``."""
    fields = delivery.message.to_dict()
    rest = {
        "message-id": fields["id"],
        "route": delivery.route,
        "owner": delivery.owner,
        "subscriptions": json.dumps(delivery.subscriptions, ensure_ascii=False) if delivery.subscriptions else None,
        "subject": fields["subject"],
        "source": fields["source"],
        "time": fields["time"],
        "content-type": fields["content_type"],
        "correlation-id": fields["correlation_id"],
        "causation-id": fields["causation_id"],
    }
    return dict(delivery.message.metadata) | {PREFIX + name: text for name, text in rest.items() if text is not None}
