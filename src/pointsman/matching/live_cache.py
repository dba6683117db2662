"""Results of the live index that are kept: a bounded number, those used last."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any

LARGEST = 1_000
"""Results of more values, and those of longer subjects, are not kept: a full cache stays a matter of megabytes."""

Result = tuple[int, tuple[Any, ...]]
"""The version of the index from before the result was worked out, and the values."""
Fresh = dict[str, tuple[Any, ...]]


class ResultCache:
    """Results by the text of their subject, in the order of use, and those that are fresh once more in a plain dict.

    ``fresh`` holds results that no change has come after, so that nothing needs to be asked of them: a hit is one look
    into a dict. Each change puts an empty dict in its place, and a result gets there when it is used again. Its uses
    there do not show in the order, so it is emptied after every ``size // 2`` results: what was not among the last
    ``size // 2`` used may be forgotten before its turn, what was among them is not.

    For any thread, at any time: each method of a dict with texts as keys is one step. What another thread does between
    two steps can cost a result that was kept, or count one use too few, and no more than that.
    """

    __slots__ = ("_results", "dropped", "fresh", "misses", "size")

    def __init__(self, size: int) -> None:
        self.size = max(0, size)
        self.fresh: Fresh = {}
        self._results: OrderedDict[str, Result] = OrderedDict()
        self.misses = self.dropped = 0

    @property
    def entries(self) -> int:
        """How many results are kept now."""
        return len(self._results)

    def find(self, text: str) -> Result | None:
        """A result that may be older than the last changes, and which is from now on the one used last."""
        result = self._results.get(text)
        if result is not None:
            # Another thread may just have forgotten it.
            with suppress(KeyError):
                self._results.move_to_end(text)
        return result

    def age(self) -> None:
        """A change has been made: nothing is fresh any more."""
        self.fresh = {}

    def keep(self, fresh: Fresh, text: str, version: int, values: tuple[Any, ...]) -> None:
        """Keeps a result, unless it is large, and forgets those used longest ago when there are too many.

        ``fresh`` is what it was before the version was read and the result worked out: if a change has come since, it
        is not in use any more.
        """
        if len(values) > LARGEST or len(text) > LARGEST:
            return
        if len(fresh) >= self.size // 2:
            fresh.clear()
        fresh[text] = values
        results = self._results
        results[text] = (version, values)
        if len(results) > self.size:
            try:  # noqa: SIM105 - suppress takes longer than all the rest
                results.popitem(last=False)
            except KeyError:  # other threads have forgotten all of them meanwhile
                pass

    def drop(self, text: str) -> None:
        """Forgets a result that may be wrong by now."""
        self.dropped += 1
        self._results.pop(text, None)
