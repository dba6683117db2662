"""Ids of messages that sort by the time at which they were made, as UUIDs of version 7 do."""

from __future__ import annotations

import secrets
import uuid


def new_id(now: float) -> str:
    """A new id, for a time in seconds since 1970.

    >>> new_id(0.0) < new_id(1.0)
    True
    """
    milliseconds = int(now * 1000) & 0xFFFF_FFFF_FFFF
    random = secrets.randbits(74)
    high = (milliseconds << 16) | (0x7 << 12) | (random >> 62)
    return str(uuid.UUID(int=(high << 64) | (0x2 << 62) | (random & 0x3FFF_FFFF_FFFF_FFFF)))


def derived_id(cause: str, what: str) -> str:
    """The id of what follows from a message: always the same one for the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{cause}\0{what}"))
