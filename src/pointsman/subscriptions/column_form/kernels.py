"""The compiled code of the column form: from the terms that hold for a row to the subscriptions they fulfil.

A subscription is a program: a condition, and its subject pattern, in postfix. A code that is not negative is a term and
is pushed as 1 or 0; a negative one takes what it is about from the stack and pushes what comes of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Number, Places, compiled

ALL, ANY, ONE, NOT = 0, 1, 2, 3
"""What an operator asks of so many values: each of them, at least one, exactly one; or that the one is not so."""
LESS, LESS_OR_EQUAL, EQUAL, UNEQUAL, GREATER_OR_EQUAL, GREATER = range(6)
NO_GATES = 1 << 60
DENSE = 16
"""A row that reaches one subscription in so many is put in order by a walk over all of them."""

Floats = npt.NDArray[np.float64]


class Programs(NamedTuple):
    """The frozen subscriptions, and under which terms each is found."""

    filed_offsets: Places
    filed: Ids
    offsets: Places
    codes: Ids
    expires: Floats
    """Seconds since 1970, infinite for what does not expire; empty if nothing does."""


class Comparisons(NamedTuple):
    """The terms that compare numbers, which are the last: the key of each (0: any), how, and with what."""

    keys: Ids
    operators: Bytes
    limits: Floats


class RowNumbers(NamedTuple):
    """The numbers among the metadata of rows: those of row ``n`` are from ``offsets[n]`` to ``offsets[n + 1]``."""

    offsets: Places
    keys: Ids
    values: Floats


class Scratch(NamedTuple):
    """What a search writes on."""

    seen_terms: Places
    seen: Places
    stack: Bytes


@compiled
def operation(code: Number, stack: Bytes, top: Number) -> Number:
    """Carries out an operator; where the stack ends after it."""
    operator, count = -(code + 1) & 3, -(code + 1) >> 2
    total = 0
    for place in range(top - count, top):
        total += stack[place]
    held = total == count
    if operator == ANY:
        held = total > 0
    elif operator == ONE:
        held = total == 1
    elif operator == NOT:
        held = total == 0
    stack[top - count] = held
    return top - count + 1


@compiled
def compares(operator: int, value: float, limit: float) -> bool:
    """Whether a number is as it must be."""
    if operator == LESS:
        return bool(value < limit)
    if operator == LESS_OR_EQUAL:
        return bool(value <= limit)
    if operator == EQUAL:
        return bool(value == limit)
    if operator == UNEQUAL:
        return bool(value != limit)
    if operator == GREATER_OR_EQUAL:
        return bool(value >= limit)
    return bool(value > limit)


@compiled
def number_holds(comparison: Number, row: int, comparisons: Comparisons, numbers: RowNumbers) -> bool:
    """Whether some number of a row, under the key of a comparison, is as it must be."""
    key = comparisons.keys[comparison]
    for place in range(numbers.offsets[row], numbers.offsets[row + 1]):
        if (key == 0 or numbers.keys[place] == key) and compares(
            comparisons.operators[comparison], numbers.values[place], comparisons.limits[comparison]
        ):
            return True
    return False


@compiled
def program_holds(
    subscription: Number,
    programs: Programs,
    comparisons: Comparisons,
    numbers: RowNumbers,
    row: int,
    stamp: int,
    scratch: Scratch,
) -> bool:
    """Whether a subscription that was found by one of its gates is fulfilled by a row whose terms are stamped."""
    start, stop = programs.offsets[subscription], programs.offsets[subscription + 1]
    last = -(programs.codes[stop - 1] + 1)
    if stop - start == 1 or (last & 3 == ANY and last >> 2 == stop - start - 1):
        return True
    first_number = scratch.seen_terms.size
    top: Number = 0
    for place in range(start, stop):
        code = programs.codes[place]
        if code < 0:
            top = operation(code, scratch.stack, top)
            continue
        if code < first_number:
            scratch.stack[top] = scratch.seen_terms[code] == stamp
        else:
            scratch.stack[top] = number_holds(code - first_number, row, comparisons, numbers)
        top += 1
    return bool(scratch.stack[0] != 0)


@compiled
def put_in_order(matched: Ids, start: int, count: int, seen: Places, mark: int) -> None:
    """Sorts what a row reaches; where that is much, by a walk over all that are marked."""
    if (count - start) * DENSE < seen.size:
        matched[start:count].sort()
        return
    place = start
    for subscription in range(seen.size):
        if seen[subscription] == mark:
            matched[place] = subscription
            place += 1


@compiled
def resolve_rows(
    first: int,
    first_row: int,
    row_offsets: Places,
    terms: Ids,
    programs: Programs,
    comparisons: Comparisons,
    numbers: RowNumbers,
    now: float,
    ticket: int,
    scratch: Scratch,
    offsets: Places,
    matched: Ids,
) -> int:
    """Writes the subscriptions of each row from the first on, ascending, as far as there is room; how many rows it did.

    ``first_row`` is the row of ``numbers`` that the first row of ``row_offsets`` is. ``ticket``: a number above all
    that the scratch arrays have seen; each row takes one. ``seen`` has twice the number of the row that last asked
    about a subscription, and one more when it was fulfilled.
    """
    count = 0
    offsets[0] = 0
    first_number = scratch.seen_terms.size
    for row in range(first, row_offsets.size - 1):
        stamp = ticket + row - first
        start = count
        for place in range(row_offsets[row], row_offsets[row + 1]):
            if terms[place] < first_number:
                scratch.seen_terms[terms[place]] = stamp
        for place in range(row_offsets[row], row_offsets[row + 1]):
            term = terms[place]
            for entry in range(programs.filed_offsets[term], programs.filed_offsets[term + 1]):
                subscription = programs.filed[entry]
                if scratch.seen[subscription] >> 1 == stamp:
                    continue
                scratch.seen[subscription] = 2 * stamp
                if programs.expires.size and programs.expires[subscription] <= now:
                    continue
                if program_holds(subscription, programs, comparisons, numbers, first_row + row, stamp, scratch):
                    if count == matched.size:
                        return row - first
                    scratch.seen[subscription] = 2 * stamp + 1
                    matched[count] = subscription
                    count += 1
        put_in_order(matched, start, count, scratch.seen, 2 * stamp + 1)
        offsets[row - first + 1] = count
    return row_offsets.size - 1 - first


@compiled
def keep_best(top: int, count: int, place: int, starts: Places, costs: Places, marks: Bytes) -> None:
    """Of several parts that must all hold, the gates of the cheapest are enough."""
    best = top - count
    for part in range(top - count, top):
        if costs[part] < costs[best]:
            best = part
    for part in range(top - count, top):
        if part != best:
            marks[starts[part] : starts[part + 1] if part + 1 < top else place] = 0
    costs[top - count] = costs[best]


@compiled
def choose_gates(offsets: Places, codes: Ids, uses: Places, starts: Places, costs: Places, marks: Bytes) -> int:
    """Marks the places of each program's gates: terms of which one holds whenever the program does.

    Where all parts must hold, the part is taken whose terms are used the least in all. ``starts`` and ``costs`` are as
    long as the longest program. Returns the first program that is not empty and has no gates; -1 if there is none.
    """
    for program in range(offsets.size - 1):
        top = 0
        for place in range(offsets[program], offsets[program + 1]):
            code = codes[place]
            if code >= 0:
                starts[top], costs[top] = place, uses[code]
                marks[place] = 1
                top += 1
                continue
            operator, count = -(code + 1) & 3, -(code + 1) >> 2
            if operator == ALL:
                keep_best(top, count, place, starts, costs, marks)
            else:
                total = 0
                for part in range(top - count, top):
                    total = min(NO_GATES, total + costs[part])
                if operator == NOT or total == NO_GATES:
                    marks[starts[top - count] : place] = 0
                    total = NO_GATES
                costs[top - count] = total
            top -= count - 1
        if top and costs[0] == NO_GATES:
            return program
    return -1
