"""Which folders a run writes its batches to: each is its own, and holds nothing that another would replace.

<folder>/_run-IDENTITY    an empty file that says whose batches a folder holds; Spark overlooks it
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from pointsman.errors import InputError
from pointsman.pipeline.delivering.files import Files
from pointsman.pipeline.delivering.place import file_name

COMMANDS = "commands"
"""The folder of what becomes of the commands of sagas, in the folder of the pipeline and in the checkpoint."""
IN_OUT = ("routed", "deliveries", "dead", "sent", "followed", COMMANDS)
"""What a run writes to in the folder of the pipeline."""
IN_CHECKPOINT = ("route", "follow", "pointsman", "subscriptions", COMMANDS)
BATCH = "batch="
MARK = "_run-"


class Claim(NamedTuple):
    """A folder that a run writes to."""

    name: str
    """As errors call it."""
    path: str
    within: tuple[str, ...] = (BATCH,)
    """What the names of the folders in it begin with that the run replaces and removes."""

    @property
    def place(self) -> PurePosixPath:
        """The folder itself, however its path is spelled."""
        parts = urlsplit(self.path) if "://" in self.path else None
        if parts is None or parts.scheme == "file":
            return PurePosixPath(os.path.realpath(self.path if parts is None else parts.path))
        return PurePosixPath(f"{parts.scheme}://{parts.netloc}", os.path.normpath(f"/{parts.path}").strip("/"))


def check_apart(claims: Iterable[Claim]) -> None:
    """Raises ``InputError`` (``bad-destination``) for a folder that is another one too, or lies in what it replaces."""
    seen = [(claim, claim.place) for claim in claims]
    for (first, one), (second, two) in combinations(seen, 2):
        if _replaces(first, one, two) or _replaces(second, two, one):
            problem = f"{first.name} and {second.name} have one path: each would replace what the other wrote"
            raise InputError("bad-destination", problem, file=second.path)


def _replaces(claim: Claim, place: PurePosixPath, other: PurePosixPath) -> bool:
    """Whether a claim to a place concerns another place: the same one, or one in a folder that it replaces."""
    if not other.is_relative_to(place):
        return False
    below = other.relative_to(place).parts
    return not below or below[0].startswith(claim.within)


def claim_folders(files: Files, claims: Iterable[Claim], identity: str) -> None:
    """Makes folders those of a run; nothing is changed in any of them if one is taken.

    One that cannot be made is left to the deliveries, which will fail as well. Raises ``InputError``
    (``folder-taken``) for one that holds batches of another run.
    """
    mine = MARK + file_name(identity)
    free = []
    for claim in claims:
        names = files.names(claim.path)
        if mine in names:
            continue
        held = [name for name in names if name.startswith(claim.within) and files.names(f"{claim.path}/{name}")]
        if held:
            problem = f"{claim.name} holds {', '.join(held[:3])} of another run, which would be replaced"
            raise InputError("folder-taken", problem, file=claim.path)
        free.append((claim.path, [name for name in names if name.startswith(MARK)]))
    for path, others in free:
        if files.touch(f"{path}/{mine}"):
            for name in others:
                files.remove(f"{path}/{name}")


def owner_of(files: Files, path: str) -> str | None:
    """The identity of the run whose batches a folder holds; None if nothing says so."""
    return next((name.removeprefix(MARK) for name in files.names(path) if name.startswith(MARK)), None)
