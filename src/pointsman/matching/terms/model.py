"""Metadata conditions as Arrow columns, which the indexes are built from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from pointsman.errors import InputError
from pointsman.matching.terms.reference import Group, Matcher, Subscription, enough

__all__ = [
    "GROUP",
    "MATCHER",
    "SUBSCRIPTION",
    "Group",
    "Matcher",
    "Subscription",
    "enough",
    "matcher_column",
    "subscription_column",
]

MATCHER = pa.struct([("key", pa.string()), ("pattern", pa.string()), ("partial", pa.bool_())])
GROUP = pa.struct([("all", pa.bool_()), ("matchers", pa.list_(MATCHER))])
SUBSCRIPTION = pa.struct([("includes", GROUP), ("excludes", GROUP)])


def matcher_column(matchers: Any) -> Any:
    """Matchers as one Arrow array of structs: from such an array, a table with its columns, or ``Matcher`` objects.

    Raises ``InputError`` (``not-text``) for anything else.
    """
    return _column(matchers, MATCHER)


def subscription_column(subscriptions: Any) -> Any:
    """Subscriptions as one Arrow array of structs, likewise."""
    return _column(subscriptions, SUBSCRIPTION)


def _column(values: Any, wanted: Any) -> Any:
    try:
        if isinstance(values, pa.RecordBatch | pa.Table):
            values = values.select([field.name for field in wanted]).to_struct_array()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], wanted)
        if isinstance(values, pa.Array):
            return values if values.type == wanted else values.cast(wanted)
        return pa.array(map(asdict, _objects(values)), wanted)
    except (pa.ArrowException, KeyError, TypeError, UnicodeEncodeError) as error:
        raise InputError("not-text", f"this cannot be made a column of {wanted}: {error}") from None


def _objects(values: Iterable[Any]) -> list[Any]:
    return list(values)
