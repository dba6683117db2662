"""A table of subscriptions as what the column form is built from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.conditions import Condition, read_condition
from pointsman.errors import InputError, PatternError, PointsmanError
from pointsman.matching.invalid import InvalidPatternsError
from pointsman.matching.terms.kernels.compiled import Flags, Ids, Places
from pointsman.matching.terms.model import GROUP
from pointsman.subscriptions.column_form.kernels import Floats

FIELDS = ("pattern", "dialect", "condition", "includes", "excludes", "enabled", "expires")
"""The columns that say what a subscription is; of the first, the third and the fourth, a row must have one."""


class Patterns(NamedTuple):
    """The distinct subject patterns, by dialect, and the number of each row's; -1 where a row has none."""

    columns: dict[str | None, Any]
    """None is the dialect of those whose dialect nobody chose."""
    numbers: Ids


class Rows:
    """The columns of a table of subscriptions, checked for their types; what a table has not is null.

    Raises ``InputError`` (``bad-usage``) for a column of another type.
    """

    def __init__(self, table: Any, dialect: str | None) -> None:
        self.table = table
        self.size = table.num_rows
        self._dialect = dialect

    def column(self, name: str, kind: Any) -> Any:
        """One of the columns as one array of this type."""
        if name not in self.table.column_names:
            return pa.nulls(self.size, kind)
        column = self.table[name]
        try:
            whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
            return whole if whole.type == kind else whole.cast(kind)
        except pa.ArrowException:
            raise InputError(
                "bad-usage", f"the column {name!r} of subscriptions holds {column.type}, not {kind}"
            ) from None

    def enabled(self) -> Flags:
        """Which rows are to be found at all; null is yes."""
        return np.asarray(self.column("enabled", pa.bool_()).fill_null(True).to_numpy(zero_copy_only=False), np.bool_)

    def expires(self) -> Floats:
        """When each row ends, infinite where it does not; empty if none does."""
        name = "expires"
        if name in self.table.column_names and pa.types.is_timestamp(self.table[name].type):
            moments = self.column(name, pa.timestamp("us", self.table[name].type.tz)).cast(pa.int64())
            seconds = pc.divide(moments.cast(pa.float64(), safe=False), 1e6)
        else:
            seconds = self.column(name, pa.float64())
        if seconds.null_count == self.size:
            return np.empty(0)
        return np.asarray(seconds.fill_null(np.inf).to_numpy(zero_copy_only=False), np.float64)

    def group(self, name: str) -> tuple[Places, Any, Any]:
        """Of ``includes`` or ``excludes``: how many matchers each row has, whether all must hold, and all matchers."""
        group = self.column(name, GROUP)
        lists = pc.struct_field(group, "matchers")
        counts = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return counts, pc.struct_field(group, "all"), lists.flatten()

    def conditions(self, wanted: Flags) -> Iterator[tuple[int, Condition]]:
        """The row and the condition of each wanted row that has one as JSON; equal texts are read once.

        Raises ``InputError`` (``bad-subscription``) that names the row.
        """
        texts = self.column("condition", pa.string())
        encoded = texts.dictionary_encode()
        read: dict[int, Condition] = {}
        numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero((numbers >= 0) & wanted).tolist():
            number = int(numbers[row])
            if number not in read:
                read[number] = self._read(row, encoded.dictionary[number].as_py())
            yield row, read[number]

    def _read(self, row: int, text: str) -> Condition:
        try:
            return read_condition(json.loads(text))
        except (ValueError, RecursionError) as error:
            problem = error.problem if isinstance(error, PointsmanError) else str(error)
            raise bad_row(row, f"condition: {problem}") from None

    def patterns(self, wanted: Flags) -> Patterns:
        """The distinct patterns of the wanted rows."""
        texts = self.column("pattern", pa.string())
        names = self.column("dialect", pa.string())
        if self._dialect is not None:
            names = names.fill_null(self._dialect)
        numbers = np.full(self.size, -1, np.int32)
        present = texts.is_valid().to_numpy(zero_copy_only=False) & wanted
        columns: dict[str | None, Any] = {}
        used = 0
        for name in sorted(names.filter(pa.array(present)).unique().to_pylist(), key=lambda name: name or ""):
            named = names.is_null() if name is None else pc.fill_null(pc.equal(names, name), False)
            own = np.flatnonzero(named.to_numpy(zero_copy_only=False) & present)
            encoded = texts.take(pa.array(own)).dictionary_encode()
            numbers[own] = encoded.indices.to_numpy(zero_copy_only=False) + used
            columns[name] = encoded.dictionary
            used += len(encoded.dictionary)
        return Patterns(columns, numbers)


def bad_row(row: int, problem: str) -> InputError:
    """The error for a row of a table of subscriptions."""
    return InputError("bad-subscription", f"subscription {row}: {problem}", text=str(row))


def with_rows(error: InvalidPatternsError, numbers: Ids) -> InvalidPatternsError:
    """The error for distinct patterns as one for the rows that have them; each row is named."""
    failures: list[tuple[int, PatternError]] = []
    for number, failure in error.failures:
        failures += [(row, failure) for row in np.flatnonzero(numbers == number).tolist()]
    return InvalidPatternsError(sorted(failures, key=lambda failure: failure[0]))
