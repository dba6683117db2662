"""What is sent in the crash test: contents that say themselves whether they are whole, and who is to get them."""

from __future__ import annotations

import hashlib
import random

SUBSCRIPTIONS = {"electronics": "orders.electronics.#", "books": "*.books.*", "everything": "#"}
"""The durable subscriptions and their patterns."""
KEYS = {
    "orders.electronics.laptops": {"electronics", "everything"},
    "orders.electronics": {"electronics", "everything"},
    "orders.electronics.phones.used": {"electronics", "everything"},
    "orders.books.novels": {"books", "everything"},
    "returns.books.novels": {"books", "everything"},
    "returns.garden": {"everything"},
}
"""The routing keys, and which of the subscriptions get them; written down by hand."""
ASKED = "#.novels"
"""A pattern that nobody subscribed to."""


def key_of(name: str) -> str:
    """The routing key of the message of this name."""
    return random.Random(name).choice(list(KEYS))


def data_of(name: str) -> bytes:
    """The contents of the message of this name: mostly short, sometimes of several pages of the file."""
    source = random.Random(f"{name} data")
    length = source.choice((0, 20, 200, 200, 200, 3000, 20_000))
    stretched = hashlib.sha256(name.encode()).hexdigest() * (length // 64 + 1)
    return f"{name}|{stretched[:length]}".encode()


def name_of(data: bytes | str, key: str) -> str | None:
    """The name of the message of these contents; None unless they are whole and under their own key."""
    whole = data.encode() if isinstance(data, str) else data
    name = whole.split(b"|", 1)[0].decode()
    return name if whole == data_of(name) and key == key_of(name) else None
