"""Pieces of JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from pointsman.errors import InputError
from pointsman.matching.terms.kernels.compiled import Bytes, Places
from pointsman.subscriptions.bulk.lines import (
    CONDITION,
    DESCRIPTION,
    DESTINATIONS,
    DIALECT,
    ENABLED,
    ID,
    OWNER,
    PATTERN,
    split_lines,
)
from pointsman.subscriptions.bulk.pieces import Distinct, Piece, with_dialects
from pointsman.subscriptions.bulk.terms import number_texts
from pointsman.subscriptions.bulk.texts import Texts
from pointsman.subscriptions.json_lines import MAXIMUM_LINE, read_line
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.reading import FIELDS

BYTES = 16 << 20
"""Of a piece."""
NEW_LINE = 10


def line_pieces(file: BinaryIO, name: str, limits: Limits, skip: int = 0, most: int | None = None) -> Iterator[Piece]:
    """The pieces of a file, after the first ``skip`` lines, each of up to ``most``.

    Raises ``InputError`` (``bad-subscription``) for a line that is too long.
    """
    before = 0
    while chunk := file.read(BYTES):
        rest = b"" if chunk.endswith(b"\n") else file.readline(MAXIMUM_LINE + 1)
        is_too_long = len(rest) > MAXIMUM_LINE
        text = chunk[: chunk.rfind(b"\n") + 1] if is_too_long else chunk + rest
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == NEW_LINE) + 1
        if text and not text.endswith(b"\n"):
            ends = np.append(ends, len(text))
        first = max(0, skip - before)
        size = ends.size if most is None else most
        while first < ends.size:
            stop = min(first + size, ends.size)
            begin = int(ends[first - 1]) if first else 0
            yield _line_piece(text[begin : int(ends[stop - 1])], ends[first:stop] - begin, name, before + first, limits)
            first = stop
        before += ends.size
        if is_too_long:
            problem = f"the line is longer than {MAXIMUM_LINE:,} bytes"
            raise InputError("bad-subscription", problem, file=name, line=before + 1)


def _line_piece(text: bytes, line_ends: Places, name: str, before: int, limits: Limits) -> Piece:
    """The piece of some lines, which end there, and which so many come before."""
    data = np.frombuffer(text, np.uint8)
    count = line_ends.size
    begins, ends = np.full((len(FIELDS), count), -1, np.int64), np.full((len(FIELDS), count), -1, np.int64)
    expires = np.full(count, np.inf)
    plain, empty = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    if _is_utf8(text):
        split_lines(data, line_ends, begins, ends, expires, plain, empty)
    plain &= np.diff(line_ends, prepend=0) <= MAXIMUM_LINE
    # What was noted of a line that is not plain is of no use.
    begins[:, ~plain] = ends[:, ~plain] = -1

    def read(row: int) -> WildcardSubscription:
        begin = int(line_ends[row - 1]) if row else 0
        return read_line(text[begin : int(line_ends[row])], name, before + row + 1, limits)

    def distinct(field: int) -> Distinct:
        return _distinct(text, data, begins[field], ends[field])

    return Piece(
        before + count,
        Texts(data, begins[ID], ends[ID]),
        distinct(OWNER),
        distinct(DESTINATIONS),
        with_dialects(distinct(PATTERN), distinct(DIALECT)),
        begins[ENABLED] != 0,
        expires,
        distinct(DESCRIPTION),
        data,
        begins[CONDITION],
        ends[CONDITION],
        plain,
        ~empty,
        read,
    )


def _distinct(text: bytes, data: Bytes, begins: Places, ends: Places) -> Distinct:
    codes, firsts = np.zeros(begins.size, np.int32), np.zeros(begins.size, np.int32)
    firsts = firsts[: number_texts(data, begins, ends, codes, firsts)]
    places = zip(begins[firsts].tolist(), ends[firsts].tolist(), strict=True)
    return Distinct(codes, [text[begin:end].decode() for begin, end in places])


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
