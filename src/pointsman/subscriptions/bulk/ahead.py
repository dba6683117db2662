"""What comes next is made while what is there is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def ahead(items: Iterator[Item]) -> Iterator[Iterator[Item]]:
    """The items, of which each is made by a thread while the one before it is used; no more than one is.

    What making one raises is raised where it is asked for. At the end of the block, however it comes, the thread has
    ended.
    """
    end = object()
    with ThreadPoolExecutor(1, "pointsman-import") as thread:

        def ordered() -> Iterator[Item]:
            coming = thread.submit(next, items, end)
            while (item := coming.result()) is not end:
                coming = thread.submit(next, items, end)
                yield item  # type: ignore[misc]

        yield ordered()
