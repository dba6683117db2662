"""Files of subscriptions, written plainly: the long way, by which what is exported is judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pointsman._util import json_text
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.parquet import SCHEMA
from pointsman.subscriptions.reading import DIALECT
from pointsman.subscriptions.writing import write_subscription


def write_json_lines(path: Path, subscriptions: Sequence[WildcardSubscription]) -> None:
    """A line for each."""
    path.write_bytes(b"".join(json_text.compact(write_subscription(each)) + b"\n" for each in subscriptions))


def write_parquet(path: Path, subscriptions: Sequence[WildcardSubscription]) -> None:
    """A row for each, with the dialect of each pattern: those who read the file may take another for granted."""
    rows = [{"enabled": True, **write_subscription(each)} for each in subscriptions]
    for row in rows:
        if "pattern" in row:
            row.setdefault("dialect", DIALECT)
        if "condition" in row:
            row["condition"] = json.dumps(row["condition"], separators=(",", ":"), ensure_ascii=False)
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
