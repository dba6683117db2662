"""The column form: millions of subscriptions, frozen, against whole columns of messages.

How it is found whom a message reaches:

- Distinct matchers, subject patterns and comparisons of numbers are terms, each stored and asked once.
- Each subscription is a program over terms (``column_form/programs.py``), filed under its gates: terms of which one
  must hold. Where all parts of a condition must hold, the pattern being one of them, the part is its gate that is used
  the least.
- The matchers that hold for a row come from ``matching.terms``, the patterns from ``CompiledIndex``; the comparisons
  that are gates are found in sorted limits, and the others are asked when a program comes to them.
- The programs that are filed under what holds are run (``column_form/kernels.py``).

So a row costs what its own terms find, however many subscriptions there are. Memory is bounded: pieces of rows are cut
to a size, and a row that reaches more than that is handed out alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pointsman.errors import InputError, MessageError
from pointsman.matching.columns import as_array, one_array, packed, unpacked
from pointsman.matching.compiled import CompiledIndex
from pointsman.matching.storage import open_arrays, save_arrays
from pointsman.matching.terms.hits import MAX_PAIRS, Hits, checked, in_pieces
from pointsman.matching.terms.kernels.compiled import Ids, Places, frozen
from pointsman.matching.terms.terms import Terms, terms_from_arrays, terms_to_arrays
from pointsman.subscriptions.column_form.kernels import Comparisons, Programs, RowNumbers, Scratch, resolve_rows
from pointsman.subscriptions.column_form.numbers import NumberGates, no_numbers, row_numbers
from pointsman.subscriptions.column_form.streams import cuts, nothing, side_by_side

KIND = "wildcard subscriptions"


class SubscriptionIndex:
    """Subscriptions by position, frozen. Safe between threads and processes.

    >>> import pyarrow as pa
    >>> index = SubscriptionIndex.build(pa.table({
    ...     "pattern": ["orders.>", None],
    ...     "condition": ['{"key": "region", "pattern": "EU"}', '{"pattern": "neutrino*", "partial": true}'],
    ... }))
    >>> metadata = pa.array([[("region", "EU")], [("title", "Sterile neutrinos")]], pa.map_(pa.string(), pa.string()))
    >>> index.match(["orders.new", "papers"], metadata).to_pylist()
    [{'row': 0, 'subscription': 0}, {'row': 1, 'subscription': 1}]
    """

    def __init__(
        self,
        terms: Terms,
        patterns: CompiledIndex | None,
        comparisons: Comparisons,
        number_keys: list[str],
        programs: Programs,
        ids: Any = None,
    ) -> None:
        self.terms = terms
        self.patterns = patterns
        self.comparisons = comparisons
        self.programs = programs
        self.ids = ids
        """What each subscription is called, as an Arrow array; None if it was built without."""
        self._number_keys = number_keys
        self._key_ids = {key: number for number, key in enumerate(number_keys, 1)}
        self._first_number = len(terms) + (0 if patterns is None else len(patterns))
        filed = np.diff(programs.filed_offsets[self._first_number :])
        self._number_gates = NumberGates.of(comparisons, np.flatnonzero(filed), self._first_number)

    @classmethod
    def build(cls, table: Any, dialect: str | None = None, ids: Any = None) -> SubscriptionIndex:
        """The index of an Arrow table with any of the columns ``pattern`` and ``dialect``, ``condition`` (JSON text) or
        ``includes`` and ``excludes`` (structs of ``all`` and ``matchers``), ``enabled``, and ``expires``.

        ``dialect`` is for patterns whose own is null; without either it is ``nats``, and a wildcard of another dialect
        is an error. ``ids`` is a column of what subscriptions are called. Rows that
        are not enabled have a position and never match; nothing else of them is looked at. Raises ``InputError``:
        ``bad-subscription`` for a row that includes nothing or whose condition cannot be read, ``bad-usage`` for a
        column of another type; ``InvalidPatternsError``; ``PatternError`` for a matcher that cannot be used.
        """
        from pointsman.subscriptions.column_form.build import build_index

        return build_index(table, dialect, None if ids is None else one_array(ids))

    def __len__(self) -> int:
        return self.programs.offsets.size - 1

    @property
    def nbytes(self) -> int:
        """Bytes of everything it holds, mapped or not."""
        return sum(array.nbytes for array in self._arrays()[1].values())

    @property
    def expires(self) -> bool:
        """Whether some of its subscriptions do."""
        return self.programs.expires.size > 0

    def rows(self, subjects: Any, metadata: Any, now: float | None = None) -> Iterator[Hits]:
        """The positions of the subscriptions that each row reaches, ascending, in pieces of whole rows.

        ``subjects`` is a column of texts, ``metadata`` one of maps from text to text; either may be None, as if it was
        null in each row. ``now`` (seconds since 1970) is needed if there are subscriptions that expire. Raises
        ``InputError`` (``bad-usage``) without it and for columns of different lengths, ``MessageError``
        (``bad-message``) for columns of other types.
        """
        if self.expires and now is None:
            raise InputError("bad-usage", "there are subscriptions that expire: say what time it is (now=)")
        subjects = None if subjects is None else as_array(subjects)
        sizes = {len(column) for column in (subjects, metadata) if column is not None}
        if len(sizes) != 1:
            raise InputError("bad-usage", "subjects, or metadata, or both are needed, for the same rows")
        [size] = sizes
        numbers = self._numbers(metadata, size)
        streams = [nothing(size) if metadata is None else self.terms.rows(metadata)]
        if self.patterns is not None and subjects is not None:
            streams.append(self._pattern_rows(self.patterns, subjects))
        if self._number_gates.terms.size and numbers.values.size:
            streams.append(self._number_gates.rows(numbers))
        work = _Work(self, numbers, np.inf if now is None else now)
        for hits in side_by_side(streams):
            yield from in_pieces(hits.first, hits.offsets.size - 1, len(self), partial(work.fill, hits))

    def match_batches(
        self, subjects: Any, metadata: Any, now: float | None = None, max_pairs: int = MAX_PAIRS
    ) -> Iterator[Any]:
        """The pairs of ``row`` and ``subscription`` position, ascending, in record batches of up to ``max_pairs``.

        Memory is bounded, whatever matches. Raises as ``rows``.
        """
        checked(max_pairs)
        for found in self.rows(subjects, metadata, now):
            yield from found.batches("subscription", max_pairs)

    def match(self, subjects: Any, metadata: Any, now: float | None = None) -> Any:
        """All pairs as one Arrow table of ``row`` and ``subscription``; memory grows with them."""
        schema = pa.schema([("row", pa.int64()), ("subscription", pa.int32())])
        return pa.Table.from_batches(self.match_batches(subjects, metadata, now), schema)

    def save(self, path: str | Path) -> None:
        """Writes the index to one file, whole or not at all."""
        save_arrays(path, KIND, *self._arrays())

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> SubscriptionIndex:
        """The index in a file, mapped into memory, so that all processes of a host share it.

        ``verify=False`` leaves out the check of the checksum, which reads the file once. Raises ``InputError``
        (``no-file``, ``bad-index``).
        """
        meta, arrays = open_arrays(path, KIND, verify=verify)
        own = {name: _below(arrays, f"{name}.") for name in ("terms", "patterns", "comparisons", "programs")}
        return cls(
            terms_from_arrays(own["terms"]),
            None if meta["patterns"] is None else CompiledIndex.from_arrays(meta["patterns"], own["patterns"]),
            Comparisons(*(frozen(own["comparisons"][name]) for name in Comparisons._fields)),
            meta["number_keys"],
            Programs(*(frozen(own["programs"][name]) for name in Programs._fields)),
            unpacked(arrays["ids"]) if "ids" in arrays else None,
        )

    def _arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """All of it as plain data and named arrays."""
        meta, own = (None, {}) if self.patterns is None else self.patterns.to_arrays()
        groups = {
            "terms": terms_to_arrays(self.terms),
            "patterns": own,
            "comparisons": self.comparisons._asdict(),
            "programs": self.programs._asdict(),
        }
        arrays = {f"{group}.{name}": array for group, each in groups.items() for name, array in each.items()}
        if self.ids is not None:
            arrays["ids"] = packed(self.ids)
        return {"patterns": meta, "number_keys": self._number_keys}, arrays

    def _numbers(self, metadata: Any, size: int) -> RowNumbers:
        if metadata is None or not self.comparisons.keys.size:
            return no_numbers(size)
        kind = metadata.type if isinstance(metadata, pa.Array | pa.ChunkedArray) else None
        if kind is None or not pa.types.is_map(kind):
            raise MessageError("bad-message", f"a column of metadata holds maps of texts, not {kind}")
        return row_numbers(metadata, self._key_ids, any_key=bool((self.comparisons.keys == 0).any()))

    def _pattern_rows(self, patterns: CompiledIndex, subjects: Any) -> Iterator[Hits]:
        """The patterns that each subject matches, as terms."""
        counts = patterns.count(subjects).fill_null(0).to_numpy(zero_copy_only=False)
        for first, stop in cuts(counts):
            found = patterns.match(subjects.slice(first, stop - first))
            offsets = found.offsets.to_numpy().astype(np.int64)
            values = found.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
            yield Hits(first, frozen(offsets - offsets[0]), frozen(values + np.int32(len(self.terms))))


class _Work:
    """One call: its scratch arrays, and the tickets that say which row wrote on them last."""

    def __init__(self, index: SubscriptionIndex, numbers: RowNumbers, now: float) -> None:
        self._index = index
        self._numbers = numbers
        self._now = now
        first_number = index.programs.filed_offsets.size - 1 - index.comparisons.keys.size
        self._scratch = Scratch(
            np.zeros(first_number, np.int64),
            np.zeros(len(index), np.int64),
            np.zeros(int(np.diff(index.programs.offsets).max(initial=1)), np.uint8),
        )
        self._ticket = 1

    def fill(self, hits: Hits, row: int, offsets: Places, ids: Ids) -> int:
        ticket = self._ticket
        self._ticket += hits.offsets.size
        index = self._index
        return resolve_rows(
            row,
            hits.first,
            hits.offsets,
            hits.ids,
            index.programs,
            index.comparisons,
            self._numbers,
            self._now,
            ticket,
            self._scratch,
            offsets,
            ids,
        )


def _below(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
