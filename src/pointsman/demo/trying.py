"""What to try after the demo: commands that can be pasted into a shell."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from pointsman.demo.place import Place

SOLD = '{"subject": "tills.laptops.eu", "body": {"amount": 1500}}'
"""A message that is translated and then routed by its content."""
ORDERED = '{"subject": "orders.eu.laptops", "principal": "web-shop", "body": {"amount": 2500}}'


def next_commands(place: Place, program: str) -> tuple[str, str, str]:
    """Three commands that go on from here, to be typed as they are."""
    table, pipeline = shlex.quote(str(place.table)), shlex.quote(str(place.pipeline))
    more, warehouse = shlex.quote(str(place.events / "more.jsonl")), shlex.quote(str(place.warehouse))
    return (
        f"{program} explain {table} '{SOLD}' --principal till",
        f"echo '{ORDERED}' > {more} && {program} run {pipeline}",
        f"rm {warehouse} && {program} replay {pipeline}",
    )


def program_name(called: str) -> str:
    """How a program that was called so is called in a shell: by its name if that finds it, and else by its path."""
    path = Path(called)
    if not path.exists():
        return path.name
    found = shutil.which(path.name)
    if found is not None and path.samefile(found):
        return path.name
    near = os.path.relpath(path)
    return shlex.quote(str(path.absolute()) if near.startswith("..") else near)
