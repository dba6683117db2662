"""Folders of any file system that Spark can reach: looked at, renamed and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE = "_SUCCESS"
"""The file that Spark writes when a folder is whole."""


class Files:
    """The file systems as the driver of a session sees them."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        # Spark shows the file systems of Hadoop in no other way.
        self._jvm = context._jvm  # noqa: SLF001
        self._configuration = context._jsc.hadoopConfiguration()  # noqa: SLF001

    def exists(self, path: str) -> bool:
        """Whether there is something at a path."""
        system, place = self._find(path)
        return bool(system.exists(place))

    def names(self, path: str) -> list[str]:
        """What is in a folder, in the order of the names; nothing if there is no such folder."""
        system, place = self._find(path)
        if not system.exists(place):
            return []
        return sorted(status.getPath().getName() for status in system.listStatus(place))

    def has_files(self, path: str) -> bool:
        """Whether there is a folder with files that Spark would read."""
        return any(name[0] not in "._" for name in self.names(path))

    def remove(self, path: str) -> None:
        """Removes a folder and what is in it, if it is there."""
        system, place = self._find(path)
        system.delete(place, True)

    def touch(self, path: str) -> bool:
        """Makes an empty file, and the folders above it; False if that cannot be."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        system, place = self._find(path)
        try:
            system.create(place, True).close()
        except Py4JJavaError:
            return False
        return True

    def rename(self, path: str, to: str) -> None:
        """Renames a folder; nothing may be at the other path. Raises ``OSError``."""
        system, place = self._find(path)
        target = self._path(to)
        system.mkdirs(target.getParent())
        if system.exists(target) or not system.rename(place, target):
            raise OSError(f"{path} cannot be renamed to {to}")

    def _find(self, path: str) -> tuple[Any, Any]:
        place = self._path(path)
        return place.getFileSystem(self._configuration), place

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)
