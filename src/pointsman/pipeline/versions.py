"""Which run this is, and which version of its table each batch works with: both kept in the checkpoint."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from pointsman.errors import InputError, PointsmanError
from pointsman.pipeline.destinations.choice import COMMANDS
from pointsman.pipeline.spark.files import PRIVATE, write_whole
from pointsman.pipeline.state import batches
from pointsman.table.loading import document
from pointsman.table.routing_table import RoutingTable

ROUTE, FOLLOW = "route", "follow"
"""The queries of a run, and their folders in the checkpoint."""
SUBSCRIPTIONS = "subscriptions"
"""The folder, in the checkpoint, of their versions."""


def identity_of(checkpoint: Path) -> str:
    """The identity of the run that a checkpoint belongs to. A checkpoint without progress gets a new one.

    So does one of which Spark's progress (``offsets`` and ``commits``) was removed: its batches are numbered anew, and
    what was kept of them is forgotten. To be called by one run at a time. Raises ``InputError``
    (``checkpoint-incomplete``) if other parts of the progress are missing.
    """
    known = known_identity(checkpoint)
    planned = {query: last_batch(checkpoint / query / "offsets") for query in (ROUTE, FOLLOW)}
    for query, folder in _queries(checkpoint):
        _check(checkpoint, query, folder, planned[query])
    if known is None or any(batches.last_begun(folder) > planned[query] for query, folder in _queries(checkpoint)):
        known = str(uuid4())
        _write(checkpoint, known)
        for query, folder in _queries(checkpoint):
            batches.forget_after(folder, planned[query])
            batches.forget_after(folder / SUBSCRIPTIONS, planned[query])
    if known_identity(checkpoint / COMMANDS) != known:
        # It tells, later, that what is kept of the commands is all there.
        _write(checkpoint / COMMANDS, known)
    return known


def known_identity(checkpoint: Path) -> str | None:
    """The identity that a checkpoint has. Raises ``InputError`` (``bad-state``) if the file holds something else."""
    path = _path(checkpoint)
    try:
        return str(json.loads(path.read_bytes())["run"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise InputError("bad-state", "it is no identity of a run", file=str(path)) from None


def _queries(checkpoint: Path) -> Iterator[tuple[str, Path]]:
    """The queries, and the folder in which each keeps what Spark does not."""
    yield ROUTE, checkpoint
    yield FOLLOW, checkpoint / COMMANDS


def _check(checkpoint: Path, query: str, folder: Path, planned: int) -> None:
    """Raises ``InputError`` if something is missing of the batches that a query has planned."""
    committed = last_batch(checkpoint / query / "commits")
    if committed > planned:
        problem = f"batch {committed} is committed, and its offsets are gone"
        raise InputError("checkpoint-incomplete", problem, file=str(checkpoint / query / "offsets"))
    if planned < 0:
        return
    missing = None if _path(folder).exists() else folder / "pointsman"
    if query == ROUTE and committed >= 0 and batches.recorded(folder, committed) is None:
        missing = folder / "pointsman" / "state"
    if missing is not None:
        problem = f"batch {planned} was begun, and what was kept of it is gone: turns of balances, breakers, versions"
        raise InputError("checkpoint-incomplete", problem, file=str(missing))


def last_batch(folder: Path) -> int:
    """The last batch that Spark has a file of in a folder; -1 if there is none."""
    if not folder.is_dir():
        return -1
    return max((int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=-1)


def _path(folder: Path) -> Path:
    return folder / "pointsman" / "run.json"


def _write(folder: Path, identity: str) -> None:
    write_whole(_path(folder), json.dumps({"run": identity}).encode())


Tell = Callable[..., None]


class Tables:
    """The table of a pipeline. A new version on disk is taken up between batches; a broken one is told and left."""

    def __init__(
        self,
        path: Path,
        environment: str | None,
        checkpoint: Path,
        tell: Tell,
        check: Callable[[RoutingTable], None] = lambda _: None,
    ) -> None:
        """``check`` raises ``PointsmanError`` for a table that cannot be used, as loading it does."""
        self._path = path
        self._check = check
        self._environment = environment
        self._folder = checkpoint / "pointsman" / "tables"
        self._tell = tell
        self._seen: dict[Path, document.Stamp] = {}
        """The files that the table was read from: its own, and those that it includes."""
        self.table = self._load()
        self._keep(self.table)

    def current(self) -> RoutingTable:
        """The newest version that can be used."""
        if all(document.stamp(path) == seen for path, seen in self._seen.items()):
            return self.table
        try:
            table = self._load()
        except PointsmanError as error:
            self._tell("table-refused", code=error.code, problem=str(error), kept=self.table.hash)
            return self.table
        if table.hash != self.table.hash:
            self._keep(table)
            self._tell("table-taken-up", table=table.hash, instead_of=self.table.hash)
            self.table = table
        return self.table

    def of(self, digest: str) -> RoutingTable:
        """The version of this hash. Raises ``InputError`` (``bad-state``) if it was not kept."""
        if digest == self.table.hash:
            return self.table
        path = self._folder / f"{digest}.json"
        try:
            return RoutingTable.from_plain(json.loads(path.read_bytes()), str(path))
        except OSError:
            raise InputError(
                "bad-state", f"the table {digest} that a batch began with is gone", file=str(path)
            ) from None

    def _load(self) -> RoutingTable:
        # What the path leads to may be a link that is turned to another file.
        seen = {self._path: document.stamp(self._path)}
        try:
            table = RoutingTable.load(self._path, self._environment, seen=seen)
        finally:
            self._seen = seen
        self._check(table)
        return table

    def _keep(self, table: RoutingTable) -> None:
        """Keeps a version, for batches that are repeated; who may not read the table may not read the copy."""
        path = self._folder / f"{table.hash}.json"
        mode = strictest([stat.S_IMODE(file.stat().st_mode) for file in self._seen if file.exists()])
        if path.exists() and not path.is_symlink():
            path.chmod(mode)
        else:
            write_whole(path, json.dumps(table.plain, ensure_ascii=False).encode(errors="surrogatepass"), mode)


def strictest(modes: list[int]) -> int:
    """What all of these modes of files allow, and nobody but the owner if there are none.

    >>> oct(strictest([0o644, 0o640])), oct(strictest([]))
    ('0o640', '0o600')
    """
    allowed = 0o666 if modes else PRIVATE
    for mode in modes:
        allowed &= mode
    return allowed | PRIVATE
