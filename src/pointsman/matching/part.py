"""The part of a compiled index that holds the patterns of one dialect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pointsman.matching import kernel_build, kernel_match, kernel_text
from pointsman.matching.columns import Texts, texts
from pointsman.matching.crossing import GlobTable
from pointsman.matching.storage import Arrays
from pointsman.patterns import Dialect, Pattern, Subject
from pointsman.patterns.dialect import NATS

CODES = {"nats": kernel_text.NATS, "amqp": kernel_text.AMQP, "zato": kernel_text.ZATO, "mqtt": kernel_text.MQTT}
VOCABULARY = ("slots", "token_offsets", "token_words", "token_bytes")


@dataclass(frozen=True, slots=True)
class Findings:
    """Pieces of the array of pattern numbers, and the rows they belong to."""

    rows: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int32]
    lasts: npt.NDArray[np.int32]
    valid: npt.NDArray[np.bool_]
    """Which rows hold a valid subject."""


@dataclass(slots=True)
class Part:
    """A trie in flat arrays, and a table for globs. Frozen once built."""

    dialect: Dialect
    arrays: Arrays
    globs: GlobTable | None = field(default=None)

    @classmethod
    def build(cls, dialect: Dialect, rows: Texts, kinds: npt.NDArray[np.uint8], first: int, seed: int) -> Part:
        """The part for these patterns, whose numbers begin with ``first``. ``rows`` must be folded."""
        numbers = np.arange(first, first + len(rows), dtype=np.int32)
        lists, vocabulary, edges, nodes, deepest = kernel_build.build_trie(
            rows.data,
            rows.offsets,
            kinds,
            (ord(dialect.separator), ord(dialect.one), ord(dialect.many[0]), len(dialect.many)),
            np.uint64(seed),
        )
        list_offsets, members = kernel_build.file_lists(lists, nodes, numbers)
        with_many = bool((edges[0::2] & kernel_build.LOW == np.uint64(kernel_build.MANY_TOKEN)).any())
        root = kernel_build.mark_nodes(edges, nodes, list_offsets)
        globs = np.flatnonzero(kinds == kernel_text.GLOB)
        arrays: Arrays = {
            **dict(zip(VOCABULARY, vocabulary, strict=True)),
            # Made anew by numpy, which asks for large pages: look-ups all over the table take less time.
            "edges": np.array(edges),
            "list_offsets": list_offsets,
            "members": np.concatenate([members, numbers[globs]]),
            "marks": np.array([root, deepest, with_many, seed], np.uint64),
            "glob_texts": np.frombuffer("\n".join(rows.text(int(row)) for row in globs).encode(), np.uint8),
        }
        return cls.of(dialect, arrays)

    @classmethod
    def of(cls, dialect: Dialect, arrays: Arrays) -> Part:
        """The part of these arrays, as they were built or opened from a file."""
        for array in arrays.values():
            # As those of a mapped file are, so that one compiled form serves both.
            array.flags.writeable = False
        part = cls(dialect, arrays)
        texts = bytes(arrays["glob_texts"]).decode().split("\n") if len(arrays["glob_texts"]) else []
        if texts:
            first = len(arrays["members"]) - len(texts)
            patterns = [Pattern(text, part.dialect) for text in texts]
            part.globs = GlobTable(patterns, list(range(first, first + len(texts))))
        return part

    def find(self, rows: Texts) -> Findings:
        """What matches each row."""
        if self.dialect.ignores_case:
            rows = rows.folded()
        arrays = self.arrays
        found_rows, firsts, lasts, valid = kernel_match.find_lists(
            rows.data,
            rows.offsets,
            rows.present,
            CODES[self.dialect.name],
            np.uint8(ord(self.dialect.separator)),
            arrays["marks"][3],
            tuple(arrays[name] for name in VOCABULARY),
            arrays["edges"],
            arrays["marks"],
            arrays["list_offsets"],
        )
        if self.globs is not None:
            pairs = list(self.globs.find(rows, np.flatnonzero(valid).tolist(), self.dialect.name))
            if pairs:
                more = np.array(pairs, np.int32)
                found_rows = np.concatenate([found_rows, more[:, 0]])
                firsts = np.concatenate([firsts, more[:, 1]])
                lasts = np.concatenate([lasts, more[:, 1] + np.int32(1)])
        return Findings(found_rows, firsts, lasts, valid)

    def explain(self, text: str, ids: pa.Array[Any] | None) -> dict[str, Any]:
        """What the text is in this dialect, and which numbers it finds."""
        found = self.find(texts(pa.array([text])))
        numbers = sorted(
            int(number)
            for first, last in zip(found.firsts, found.lasts, strict=True)
            for number in self.arrays["members"][first:last]
        )
        return {
            "dialect": self.dialect.name,
            "valid": bool(found.valid[0]),
            "tokens": list(Subject(text, self.dialect).tokens) if found.valid[0] else [],
            "ids": numbers if ids is None else ids.take(pa.array(numbers, pa.int32())).to_pylist(),
        }


def classify(rows: Texts, dialect: Dialect | None) -> npt.NDArray[np.uint8]:
    """What each pattern is; nulls are invalid. ``rows`` must be folded.

    Without a dialect it is ``nats``, and patterns with a wildcard of another dialect are invalid too.
    """
    kinds: npt.NDArray[Any] = kernel_text.classify_patterns(rows.data, rows.offsets, CODES[(dialect or NATS).name])
    if dialect is None:
        kernel_text.mark_foreign(rows.data, rows.offsets, kinds)
    kinds[~rows.present] = kernel_text.INVALID
    return kinds


def merged(found: list[Findings], sizes: list[int]) -> Findings:
    """The findings of several parts as pieces of one array: that of their numbers, put one behind the other."""
    if len(found) == 1:
        return found[0]
    bases = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    return Findings(
        np.concatenate([each.rows for each in found]),
        np.concatenate([each.firsts + base for each, base in zip(found, bases, strict=True)]),
        np.concatenate([each.lasts + base for each, base in zip(found, bases, strict=True)]),
        np.logical_or.reduce([each.valid for each in found]),
    )
