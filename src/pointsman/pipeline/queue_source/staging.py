"""What tasks have written and the driver has not yet taken up: files of Arrow record batches in one folder.

A task writes one file and says so to the driver. Nobody but the driver writes to the queue, so that tasks may run on
other hosts, if the folder is shared with them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 5_000
MOST_BYTES = 4 * 1024 * 1024
SUFFIX = ".arrow"


def stem_of(query: str) -> str:
    """What the names of a query's files begin with."""
    return hashlib.sha256(query.encode()).hexdigest()[:24]


def stage(
    folder: str, query: str, batch: int, batches: Iterable[pa.RecordBatch], check: Callable[[pa.RecordBatch], None]
) -> str | None:
    """Writes record batches to a new file, each after it was checked, and gives its name; None if there was no row.

    The file is on the disk when this returns. If it raises, there is none.
    """
    import pyarrow as pa

    directory = Path(folder)
    name = f"{stem_of(query)}-{batch}-{secrets.token_hex(8)}{SUFFIX}"
    writer: pa.RecordBatchStreamWriter | None = None
    file: pa.NativeFile | None = None
    try:
        for each in batches:
            for part in _parts(each):
                check(part)
                if writer is None:
                    file = _new_file(directory / name)
                    writer = pa.ipc.new_stream(file, part.schema)
                writer.write_batch(part)
        if writer is None or file is None:
            return None
        writer.close()
        file.close()
        _sync(directory / name)
        _sync(directory)
    except BaseException as error:
        (directory / name).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, StoreError):
            problem = f"what is to be put cannot be left there: {error}; see the option 'staging'"
            raise StoreError("queue-elsewhere", problem, file=folder) from error
        raise
    return name


def staged(folder: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The record batches of files, in their order. Raises ``StoreError`` (``queue-elsewhere``) if one is not there."""
    import pyarrow as pa

    for name in names:
        try:
            with pa.OSFile(str(Path(folder, name))) as file, pa.ipc.open_stream(file) as reader:
                yield from reader
        except FileNotFoundError:
            problem = f"the driver does not find {name}, which a task has left there; see the option 'staging'"
            raise StoreError("queue-elsewhere", problem, file=folder) from None


def discard(folder: str, names: Iterable[str]) -> None:
    """Removes files; those that are not there are no mistake. An empty folder goes with the last of them."""
    directory = Path(folder)
    for name in names:
        (directory / name).unlink(missing_ok=True)
    try:
        directory.rmdir()
    except OSError:
        return


def left_behind(folder: str, query: str, batch: int) -> list[str]:
    """The files of a query from this batch and before."""
    found = []
    for path in Path(folder).glob(f"{stem_of(query)}-*{SUFFIX}"):
        number = path.name.split("-")[1]
        if number.isdigit() and int(number) <= batch:
            found.append(path.name)
    return sorted(found)


def forgotten(folder: str, before: float) -> list[str]:
    """The files that were last written before a time, in seconds since 1970."""
    found = []
    for path in Path(folder).glob(f"*{SUFFIX}"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                found.append(path.name)
    return sorted(found)


def _new_file(path: Path) -> pa.NativeFile:
    """A new file, in a folder that another process may remove whenever it is empty."""
    import pyarrow as pa

    while True:
        path.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            return pa.OSFile(str(path), "wb")


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A record batch in parts that are small enough to be put in one transaction."""
    if not batch.num_rows:
        return
    rows = max(1, min(MOST_ROWS, batch.num_rows * MOST_BYTES // max(batch.nbytes, 1)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
