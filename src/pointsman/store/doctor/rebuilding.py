"""A copy of a damaged file that SQLite opens, with all of the write-ahead log that can be read worked into it."""

from __future__ import annotations

import shutil
from pathlib import Path

from pointsman.store.doctor.wal import frames, read_log
from pointsman.store.queue import Queue

HEADER = 100
PAGE_SIZE = 4096
"""Of every queue's file."""


def rebuild(path: Path, directory: Path, *, whole_page: bool = False) -> Path:
    """Makes a copy in the directory, for reading only, and gives its path.

    Its header is that of a new file, and with ``whole_page`` the whole of the first page, which says where each table
    begins: that is the same in all files until they are vacuumed. Frames of the log that are damaged are taken as they
    are, for one wrong bit is better than an old page; the checksums of the messages tell what is right.
    """
    copy, log_path = directory / "rebuilt.db", Path(f"{path}-wal")
    shutil.copyfile(path, copy)
    pages = -(-copy.stat().st_size // PAGE_SIZE)
    log = read_log(log_path, PAGE_SIZE)
    with copy.open("r+b") as file:
        if log is not None and log.last:
            for frame, page in frames(log_path, PAGE_SIZE):
                if frame.number > log.last:
                    break
                if 0 < frame.page <= pages + log.last:
                    file.seek((frame.page - 1) * PAGE_SIZE)
                    file.write(page)
        file.seek(0, 2)
        pages = -(-file.tell() // PAGE_SIZE)
        file.truncate(max(pages, 1) * PAGE_SIZE)
        file.seek(0)
        file.write(_first_page(directory, max(pages, 1))[: PAGE_SIZE if whole_page else HEADER])
    return copy


def _first_page(directory: Path, pages: int) -> bytes:
    """The first page of a new file, which says that there are so many pages and none is unused."""
    new = directory / "new.db"
    with Queue(new):
        pass
    page = bytearray(new.read_bytes()[:PAGE_SIZE])
    # Not in WAL mode: no log is looked for.
    page[18:20] = b"\x01\x01"
    page[28:32] = pages.to_bytes(4, "big")
    page[32:40] = bytes(8)
    page[92:96] = page[24:28]
    return bytes(page)
