"""From the terms of rows to the subscriptions they fulfil."""

from __future__ import annotations

from typing import NamedTuple

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Places, compiled

INCLUDES_ALL, EXCLUDES_ALL = 1, 2
DENSE = 16
"""A row that reaches one subscription in so many is put in order by a walk over all of them."""


class GroupArrays(NamedTuple):
    """The frozen groups.

    A subscription is filed under the terms of which at least one must hold for it: each of its includes, or, when it
    needs all of them, the one that is least used. What remains to be asked is kept for each: its other includes
    (place 2 * subscription) and its excludes (2 * subscription + 1).
    """

    filed_offsets: Places
    filed: Ids
    asked_offsets: Places
    asked: Ids
    rules: Bytes


@compiled
def choose_filing(group_offsets: Places, terms: Ids, rules: Bytes, uses: Places, filing: Bytes, asking: Bytes) -> None:
    """Marks under which terms each subscription is filed and which it has to be asked about.

    Groups are in turns includes and excludes; ``uses`` says how many groups have a term, the fewer the better.
    """
    for subscription in range(rules.size):
        start, stop = group_offsets[2 * subscription], group_offsets[2 * subscription + 1]
        if rules[subscription] & INCLUDES_ALL:
            best = start
            for place in range(start, stop):
                asking[place] = 1
                if uses[terms[place]] < uses[terms[best]]:
                    best = place
            filing[best] = 1
            asking[best] = 0
        else:
            filing[start:stop] = 1
        asking[stop : group_offsets[2 * subscription + 2]] = 1


@compiled
def fulfils(groups: GroupArrays, subscription: int, stamp: int, seen_terms: Places) -> bool:
    """Whether what remains to be asked speaks for a subscription that was found under one of its terms."""
    middle = groups.asked_offsets[2 * subscription + 1]
    for place in range(groups.asked_offsets[2 * subscription], middle):
        if seen_terms[groups.asked[place]] != stamp:
            return False
    stop = groups.asked_offsets[2 * subscription + 2]
    if middle == stop:
        return True
    every = bool(groups.rules[subscription] & EXCLUDES_ALL != 0)
    for place in range(middle, stop):
        if (seen_terms[groups.asked[place]] == stamp) != every:
            return every
    return not every


@compiled
def match_rows(
    first: int,
    row_offsets: Places,
    terms: Ids,
    groups: GroupArrays,
    ticket: int,
    seen_terms: Places,
    seen: Places,
    offsets: Places,
    matched: Ids,
) -> int:
    """Writes the subscriptions of each row from the first on, ascending, as far as there is room; how many rows it did.

    ``ticket``: a number above all that the scratch arrays have seen; each row takes one. ``seen`` has twice the number
    of the row that last asked about a subscription, and one more when it was fulfilled.
    """
    count = 0
    offsets[0] = 0
    for row in range(first, row_offsets.size - 1):
        stamp = ticket + row - first
        start = count
        for place in range(row_offsets[row], row_offsets[row + 1]):
            seen_terms[terms[place]] = stamp
        for place in range(row_offsets[row], row_offsets[row + 1]):
            term = terms[place]
            for entry in range(groups.filed_offsets[term], groups.filed_offsets[term + 1]):
                subscription = groups.filed[entry]
                if seen[subscription] >> 1 == stamp:
                    continue
                seen[subscription] = 2 * stamp
                if fulfils(groups, subscription, stamp, seen_terms):
                    if count == matched.size:
                        return row - first
                    seen[subscription] = 2 * stamp + 1
                    matched[count] = subscription
                    count += 1
        if (count - start) * DENSE < seen.size:
            matched[start:count].sort()
        else:
            place = start
            for subscription in range(seen.size):
                if seen[subscription] == 2 * stamp + 1:
                    matched[place] = subscription
                    place += 1
        offsets[row - first + 1] = count
    return row_offsets.size - 1 - first
