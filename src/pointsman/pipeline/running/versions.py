"""The versions of the table: the one on disk now, and those that batches worked with."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

from pointsman.errors import InputError, PointsmanError
from pointsman.pipeline.whole_file import PRIVATE, write_whole
from pointsman.table import document
from pointsman.table.routing_table import RoutingTable

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
