"""Counts of what a pipeline has written, in the same form as what it must come to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pointsman.demo.counting_followed import with_followed
from pointsman.demo.counts import Counts, Flow, Refusal, family_of, general_reason
from pointsman.demo.place import Place

Row = dict[str, Any]


def count_written(place: Place, subjects: Mapping[str, str]) -> Counts:
    """What is in the files that the pipeline of the demo wrote: deliveries, dead letters, quarantine and the rest.

    ``subjects`` has the subject of each message as it was sent, by its id: a delivery has the one it was translated to.
    """
    deliveries: Counter[Flow] = Counter()
    fallbacks: Counter[tuple[str, str]] = Counter()
    failed: Counter[str] = Counter()
    routed: set[str] = set()
    dead = [*_dead(place.out / "dead")]
    for row in (*_rows(place.out, "delivered"), *_rows(place.warehouse), *dead):
        routed.add(row["id"])
        deliveries[Flow(family_of(subjects.get(row["id"])), row["route"], row["destination"])] += 1
        if row.get("instead_of") is not None:
            fallbacks[row["instead_of"], row["destination"]] += 1
    failed.update(row["destination"] for row in dead)
    quarantined: Counter[Refusal] = Counter()
    for row in _rows(place.out, "quarantined"):
        problem = row["problem"]
        family = family_of(subjects.get(row["id"]))
        quarantined[Refusal(family, problem["stage"], problem["code"], general_reason(problem["reason"]))] += 1
    unrouted = Counter(family_of(subjects.get(row["id"])) for row in _rows(place.out, "unrouted"))
    commands = _rows(place.out / "commands", "delivered")
    carried = Counter((row["route"], row["destination"]) for row in commands)
    total = len(routed) + quarantined.total() + unrouted.total()
    counts = Counts(
        total, len(routed), deliveries, quarantined, unrouted, fallbacks=fallbacks, failed=failed, carried=carried
    )
    return with_followed(counts, _followed(place.out / "followed"), subjects)


def _rows(folder: Path, outcome: str | None = None) -> Iterator[Row]:
    """The rows of JSON files, or of those that have an outcome; what is in the names of folders is in them too."""
    files = folder.rglob("*.json") if outcome is None else folder.glob(f"routed/*/outcome={outcome}/*/*.json")
    for file in sorted(files):
        named = dict(part.split("=", 1) for part in file.relative_to(folder).parts[:-1] if "=" in part)
        more = {key: unquote(value) for key, value in named.items() if key not in ("batch", "outcome")}
        with file.open("rb") as lines:
            for line in lines:
                yield json.loads(line) | more


def _dead(folder: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    for file in sorted(folder.rglob("*.parquet")):
        yield from pq.ParquetFile(file).read(["id", "route", "destination", "instead_of"]).to_pylist()


def _followed(folder: Path) -> Iterator[Row]:
    """The rows of sagas and gatherings; JSON leaves out what is NULL, and has times as texts."""
    empty = dict.fromkeys(("route", "path", "subject", "causation_id", "outcome"))
    for row in _rows(folder):
        yield empty | row | {"time": datetime.fromisoformat(row["time"])}
