"""What a pipeline has written to the folder ``out``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUTCOMES = {"deliveries": "delivered", "quarantined": "quarantined", "unrouted": "unrouted"}


def files(out: Path, kind: str, batch: int | None = None, destination: str = "*", ending: str = "") -> list[Path]:
    """The files of an outcome, or of one of its destinations, in all batches or in one."""
    which = "*" if batch is None else batch
    found = out.glob(f"routed/batch={which}/outcome={OUTCOMES[kind]}/destination={destination}/part-*")
    found = (path for path in found if path.name.endswith(ending))
    return sorted(found, key=lambda path: (int(batch_of(path)), path.parent.name, path.name))


def batch_of(path: Path) -> str:
    """The batch that a file is of."""
    return next(part for part in path.parts if part.startswith("batch=")).partition("=")[2]


def rows(out: Path, kind: str, batch: int | None = None, destination: str = "*") -> list[dict[str, Any]]:
    """The rows of such files of JSON."""
    found = files(out, kind, batch, destination, ".json")
    return [json.loads(line) for path in found for line in path.read_text().splitlines()]
