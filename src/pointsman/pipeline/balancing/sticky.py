"""The sticky choice on Spark: the hash of ``routing.sticky``, once for each different key of an Arrow batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pointsman.routing.sticky import stick

if TYPE_CHECKING:
    import pyarrow as pa


def sticking(names: Mapping[str, tuple[str, ...]]) -> Any:
    """The function from a column of routes and one of keys to the destination; NULL where either is NULL.

    ``names`` has the destinations that each route chooses from.
    """
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so
    from pyspark.sql.types import StringType

    def destination_of(routes: Any, keys: Any) -> Any:
        return stuck(names, routes, keys)

    # Spark reads from the types that it works on columns; as text it could not find them here.
    destination_of.__annotations__ = {"routes": pa.Array, "keys": pa.Array, "return": pa.Array}
    return arrow_udf(destination_of, StringType())


def stuck(names: Mapping[str, tuple[str, ...]], routes: pa.Array[Any], keys: pa.Array[Any]) -> pa.Array[Any]:
    """The destinations for these routes and keys."""
    import numpy as np
    import pyarrow as pa

    named, keyed = routes.dictionary_encode(), keys.dictionary_encode()
    # What is not UTF-8 hashes as what a reader of text would see.
    texts = [key.decode("utf-8", "replace") for key in keyed.dictionary.cast(pa.binary()).to_pylist()]
    known = [names[route] for route in named.dictionary.to_pylist()]
    numbers = [each.indices.fill_null(-1).to_numpy(zero_copy_only=False) for each in (named, keyed)]
    pairs, places = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
    found = [stick(known[route], texts[key]) if route >= 0 and key >= 0 else None for route, key in pairs.tolist()]
    return pa.array(found, pa.string()).take(pa.array(places.reshape(-1)))
