"""Building the column form from a table of subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.conditions import Matcher, NumberComparison
from pointsman.matching.compiled import CompiledIndex
from pointsman.matching.invalid import InvalidPatternsError
from pointsman.matching.terms.kernels.compiled import Flags, Ids, Places, frozen
from pointsman.matching.terms.model import MATCHER
from pointsman.matching.terms.terms import Terms
from pointsman.subscriptions.column_form.kernels import ALL, EQUAL, Comparisons, Programs, choose_gates
from pointsman.subscriptions.column_form.numbers import comparisons_of
from pointsman.subscriptions.column_form.programs import Pieces, flags, group_pieces, joined, operator, tree_program
from pointsman.subscriptions.column_form.reading import Patterns, Rows, bad_row, with_rows
from pointsman.subscriptions.columns import SubscriptionIndex
from pointsman.subscriptions.gates import Leaf

MATCHES_MUCH = r"^[*>#+./]*$"
"""A pattern without any literal."""
INCLUDES_NOTHING = (
    "it has neither a pattern nor a condition that must hold for something; a subscription must include something"
)


def build_index(table: Any, dialect: str | None, ids: Any) -> SubscriptionIndex:
    """As ``SubscriptionIndex.build``."""
    rows = Rows(table, dialect)
    wanted = rows.enabled()
    trees = _Trees(rows, wanted)
    sides = [rows.group(name) for name in ("includes", "excludes")]
    matchers = pa.concat_arrays([*(matchers for _, _, matchers in sides), trees.matcher_column()])
    terms, numbers = Terms.build(matchers)
    patterns = rows.patterns(wanted)
    compiled = _compiled(patterns)
    comparisons, number_keys = comparisons_of(trees.comparisons)
    first_number = len(terms) + (0 if compiled is None else len(compiled))

    pieces: list[Pieces] = []
    conditions = np.zeros(rows.size, np.int64)
    used = 0
    for name, (counts, every, _) in zip(("includes", "excludes"), sides, strict=True):
        own = numbers[used : used + int(counts.sum())]
        used += own.size
        kept = np.where(wanted, counts, 0)
        own = own[np.repeat(wanted, counts)]
        if name == "excludes" and (lonely := np.flatnonzero((kept > 0) & (conditions == 0))).size:
            raise bad_row(int(lonely[0]), "excludes: it has no includes")
        conditions += kept
        pieces += group_pieces(kept, flags(every), own, excludes=name == "excludes")
    pieces.append(trees.pieces(numbers[used:], first_number, conditions))
    pieces += _pattern_pieces(patterns, len(terms), conditions + pieces[-1].counts > 0)
    offsets, codes = joined(rows.size, pieces)
    if (empty := np.flatnonzero((np.diff(offsets) == 0) & wanted)).size:
        raise bad_row(int(empty[0]), INCLUDES_NOTHING)
    uses = _uses(codes, terms, patterns, comparisons)
    filed_offsets, filed = _filed(offsets, codes, uses)
    arrays = Programs(filed_offsets, filed, offsets, codes, rows.expires())
    programs = Programs(*(frozen(array) for array in arrays))
    return SubscriptionIndex(terms, compiled, comparisons, number_keys, programs, ids)


class _Trees:
    """The conditions that are trees: their leaves by number, and their programs over those."""

    def __init__(self, rows: Rows, wanted: Flags) -> None:
        self._matchers: dict[Matcher, int] = {}
        self._comparisons: dict[NumberComparison, int] = {}
        self._counts = np.zeros(rows.size, np.int64)
        codes: list[int] = []
        known: dict[int, list[int]] = {}
        for row, condition in rows.conditions(wanted):
            # Equal texts are one object; it is kept alive by the reader, so that its identity is its own.
            program = known.get(id(condition))
            if program is None:
                program = known[id(condition)] = tree_program(condition, self._number)
            self._counts[row] = len(program)
            codes += program
        self._codes = np.array(codes, np.int64)

    def _number(self, leaf: Leaf) -> int:
        """Even numbers for matchers, odd ones for comparisons."""
        if isinstance(leaf, NumberComparison):
            return 2 * self._comparisons.setdefault(leaf, len(self._comparisons)) + 1
        return 2 * self._matchers.setdefault(leaf, len(self._matchers))

    @property
    def comparisons(self) -> Sequence[NumberComparison]:
        return list(self._comparisons)

    def matcher_column(self) -> Any:
        columns = (
            pa.array([each.key for each in self._matchers], pa.string()),
            pa.array([each.pattern for each in self._matchers], pa.string()),
            pa.array([each.partial for each in self._matchers], pa.bool_()),
        )
        return pa.StructArray.from_arrays(columns, fields=list(MATCHER))

    def pieces(self, matcher_terms: Ids, first_number: int, taken: Places) -> Pieces:
        """With terms for leaves. Raises ``InputError`` for a row that says its condition twice."""
        if (twice := np.flatnonzero((self._counts > 0) & (taken > 0))).size:
            raise bad_row(int(twice[0]), "condition: it has includes as well; only one of the two can be used")
        codes = self._codes.copy()
        matchers = (codes >= 0) & (codes % 2 == 0)
        comparisons = (codes >= 0) & (codes % 2 == 1)
        codes[matchers] = matcher_terms[codes[matchers] // 2]
        codes[comparisons] = first_number + codes[comparisons] // 2
        return Pieces(self._counts, codes.astype(np.int32))


def _compiled(patterns: Patterns) -> CompiledIndex | None:
    if not patterns.columns:
        return None
    try:
        return CompiledIndex.build(patterns.columns)
    except InvalidPatternsError as error:
        raise with_rows(error, patterns.numbers) from None


def _pattern_pieces(patterns: Patterns, first_term: int, with_condition: Flags) -> list[Pieces]:
    has = patterns.numbers >= 0
    both = has & with_condition
    ending = np.full(int(both.sum()), operator(ALL, 2), np.int32)
    return [
        Pieces(has.astype(np.int64), (patterns.numbers[has] + first_term).astype(np.int32)),
        Pieces(both.astype(np.int64), ending),
    ]


def _uses(codes: Ids, terms: Terms, patterns: Patterns, comparisons: Comparisons) -> Places:
    """How often each term is used; what holds for much counts as if all used it, so that it is a gate only if it must.

    That is so for a matcher and for a pattern without any literal, and for a comparison that is not with ``=``.
    """
    leaves = codes[codes >= 0]
    pattern_count = sum(map(len, patterns.columns.values()))
    uses = np.bincount(leaves, minlength=len(terms) + pattern_count + comparisons.keys.size).astype(np.int64)
    broad = [pc.match_substring_regex(column, MATCHES_MUCH) for column in patterns.columns.values()]
    wide = np.concatenate(
        [
            np.arange(len(terms)) >= len(terms) - terms.bare(),
            *(each.to_numpy(zero_copy_only=False) for each in broad),
            comparisons.operators != EQUAL,
        ]
    ).astype(np.bool_)
    uses[wide] += leaves.size
    return uses


def _filed(offsets: Places, codes: Ids, uses: Places) -> tuple[Places, Ids]:
    """Under which terms each subscription is found."""
    longest = int(np.diff(offsets).max(initial=1))
    marks = np.zeros(codes.size, np.uint8)
    lost = choose_gates(
        frozen(offsets), frozen(codes), frozen(uses), np.empty(longest, np.int64), np.empty(longest, np.int64), marks
    )
    if lost >= 0:
        raise bad_row(lost, INCLUDES_NOTHING)
    chosen = np.flatnonzero(marks)
    owners = np.searchsorted(offsets, chosen, side="right") - 1
    order = np.argsort(codes[chosen], kind="stable")
    filed_offsets = np.searchsorted(codes[chosen][order], np.arange(uses.size + 1)).astype(np.int64)
    return filed_offsets, owners[order].astype(np.int32)
