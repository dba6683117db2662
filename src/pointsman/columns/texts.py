"""Texts of Arrow columns, which may hold bytes that are no UTF-8."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def texts_of(column: Any) -> list[str | None]:
    """The texts of a column; one that is not UTF-8 holds lone surrogates, which no dialect allows."""
    try:
        found: list[str | None] = column.to_pylist()
        return found
    except UnicodeDecodeError:
        raw = column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()).to_pylist()
        return [None if each is None else each.decode(errors="surrogateescape") for each in raw]


def is_writable(text: str) -> bool:
    """Whether UTF-8 can write the text."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
