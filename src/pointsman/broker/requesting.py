"""Requests: a message is published, and what comes back to its inbox is given to whoever asked."""

from __future__ import annotations

import asyncio
import os
import secrets
from typing import Any

from pointsman.broker.publishing import INBOX
from pointsman.broker.received import Received
from pointsman.message import Message
from pointsman.store.store import Store
from pointsman.store.subscriptions import add_subscription
from pointsman.store.transaction import Transaction


class Inbox:
    """Where the replies to one broker of one process go."""

    def __init__(self) -> None:
        self.name = f"{INBOX}{os.getpid()}-{secrets.token_hex(6)}"
        self._waiting: dict[str, asyncio.Future[Message]] = {}

    def expect(self, correlation_id: str) -> asyncio.Future[Message]:
        """What the reply to this correlation id will be."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(correlation_id, None))
        return future

    async def act(self, received: Received) -> None:
        """A reply has come; one that nobody waits for any more is dropped."""
        future = self._waiting.get(received.message.correlation_id or "")
        if future is not None and not future.done():
            future.set_result(received.message)

    def make(self, store: Store, transaction: Transaction) -> int:
        """The number of the subscription, which is stored."""
        return add_subscription(transaction, self.name, None, store.dialect.name)


def abandoned(store: Store, transaction: Transaction) -> list[str]:
    """The inboxes of processes of this machine that are gone."""
    store.subscriptions.refresh(transaction)
    names = [name for name in store.subscriptions.by_name if name.startswith(INBOX)]
    return [name for name in names if not _lives(name)]


def _lives(name: str) -> bool:
    number: Any = name.removeprefix(INBOX).partition("-")[0]
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):
        return True
    return True
