"""Folders of any file system that Spark can reach: looked at, renamed and removed.

A classic session has Hadoop's file systems; on Spark Connect, which has none, those of pyarrow are used, with the paths
as this process sees them. What the driver keeps for itself is in files of its own machine (``write_whole``).
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Protocol

from pointsman.destinations.file import make_folder, sync_folder
from pointsman.pipeline.spark.kind import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRAFT = ".draft"
"""Ends the names of files that are being written; a crash may leave one."""
PRIVATE = 0o600


def files_of(spark: SparkSession) -> Files:
    """The file systems of a session."""
    return ArrowFiles() if is_connect(spark) else HadoopFiles(spark)


class Files(Protocol):
    """The file systems as the driver of a session sees them."""

    def exists(self, path: str) -> bool:
        """Whether there is something at a path."""

    def names(self, path: str) -> list[str]:
        """What is in a folder, in the order of the names; nothing if there is no such folder."""

    def remove(self, path: str) -> None:
        """Removes a folder and what is in it, if it is there."""

    def touch(self, path: str) -> bool:
        """Makes an empty file, and the folders above it; False if that cannot be."""

    def rename(self, path: str, to: str) -> None:
        """Renames a folder; nothing may be at the other path. Raises ``OSError``."""

    def has_files(self, path: str) -> bool:
        """Whether there is a folder with files that Spark would read."""
        return any(name[0] not in "._" for name in self.names(path))


class HadoopFiles(Files):
    """Those of a classic session."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        # Spark shows the file systems of Hadoop in no other way.
        self._jvm = context._jvm  # noqa: SLF001
        self._configuration = context._jsc.hadoopConfiguration()  # noqa: SLF001

    def exists(self, path: str) -> bool:  # noqa: D102 - as above, and so below
        system, place = self._find(path)
        return bool(system.exists(place))

    def names(self, path: str) -> list[str]:  # noqa: D102
        system, place = self._find(path)
        return sorted(each.getPath().getName() for each in system.listStatus(place)) if system.exists(place) else []

    def remove(self, path: str) -> None:  # noqa: D102
        system, place = self._find(path)
        system.delete(place, True)

    def touch(self, path: str) -> bool:  # noqa: D102
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        system, place = self._find(path)
        try:
            system.create(place, True).close()
        except Py4JJavaError:
            return False
        return True

    def rename(self, path: str, to: str) -> None:  # noqa: D102
        (system, place), (_, target) = self._find(path), self._find(to)
        system.mkdirs(target.getParent())
        if system.exists(target) or not system.rename(place, target):
            raise OSError(f"{path} cannot be renamed to {to}")

    def _find(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._configuration), place


class ArrowFiles(Files):
    """Those of pyarrow: this machine's, ``s3``, ``gs``, ``abfs`` and ``hdfs``."""

    def exists(self, path: str) -> bool:  # noqa: D102
        system, place = _arrow(path)
        return bool(system.get_file_info(place).type)

    def names(self, path: str) -> list[str]:  # noqa: D102
        from pyarrow.fs import FileSelector, FileType

        system, place = _arrow(path)
        own = system.get_file_info(place)
        if own.type != FileType.Directory:
            return [own.base_name] if own.type else []
        return sorted(found.base_name for found in system.get_file_info(FileSelector(place)))

    def remove(self, path: str) -> None:  # noqa: D102
        system, place = _arrow(path)
        if self.exists(path):
            system.delete_dir(place)

    def touch(self, path: str) -> bool:  # noqa: D102
        system, place = _arrow(path)
        try:
            system.create_dir(place.rpartition("/")[0])
            system.open_output_stream(place).close()
        except OSError:
            return False
        return True

    def rename(self, path: str, to: str) -> None:  # noqa: D102
        (system, place), (_, target) = _arrow(path), _arrow(to)
        if self.exists(to):
            raise OSError(f"{path} cannot be renamed to {to}")
        system.create_dir(target.rpartition("/")[0])
        system.move(place, target)


def _arrow(path: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" not in path and not path.startswith("file:"):
        return LocalFileSystem(), path
    # Hadoop names its file system for S3 ``s3a``.
    found, place = FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return found, place


def write_whole(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    """Writes a file in the place of what is there, on disk when this returns; its folder is made.

    It is written under a new name that nobody can foresee, and renamed: a link at the path is replaced, not followed.
    Raises ``OSError``; then what was there before is still there.
    """
    make_folder(path.parent)
    with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.stem}.", suffix=DRAFT, delete=False) as draft:
        try:
            os.fchmod(draft.fileno(), mode)
            draft.write(data)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).replace(path)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise
    sync_folder(path.parent)
