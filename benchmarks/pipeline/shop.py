"""The messages of a shop and the tables that route them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pointsman import RoutingTable

TOPS = ("orders", "payments", "mail", "alerts", "stock", "clicks")
REGIONS = ("eu", "us", "asia")
KINDS = ("books", "laptops", "phones", "toys")
NUMBERS = 50
"""Last tokens of repeated subjects, of which there are 3,600."""
NOTES, NOTE_LENGTH = 5_000, 190
FILES = 4

DESTINATIONS = ("audit", "premium", "standard", "cash", "mailer", "newsletter", "ops", "stock", "web", "eu")
NINE: list[dict[str, Any]] = [
    {"name": "audit", "pattern": "orders.>", "destinations": ["audit"]},
    {
        "name": "large",
        "pattern": "orders.>",
        "strategy": "content",
        "group": "orders",
        "when": "body.amount > 2000",
        "destinations": ["premium"],
    },
    {
        "name": "usual",
        "pattern": "orders.>",
        "strategy": "content",
        "group": "orders",
        "when": "TRUE",
        "destinations": ["standard"],
    },
    {"name": "cash", "pattern": "payments.>", "destinations": ["cash"]},
    {"name": "mail", "pattern": "mail.>", "destinations": ["mailer", "newsletter"]},
    {"name": "alerts", "pattern": "alerts.*.*.*", "strategy": "priority", "priority": 5, "destinations": ["ops"]},
    {"name": "stock", "pattern": "stock.eu.>", "destinations": ["stock"]},
    {"name": "clicks", "pattern": "clicks.*.laptops.*", "destinations": ["web"]},
    {"name": "eu", "pattern": "*.eu.books.*", "destinations": ["eu"]},
]


def routes(count: int) -> list[dict[str, Any]]:
    """The nine routes above, and as many with a wildcard as make up ``count``; a fifth of the messages match one."""
    more: list[dict[str, Any]] = []
    number = 4 * NUMBERS // 5
    while len(more) < count - len(NINE):
        for top in TOPS:
            for kind in KINDS:
                name, pattern = f"{top}-{kind}-{number}", f"{top}.*.{kind}.{number}"
                more.append({"name": name, "pattern": pattern, "destinations": [DESTINATIONS[number % 10]]})
        number += 1
    return NINE + more[: count - len(NINE)]


def table(count: int) -> RoutingTable:
    """A table of so many routes."""
    return RoutingTable.from_plain(plain(count))


def plain(count: int) -> dict[str, Any]:
    """The same, as it stands in a file."""
    return {"destinations": dict.fromkeys(DESTINATIONS), "routes": routes(count)}


def messages(count: int, *, distinct: bool = False, seed: int = 7) -> pa.Table:
    """Messages of some 250 bytes; ``distinct`` ones have a subject that no other has."""
    source = np.random.default_rng(seed)
    letters = source.integers(97, 123, size=(NOTES, NOTE_LENGTH), dtype=np.uint8)
    notes = _taken([bytes(row).decode() for row in letters], source, count)
    regions = _taken(REGIONS, source, count)
    last = np.arange(count) if distinct else source.integers(0, NUMBERS, count)
    amounts, customers = source.integers(0, 3000, count), source.integers(0, 10_000, count)
    numbers = np.arange(count) + seed * 10_000_000
    first = ('{"amount": ', _text(amounts), ', "currency": "EUR", "customer": "c', _text(customers))
    keys = pa.array(["region"] * count)
    return pa.table(
        {
            "id": _joined("m", _text(numbers)),
            "subject": pc.binary_join_element_wise(
                _taken(TOPS, source, count), regions, _taken(KINDS, source, count), _text(last), "."
            ),
            "metadata": pa.MapArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), keys, regions),
            "body": _joined(*first, '", "note": "', notes, '"}').cast(pa.binary()),
        }
    )


def write(made: pa.Table, folder: Path, form: str, files: int = FILES) -> None:
    """The messages as Parquet or JSON lines, in files of the same size."""
    folder.mkdir(parents=True)
    each = -(-len(made) // files)
    for number in range(files):
        part = made.slice(number * each, each)
        if form == "parquet":
            pq.write_table(part, folder / f"{number:06}.parquet")
        else:
            with (folder / f"{number:06}.jsonl").open("w") as lines:
                lines.writelines(map(_line, part.to_pylist()))


def _line(message: dict[str, Any]) -> str:
    return json.dumps(message | {"metadata": dict(message["metadata"]), "body": json.loads(message["body"])}) + "\n"


def _taken(texts: Any, source: np.random.Generator, count: int) -> pa.Array:
    return pa.array(texts).take(pa.array(source.integers(0, len(texts), count)))


def _text(numbers: Any) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _joined(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
