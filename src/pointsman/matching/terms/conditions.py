"""The index of subscriptions by metadata conditions: whom each message reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pointsman.matching.terms.groups import GroupIndex
from pointsman.matching.terms.hits import MAX_PAIRS, Hits, checked
from pointsman.matching.terms.kernels.compiled import frozen
from pointsman.matching.terms.kernels.group import GroupArrays
from pointsman.matching.terms.model import subscription_column
from pointsman.matching.terms.terms import Terms, terms_from_arrays, terms_to_arrays

SCHEMA = pa.schema([("row", pa.int64()), ("subscription", pa.int32())])


class ConditionIndex:
    """Subscriptions by position, frozen; matchers they share are stored and matched once. Safe between threads."""

    def __init__(self, terms: Terms, groups: GroupIndex) -> None:
        self.terms = terms
        self.groups = groups

    @classmethod
    def build(cls, subscriptions: Any) -> ConditionIndex:
        """The index of an Arrow array of structs (``SUBSCRIPTION``), or of ``Subscription`` objects.

        Raises ``PatternError``: ``empty`` for a subscription that includes nothing, ``not-text`` and ``too-long`` for
        its patterns; ``InputError`` (``not-text``) for anything that is no column of subscriptions.
        """
        column = subscription_column(subscriptions)
        sides = column.flatten()
        lists = [side.flatten()[1] for side in sides]
        matchers = pa.concat_arrays([each.flatten() for each in lists])
        terms, numbers = Terms.build(matchers)
        groups, used = [], 0
        for side, each in zip(sides, lists, strict=True):
            counts = each.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            own = pa.LargeListArray.from_arrays(offsets, numbers[used : used + int(offsets[-1])])
            used += int(offsets[-1])
            groups.append(pa.StructArray.from_arrays([side.flatten()[0], own], ["all", "matchers"]))
        column = pa.StructArray.from_arrays(groups, ["includes", "excludes"])
        return cls(terms, GroupIndex.build(column, len(terms), terms.bare()))

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def match_batches(self, metadata: Any, max_pairs: int = MAX_PAIRS) -> Iterator[Any]:
        """The pairs of ``row`` and ``subscription`` position, ascending, in record batches of up to ``max_pairs``.

        ``metadata`` is an Arrow array, or chunked array, of maps from text to text. Memory is bounded, whatever
        matches, as in ``TermIndex.match_batches``. Raises ``MessageError`` (``bad-message``) for other columns.
        """
        checked(max_pairs)
        for found in self._rows(metadata):
            yield from found.batches("subscription", max_pairs)

    def match(self, metadata: Any) -> Any:
        """All pairs as one Arrow table of ``row`` and ``subscription``; memory grows with them."""
        return pa.Table.from_batches(self.match_batches(metadata), SCHEMA)

    def count(self, metadata: Any) -> Any:
        """How many subscriptions each row reaches, as an Arrow array."""
        counts = np.zeros(len(metadata), np.int64)
        for found in self._rows(metadata):
            counts[found.first : found.first + found.offsets.size - 1] = np.diff(found.offsets)
        return pa.array(counts)

    def _rows(self, metadata: Any) -> Iterator[Hits]:
        return self.groups.rows(self.terms.rows(metadata))

    def to_arrays(self) -> dict[str, Any]:
        """All of it as named arrays, to be saved."""
        groups = {f"group_{name}": array for name, array in self.groups.arrays._asdict().items()}
        return {**terms_to_arrays(self.terms), **groups}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> ConditionIndex:
        """What ``to_arrays`` gave; the arrays may be mapped from a file."""
        groups = GroupArrays(*(frozen(arrays[f"group_{name}"]) for name in GroupArrays._fields))
        return cls(terms_from_arrays(arrays), GroupIndex(groups))
