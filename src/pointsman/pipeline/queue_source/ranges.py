"""Splitting what is read into parts of about the same size."""

from __future__ import annotations

import os
from itertools import pairwise

LEAST = 1000
"""Messages for which a task of its own is worth its while."""


def split(after: int, through: int, parts: int | None) -> list[tuple[int, int]]:
    """Ranges that together are the numbers behind ``after``, up to and with ``through``.

    As many as asked for, as far as there are numbers; otherwise one for each core, if they are worth it.

    >>> split(10, 15, 2)
    [(10, 12), (12, 15)]
    >>> split(10, 10, 2)
    []
    """
    count = through - after
    if count <= 0:
        return []
    wanted = min(os.cpu_count() or 1, -(-count // LEAST)) if parts is None else min(parts, count)
    bounds = [after + count * number // wanted for number in range(wanted + 1)]
    return list(pairwise(bounds))
