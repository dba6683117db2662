"""The versions of the table: the one on disk now, and those that batches worked with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from pointsman.errors import InputError, PointsmanError
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
        self._read = self._stamp()
        self.table = self._load()
        self._keep(self.table)

    def current(self) -> RoutingTable:
        """The newest version that can be used."""
        stamp = self._stamp()
        if stamp == self._read:
            return self.table
        self._read = stamp
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
        table = RoutingTable.load(self._path, self._environment)
        self._check(table)
        return table

    def _keep(self, table: RoutingTable) -> None:
        path = self._folder / f"{table.hash}.json"
        if path.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        with draft.open("wb") as file:
            file.write(json.dumps(table.plain, ensure_ascii=False).encode(errors="surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def _stamp(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except OSError:
            return (0, 0)
        return (found.st_mtime_ns, found.st_size)
