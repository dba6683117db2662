"""The sticky choice: rendezvous hashing, so that every runtime that can hash makes the same one.

For each destination the score is the BLAKE2b hash, of 8 bytes, without key, salt or personalisation, over

    the length of the destination's name in UTF-8 bytes, as 4 bytes, big-endian
    the destination's name in UTF-8
    the key in UTF-8

read as an unsigned number, big-endian. The highest score is chosen; of equal ones, the name whose UTF-8 bytes come
first. The order of the destinations and their weights make no difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b


def stick(names: Iterable[str], key: str) -> str:
    """The name for this key; there must be at least one.

    >>> stick(["a", "b", "c"], "customer-17")
    'b'
    """
    hashed = _bytes(key)
    return min(map(_bytes, names), key=lambda name: (-_score(name, hashed), name)).decode("utf-8", "surrogatepass")


def score(name: str, key: str) -> int:
    """The score of one destination for a key.

    >>> f"{score('a', 'customer-17'):016x}"
    '37136f0d44b34ffc'
    """
    return _score(_bytes(name), _bytes(key))


def _score(name: bytes, key: bytes) -> int:
    return int.from_bytes(blake2b(len(name).to_bytes(4, "big") + name + key, digest_size=8).digest(), "big")


def _bytes(text: str) -> bytes:
    # A lone surrogate, which no message can hold but a caller may, hashes as it is written.
    return text.encode("utf-8", "surrogatepass")
