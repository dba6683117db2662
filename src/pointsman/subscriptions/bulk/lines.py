"""Lines of JSON, taken apart by compiled code: where the fields of each subscription stand."""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Places, compiled
from pointsman.subscriptions.bulk.conditions import Floats
from pointsman.subscriptions.bulk.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    FALSE,
    NULL,
    ODD,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    TRUE,
    constant,
    constant_end,
    equals,
    number_at,
    number_end,
    past,
    skip_space,
    text_end,
    value_end,
)
from pointsman.subscriptions.reading import FIELDS

ID, OWNER, DESTINATIONS, PATTERN, DIALECT, CONDITION, ENABLED, EXPIRES, DESCRIPTION = range(len(FIELDS))
_FIELD_BYTES = np.frombuffer("".join(FIELDS).encode(), np.uint8)
_FIELD_PLACES = np.cumsum([0, *map(len, FIELDS)])


@compiled
def field_at(data: Bytes, begin: int, end: int) -> int:
    """Which of the fields is named there; ``ODD`` if none is."""
    for field in range(_FIELD_PLACES.size - 1):
        if equals(data, begin, end, _FIELD_BYTES, _FIELD_PLACES[field], _FIELD_PLACES[field + 1]):
            return field
    return ODD


@compiled
def names_end(data: Bytes, place: int, end: int) -> int:
    """The place behind a list of plain texts; else ``ODD``."""
    place = past(data, place, end, OPEN_LIST)
    while place != ODD:
        place = past(data, place, end, QUOTE)
        stop = text_end(data, place, end) if place != ODD else ODD
        if stop == ODD:
            return ODD
        closed = past(data, stop + 1, end, CLOSE_LIST)
        if closed != ODD:
            return closed
        place = past(data, stop + 1, end, COMMA)
    return ODD


@compiled
def split_value(
    data: Bytes, place: int, end: int, field: int, row: int, begins: Places, ends: Places, expires: Floats
) -> int:
    """Notes where a value stands, and gives the place behind it; ``ODD`` if it is not of the kind of the field."""
    found = constant(data, place, end)
    if found == NULL:
        return place + 4
    if field == ENABLED:
        if found != TRUE and found != FALSE:
            return ODD
        begins[field, row] = 1 if found == TRUE else 0
        return constant_end(place, found)
    if field == EXPIRES:
        stop = number_end(data, place, end)
        if stop != ODD:
            expires[row] = number_at(data, place, stop)
        return stop
    if field == CONDITION or field == DESTINATIONS:
        stop = value_end(data, place, end) if field == CONDITION else names_end(data, place, end)
        begins[field, row] = place
        ends[field, row] = stop
        return stop
    begin = past(data, place, end, QUOTE)
    stop = text_end(data, begin, end) if begin != ODD else ODD
    begins[field, row] = begin
    ends[field, row] = stop
    return stop + 1 if stop != ODD else ODD


@compiled
def split_line(data: Bytes, place: int, end: int, row: int, begins: Places, ends: Places, expires: Floats) -> bool:
    """Notes where the fields of a line stand; False if it is to go the long way."""
    place = past(data, place, end, OPEN_OBJECT)
    seen = 0
    while place != ODD:
        begin = past(data, place, end, QUOTE)
        stop = text_end(data, begin, end) if begin != ODD else ODD
        field = field_at(data, begin, stop) if stop != ODD else ODD
        place = past(data, stop + 1, end, COLON) if field != ODD else ODD
        if place == ODD or seen & (1 << field):
            return False
        seen |= 1 << field
        place = split_value(data, skip_space(data, place, end), end, field, row, begins, ends, expires)
        place = skip_space(data, place, end) if place != ODD else ODD
        if place == ODD or place >= end:
            return False
        if data[place] == CLOSE_OBJECT:
            return skip_space(data, place + 1, end) == end
        place = past(data, place, end, COMMA)
    return False


@compiled
def split_lines(
    data: Bytes, line_ends: Places, begins: Places, ends: Places, expires: Floats, is_read: Flags, is_empty: Flags
) -> None:
    """Notes where the fields of all lines stand: ``begins`` and ``ends`` have a row for each field, -1 where it is not.

    ``begins`` of ``enabled`` is whether it is.
    """
    place = 0
    for row in range(line_ends.size):
        end = line_ends[row]
        is_empty[row] = skip_space(data, place, end) == end
        if not is_empty[row]:
            is_read[row] = split_line(data, place, end, row, begins, ends, expires) and not (
                begins[ID, row] == ODD or begins[OWNER, row] == ODD or begins[DESTINATIONS, row] == ODD
            )
        place = end
