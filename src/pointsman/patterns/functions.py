"""The functions a template can call, as NATS subject mapping defines them.

Each takes the texts of the wildcards it names and its fixed arguments, and gives the tokens it stands for. Lengths
are counted in characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Tokens = list[str]
Random = Callable[[], float]
"""Gives a number from 0 up to, and not including, 1."""


def partition(text: str, buckets: int) -> Tokens:
    """The number of the bucket that the text falls into, by its 32-bit FNV-1a hash.

    >>> partition("foo", 10)
    ['3']
    """
    value = 2_166_136_261
    for byte in text.encode():
        value = (value ^ byte) * 16_777_619 & 0xFFFF_FFFF
    return [str(value % buckets)]


def random_bucket(random: Random, buckets: int) -> Tokens:
    """The number of a bucket, each as likely as the other.

    >>> random_bucket(lambda: 0.99, 10)
    ['9']
    """
    return [str(min(int(random() * buckets), buckets - 1))]


def split(token: str, delimiter: str) -> Tokens:
    """The pieces between the delimiters; empty ones are left out.

    >>> split("-abc-def--ghi-", "-")
    ['abc', 'def', 'ghi']
    """
    return [piece for piece in token.split(delimiter) if piece]


def split_from_left(token: str, position: int) -> Tokens:
    """Two tokens, the first of that length; a token that is too short stays whole."""
    return [token[:position], token[position:]] if 0 < position < len(token) else [token]


def split_from_right(token: str, position: int) -> Tokens:
    """Two tokens, the last of that length; a token that is too short stays whole."""
    return [token[:-position], token[-position:]] if 0 < position < len(token) else [token]


def slice_from_left(token: str, size: int) -> Tokens:
    """Tokens of that size, the last one may be shorter.

    >>> slice_from_left("1234567890", 3)
    ['123', '456', '789', '0']
    """
    if not 0 < size < len(token):
        return [token]
    return [token[start : start + size] for start in range(0, len(token), size)]


def slice_from_right(token: str, size: int) -> Tokens:
    """Tokens of that size, the first one may be shorter.

    >>> slice_from_right("1234567890", 3)
    ['1', '234', '567', '890']
    """
    if not 0 < size < len(token):
        return [token]
    first = len(token) % size
    head = [token[:first]] if first else []
    return head + [token[start : start + size] for start in range(first, len(token), size)]


def left(token: str, size: int) -> Tokens:
    """The first characters; a token that is shorter stays whole."""
    return [token[:size]] if 0 < size < len(token) else [token]


def right(token: str, size: int) -> Tokens:
    """The last characters; a token that is shorter stays whole."""
    return [token[-size:]] if 0 < size < len(token) else [token]


BY_NUMBER: dict[str, Callable[[str, int], Tokens]] = {
    "splitfromleft": split_from_left,
    "splitfromright": split_from_right,
    "slicefromleft": slice_from_left,
    "slicefromright": slice_from_right,
    "left": left,
    "right": right,
}
"""Functions of (wildcard, number)."""

KEEPS_EVERYTHING = frozenset({"wildcard", "splitfromleft", "splitfromright", "slicefromleft", "slicefromright"})
"""Functions whose result still holds every character of the token."""

NAMES: Sequence[str] = ("wildcard", "partition", "random", "split", *BY_NUMBER)
