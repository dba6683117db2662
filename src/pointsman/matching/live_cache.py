"""Results of the live index that are kept: a bounded number, those used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

LARGEST = 1_000
"""Results of more values, and those of longer subjects, are not kept: a full cache stays a matter of megabytes."""

Result = tuple[int, tuple[Any, ...]]
"""The version of the index from before the result was worked out, and the values."""


class ResultCache:
    """Results by the text of their subject.

    For any thread, at any time: each method of an ``OrderedDict`` with texts as keys is one step. What another thread
    does between two steps can cost a result that was kept, or count one use too few, and no more than that.
    """

    __slots__ = ("dropped", "misses", "results", "size")

    def __init__(self, size: int) -> None:
        self.size = max(0, size)
        self.results: OrderedDict[str, Result] = OrderedDict()
        self.misses = self.dropped = 0

    @property
    def entries(self) -> int:
        """How many results are kept now."""
        return len(self.results)

    def keep(self, text: str, version: int, values: Sequence[Any]) -> None:
        """Keeps a result, unless it is large, and forgets those used longest ago when there are too many.

        One that is there already keeps its place in the order of use.
        """
        if len(values) > LARGEST or len(text) > LARGEST:
            return
        results = self.results
        results[text] = (version, tuple(values))
        with suppress(KeyError):  # when other threads have forgotten them all meanwhile
            while len(results) > self.size:
                results.popitem(last=False)

    def drop(self, text: str) -> None:
        """Forgets a result that may be wrong by now."""
        self.dropped += 1
        self.results.pop(text, None)
