"""The compiled index: millions of patterns in flat arrays, matched against whole columns of subjects."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pointsman.errors import LimitError, PatternError
from pointsman.matching import kernel_match, kernel_text
from pointsman.matching.columns import Texts, as_array, chunks_of, one_array, packed, plain, texts, unpacked
from pointsman.matching.compilation import announce
from pointsman.matching.invalid import InvalidPatternsError, failure_of
from pointsman.matching.part import Findings, Part, classify, merged
from pointsman.matching.storage import Arrays, open_arrays, save_arrays
from pointsman.patterns import find_dialect
from pointsman.patterns.dialect import NATS

KIND = "subjects"
ROWS_AT_ONCE = 1 << 16
SAMPLE = 1 << 13
LEAST_SAMPLE = 1 << 8
MOST_VALUES = 2**31 - 1
MAX_PAIRS = 1 << 20

Column = Any
"""An Arrow array or chunked array of strings, large strings or a dictionary of them; or a list of texts."""


class CompiledIndex:
    """A frozen index from subjects to the patterns that match them, exactly as ``Pattern.matches`` says.

    >>> index = CompiledIndex.build(["orders.*", "orders.>", "users.new"], dialect="nats")
    >>> index.match(["orders.new", "orders.new.big", "carts"]).to_pylist()
    [[0, 1], [1], []]

    A text is matched by the patterns of every dialect in the index under which it is a valid subject. Safe between
    threads and processes: nothing changes after it is built, and ``open`` maps the file that ``save`` wrote, so that
    all processes of a host share one copy.
    """

    def __init__(self, parts: list[Part], count: int, ids: pa.Array[Any] | None) -> None:
        self._parts = parts
        self._count = count
        self._ids = ids
        if len(parts) == 1:
            self._members = parts[0].arrays["members"]
        else:
            self._members = np.concatenate([part.arrays["members"] for part in parts])
            self._members.flags.writeable = False

    @classmethod
    def build(
        cls,
        patterns: Column | Mapping[str | None, Column],
        dialect: str | None = None,
        ids: Column | None = None,
        *,
        skip_invalid: bool = False,
    ) -> CompiledIndex:
        """The index of these patterns.

        ``patterns`` is a column, or one for each dialect. What a match gives is the position of a pattern (counted on
        from dialect to dialect), or the element of ``ids`` at that position. The dialect None is ``nats`` that nobody
        chose: a pattern with a wildcard of another dialect is invalid then. Raises ``InvalidPatternsError``, which
        names every invalid pattern with its position; with ``skip_invalid`` those are left out instead.
        """
        announce()
        columns: dict[str | None, Column] = dict(patterns) if isinstance(patterns, Mapping) else {dialect: patterns}
        parts: list[Part] = []
        failures: list[tuple[int, PatternError]] = []
        first = 0
        # A number nobody knows beforehand, so that nobody can choose tokens that collide.
        seed = secrets.randbits(64)
        for name, column in columns.items():
            given = None if name is None else find_dialect(name)
            chosen = given or NATS
            written = texts(plain(as_array(column)))
            rows = written.folded() if chosen.ignores_case else written
            kinds = classify(rows, given)
            invalid = np.flatnonzero(kinds == kernel_text.INVALID).tolist()
            failures += [(first + row, failure_of(written, row, given)) for row in invalid]
            parts.append(Part.build(chosen, rows, kinds, first, seed))
            first += len(rows)
        if failures and not skip_invalid:
            raise InvalidPatternsError(failures)
        named = None if ids is None else one_array(ids)
        if named is not None and len(named) != first:
            raise PatternError("bad-ids", f"there are {first} patterns and {len(named)} ids")
        return cls(parts, first, named)

    def __len__(self) -> int:
        """The number of patterns, invalid ones that were skipped included."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The bytes of everything the index holds, mapped or not."""
        own = sum(array.nbytes for part in self._parts for array in part.arrays.values())
        joined = self._members.nbytes if len(self._parts) > 1 else 0
        return own + joined + (self._ids.nbytes if self._ids is not None else 0)

    def match(self, subjects: Column) -> pa.ListArray[Any]:
        """For each subject the ids of the patterns that match, in the order of the patterns.

        A null, and a text that is no valid subject in any dialect of the index, gives null. Raises ``LimitError``
        when there are more than 2^31 - 1 matches; ``match_batches`` has no such limit.
        """
        lists = [self._match_array(chunk) for chunk in chunks_of(subjects)]
        return lists[0] if len(lists) == 1 else pa.concat_arrays(lists)

    def match_batches(self, subjects: Column, max_pairs: int = MAX_PAIRS) -> Iterator[pa.RecordBatch]:
        """All matches as record batches of ``row`` and ``id``, none of more than ``max_pairs`` rows.

        Memory stays flat however many patterns match one subject. The pairs of a block of 65,536 rows come together,
        in no particular order. Nulls and invalid subjects have no pairs.
        """
        pair_rows = np.empty(max_pairs, np.int32)
        pair_members = np.empty(max_pairs, np.int32)
        for start, found in self._findings(subjects):
            finding = offset = 0
            while finding < len(found.rows):
                finding, offset, filled = kernel_match.fill_pairs(
                    found.rows, found.firsts, found.lasts, self._members, finding, offset, pair_rows, pair_members
                )
                rows = pa.array(pair_rows[:filled].astype(np.int64) + start)
                yield pa.RecordBatch.from_arrays([rows, self._named(pair_members[:filled].copy())], ["row", "id"])

    def count(self, subjects: Column) -> pa.Array[Any]:
        """How many patterns match each subject; null for a null or an invalid subject."""
        pieces = [pa.array([], pa.int64())]
        for _, found in self._findings(subjects):
            counts = kernel_match.count_matches(len(found.valid), found.rows, found.firsts, found.lasts)
            pieces.append(pa.array(counts, mask=~found.valid))
        return pa.concat_arrays(pieces)

    def first(self, subjects: Column, rank: npt.ArrayLike) -> pa.Array[Any]:
        """For each subject the id of the matching pattern of the lowest rank; of equal ranks, the first pattern.

        ``rank`` has a number for each pattern. Null where nothing matches. Not all pairs are made: the best of each
        list of patterns that match together is found once for the call.
        """
        ranks = np.ascontiguousarray(rank, np.float64)
        if len(ranks) != self._count:
            raise PatternError("bad-ids", f"there are {self._count} patterns and {len(ranks)} ranks")
        best = np.concatenate(
            [
                kernel_match.best_of_lists(part.arrays["list_offsets"], part.arrays["members"], ranks)
                for part in self._parts
            ]
        )
        pieces = [pa.array([], pa.int32())]
        for _, found in self._findings(subjects):
            chosen = kernel_match.best_matches(len(found.valid), found.rows, found.firsts, best, ranks)
            pieces.append(pa.array(chosen, mask=chosen < 0))
        numbers = pa.concat_arrays(pieces)
        return numbers if self._ids is None else self._ids.take(numbers)

    def explain(self, subject: str) -> list[dict[str, Any]]:
        """For each dialect of the index: whether the text is a subject there, its tokens, and what matches."""
        return [part.explain(subject, self._ids) for part in self._parts]

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """All of it as plain data and named arrays, to be saved."""
        arrays: Arrays = {}
        for number, part in enumerate(self._parts):
            arrays.update({f"{number}.{name}": array for name, array in part.arrays.items()})
        if self._ids is not None:
            arrays["ids"] = packed(self._ids)
        return {"dialects": [part.dialect.name for part in self._parts], "count": self._count}, arrays

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> CompiledIndex:
        """What ``to_arrays`` gave; the arrays may be mapped from a file."""
        parts = []
        for number, name in enumerate(meta["dialects"]):
            prefix = f"{number}."
            own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
            parts.append(Part.of(find_dialect(name), own))
        return cls(parts, meta["count"], unpacked(arrays["ids"]) if "ids" in arrays else None)

    def save(self, path: str | Path) -> None:
        """Writes the index to one file, whole or not at all."""
        save_arrays(path, KIND, *self.to_arrays())

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> CompiledIndex:
        """The index in a file, mapped into memory.

        ``verify=False`` leaves out the check of the checksum, which reads the file once. Raises ``InputError``
        (``bad-index``) when the file is foreign, truncated, damaged or of another version.
        """
        return cls.from_arrays(*open_arrays(path, KIND, verify=verify))

    def _findings(self, subjects: Column) -> Iterator[tuple[int, Findings]]:
        """The findings of blocks of rows, each with the number of its first row."""
        first = 0
        for chunk in chunks_of(subjects):
            rows = texts(plain(chunk))
            for start, block in rows.slices(ROWS_AT_ONCE):
                yield first + start, self._find(block)
            first += len(rows)

    def _find(self, block: Texts) -> Findings:
        announce()
        return merged([part.find(block) for part in self._parts], [len(part.arrays["members"]) for part in self._parts])

    def _named(self, numbers: npt.NDArray[Any]) -> pa.Array[Any]:
        values = pa.array(numbers)
        return values if self._ids is None else self._ids.take(values)

    def _match_array(self, array: pa.Array[Any]) -> pa.ListArray[Any]:
        if pa.types.is_dictionary(array.type):
            return self._spread(array)
        # Repeated subjects are matched once each; whether they repeat is seen from a sample.
        sample = min(SAMPLE, len(array) // 4)
        if sample >= LEAST_SAMPLE and len(array.slice(0, sample).unique()) < sample // 2:
            return self._spread(array.dictionary_encode())
        return self.listed(*self.numbers(texts(array)))

    def numbers(self, rows: Texts) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """For each row where its numbers begin, all numbers of patterns, and which rows are valid subjects."""
        starts = np.zeros(len(rows) + 1, np.int64)
        valid = np.zeros(len(rows), np.bool_)
        values = np.empty(8 * len(rows) + 64, np.int32)
        for first, block in rows.slices(ROWS_AT_ONCE):
            found = self._find(block)
            stop = first + len(block)
            counts = kernel_match.count_matches(len(block), found.rows, found.firsts, found.lasts)
            np.cumsum(counts, out=starts[first + 1 : stop + 1])
            starts[first + 1 : stop + 1] += starts[first]
            check_size(starts[stop])
            if starts[stop] > len(values):
                values = np.concatenate([values[: starts[first]], np.empty(2 * starts[stop] - starts[first], np.int32)])
            kernel_match.copy_matches(
                starts[first : stop + 1], found.rows, found.firsts, found.lasts, self._members, values
            )
            valid[first:stop] = found.valid
        return starts, values[: starts[-1]], valid

    def _spread(self, array: pa.DictionaryArray[Any]) -> pa.ListArray[Any]:
        """The lists of a dictionary, each matched once, for all rows that refer to them."""
        starts, values, valid = self.numbers(texts(plain(array.dictionary)))
        indices = array.indices.cast(pa.int64()).fill_null(len(array.dictionary)).to_numpy(zero_copy_only=False)
        starts = np.append(starts, starts[-1])
        spread_starts = np.zeros(len(indices) + 1, np.int64)
        np.cumsum(np.diff(starts)[indices], out=spread_starts[1:])
        check_size(spread_starts[-1])
        spread_values = np.empty(spread_starts[-1], np.int32)
        kernel_match.spread_lists(indices, starts, values, spread_starts, spread_values)
        return self.listed(spread_starts, spread_values, np.append(valid, False)[indices])

    def listed(self, starts: npt.NDArray[Any], values: npt.NDArray[Any], valid: npt.NDArray[Any]) -> pa.ListArray[Any]:
        """What ``numbers`` gives, as lists of ids; null where a row is no valid subject."""
        mask = None if valid.all() else pa.array(~valid)
        return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), self._named(values), mask=mask)


def check_size(matches: int) -> None:
    """Raises ``LimitError`` when there are more matches than an array holds."""
    if matches > MOST_VALUES:
        raise LimitError("too-many-matches", f"{matches} matches do not fit one array, which holds {MOST_VALUES}")
