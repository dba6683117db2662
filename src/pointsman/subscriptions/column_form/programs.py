"""Conditions as programs: what ``kernels`` runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pointsman.conditions import AllOf, AnyOf, Condition, ExactlyOneOf, Group, Negated, Subscription
from pointsman.matching.terms.kernels.compiled import Ids, Places
from pointsman.subscriptions.column_form.kernels import ALL, ANY, NOT, ONE
from pointsman.subscriptions.column_form.streams import spread
from pointsman.subscriptions.gates import Leaf


def operator(kind: int, count: int) -> int:
    """The code of an operator on so many values."""
    return -(4 * count + kind) - 1


class Pieces(NamedTuple):
    """Pieces of programs: how many codes each subscription has here, and the codes of all of them."""

    counts: Places
    codes: Ids


def joined(count: int, pieces: Sequence[Pieces]) -> tuple[Places, Ids]:
    """The programs of so many subscriptions from their pieces, in this order: where each begins, and all codes."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.sum([piece.counts for piece in pieces], axis=0), out=offsets[1:])
    codes = np.empty(int(offsets[-1]), np.int32)
    cursor = offsets[:-1].copy()
    for piece in pieces:
        codes[spread(cursor, piece.counts)] = piece.codes
        cursor += piece.counts
    return offsets, codes


def group_pieces(counts: Places, every: Places, terms: Ids, *, excludes: bool) -> list[Pieces]:
    """The programs of groups: the terms of each, how many of them must hold, and for excludes that they must not."""
    many = np.flatnonzero(counts > 1)
    kinds = np.where(every[many] != 0, ALL, ANY)
    operators = (-(4 * counts[many] + kinds) - 1).astype(np.int32)
    pieces = [Pieces(counts, terms), Pieces((counts > 1).astype(np.int64), operators)]
    if excludes:
        some = counts > 0
        # What is included stands before it on the stack.
        ending = np.tile([operator(NOT, 1), operator(ALL, 2)], int(some.sum()))
        pieces.append(Pieces(2 * some.astype(np.int64), ending.astype(np.int32)))
    return pieces


def tree_program(condition: Condition, number_of: Callable[[Leaf], int]) -> list[int]:
    """The program of a condition. Negations stand before leaves, groups and ``xor`` only: gates are found behind them.

    >>> from pointsman.conditions import Matcher
    >>> tree_program(Negated(AnyOf((Matcher("a", "1"), Negated(Matcher("b", "2"))))), {
    ...     Matcher("a", "1"): 0, Matcher("b", "2"): 1}.__getitem__) == [
    ...     0, operator(NOT, 1), 1, operator(ALL, 2)]
    True
    """
    program: list[int] = []
    _write(condition, True, number_of, program)
    return program


def _write(condition: Condition, aim: bool, number_of: Callable[[Leaf], int], program: list[int]) -> None:
    match condition:
        case Negated(inner):
            _write(inner, not aim, number_of, program)
            return
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                _write(part, aim, number_of, program)
            program.append(operator(ALL if isinstance(condition, AllOf) == aim else ANY, len(parts)))
            return
        case ExactlyOneOf(parts):
            for part in parts:
                _write(part, True, number_of, program)
            program.append(operator(ONE, len(parts)))
        case Subscription(includes, excludes):
            _write_group(includes, number_of, program)
            if excludes.matchers:
                _write_group(excludes, number_of, program)
                program += [operator(NOT, 1), operator(ALL, 2)]
        case _:
            program.append(number_of(condition))
    if not aim:
        program.append(operator(NOT, 1))


def _write_group(group: Group, number_of: Callable[[Leaf], int], program: list[int]) -> None:
    program += map(number_of, group.matchers)
    program.append(operator(ALL if group.all else ANY, len(group.matchers)))


def flags(column: Any) -> Places:
    """A column of booleans as numbers; null is false."""
    return np.asarray(column.fill_null(False).cast("int64").to_numpy(zero_copy_only=False), np.int64)
