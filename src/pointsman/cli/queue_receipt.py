"""Receipts: what a lease is known by, as a short text that one command prints and another reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.store.message import StoredMessage

FORM = re.compile(r"((?:[0-9a-f]{1,15}-){5})([0-9a-f]{4})")


class Receipt(NamedTuple):
    """What a lease is known by.

    >>> Receipt(1700000000000000, 0, 7, 0, 123456789).text
    '60a24181e4000-0-7-0-75bcd15-4c17'
    """

    until: int
    subscription: int
    sequence: int
    via: int
    token: int

    @property
    def text(self) -> str:
        """The numbers in base 16, and a checksum for what is copied by hand."""
        numbers = "".join(f"{number:x}-" for number in self)
        return f"{numbers}{_checksum(numbers)}"


def receipt_of(message: StoredMessage) -> Receipt:
    """The receipt of a message that was popped."""
    return Receipt(message.until, message.subscription, message.sequence, message.via, message.token)


def parse_receipt(text: str) -> Receipt:
    """The receipt that a text is. Raises ``InputError`` (``bad-receipt``)."""
    found = FORM.fullmatch(text.strip())
    if found is None or _checksum(found[1]) != found[2]:
        raise InputError("bad-receipt", "the text is no receipt", text=text)
    return Receipt(*(int(number, 16) for number in found[1].split("-")[:5]))


def _checksum(numbers: str) -> str:
    return f"{crc32(numbers.encode()) & 0xFFFF:04x}"
