"""SQLite's write-ahead log, read as its format is documented, to see what SQLite itself does not tell.

A log is a header and frames, each a page with a checksum over all that came before. SQLite reads up to the first frame
whose checksum is wrong, and ignores the rest without a word. As each frame holds the checksum as it was when it was
written, the frames behind a broken one can still be checked, one by one, from what the frame before them holds.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy

HEADER = struct.Struct(">8I")
FRAME_HEADER = 24
LITTLE, BIG = 0x377F0682, 0x377F0683
"""The first word of a log, which says in which order of bytes its checksums are computed."""
CHUNK = 1024
"""Frames that are held in memory at a time."""
MASK = 0xFFFFFFFF


class Frame(NamedTuple):
    """A frame of the log."""

    number: int
    """From 1, as SQLite counts."""
    page: int
    pages: int
    """How many pages the database has after this transaction; 0 if the frame does not end one."""
    ours: bool
    """Whether it was written since the log was last begun anew."""
    intact: bool
    """Whether its checksum follows from that of the frame before it."""


class Log(NamedTuple):
    """What is in a log."""

    page_size: int
    header_intact: bool
    frames: int
    """Frames since the log was last begun anew."""
    read: int
    """Frames that SQLite reads: all before the first that is broken."""
    commits: int
    """Transactions that SQLite reads."""
    broken: int | None
    """The number of the first frame that is broken, if transactions were committed from there on."""
    damaged: int
    """Frames that are themselves broken, among those."""
    ignored: int
    """Frames from the broken one on, up to the end of the last transaction."""
    ignored_commits: int
    """Transactions from the broken frame on, which SQLite ignores."""
    last: int
    """The number of the frame that ends the last of all transactions."""


def read_log(path: Path, page_size: int) -> Log | None:
    """What is in the log; None if there is nothing in it. ``page_size`` is used if the header is broken.

    When somebody begins the log anew while it is read, it is read again.
    """
    log = None
    for _ in range(3):
        before = _header(path)
        if len(before) < HEADER.size:
            return None
        log = _summary(path, before, page_size)
        if _header(path) == before:
            break
    return log


def frames(path: Path, page_size: int) -> Iterator[tuple[Frame, bytes]]:
    """Each frame with its page; those before the log was last begun anew included."""
    header = _header(path)
    if len(header) < HEADER.size:
        return
    size, order, salts, checksum = _settings(path, header, page_size)
    weights, power = _weights(size // 8 + 1)
    number = 0
    with path.open("rb") as file:
        file.seek(HEADER.size)
        while chunk := file.read(CHUNK * (FRAME_HEADER + size)):
            count = len(chunk) // (FRAME_HEADER + size)
            if not count:
                return
            fields, intact = _check(chunk, count, size, order, checksum, weights, power)
            for index in range(count):
                number += 1
                page, pages, *salt = (int(each) for each in fields[index, :4])
                start = index * (FRAME_HEADER + size) + FRAME_HEADER
                ours = tuple(salt) == salts
                yield Frame(number, page, pages, ours, bool(intact[index])), chunk[start : start + size]
            checksum = (int(fields[-1, 4]), int(fields[-1, 5]))


def _summary(path: Path, header: bytes, page_size: int) -> Log:
    header_intact = header_is_intact(header)
    total = read = commits = ignored_commits = damaged = damaged_so_far = last = 0
    unread: Frame | None = None
    for frame, _ in frames(path, page_size):
        if unread is None and header_intact and frame.ours and frame.intact and frame.page:
            read, total = frame.number, frame.number
            commits += frame.pages > 0
            last = frame.number if frame.pages else last
            continue
        unread = unread or frame
        # A salt that was hit makes a frame look foreign, and only what follows shows that it is not.
        if not frame.ours and frame.number != unread.number:
            continue
        total = frame.number if frame.ours else total
        damaged_so_far += not (frame.intact and frame.ours)
        if frame.pages and frame.ours:
            ignored_commits += 1
            damaged, last = damaged_so_far, frame.number
    broken = unread.number if unread is not None and ignored_commits else None
    if broken is not None and unread is not None and unread.pages and not unread.ours:
        ignored_commits += 1
    size = _settings(path, header, page_size)[0]
    ignored = last - broken + 1 if broken is not None else 0
    return Log(size, header_intact, total, read, commits, broken, damaged, ignored, ignored_commits, last)


def _header(path: Path) -> bytes:
    # A pipe, which would be waited for, is no log.
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(HEADER.size)


def header_is_intact(header: bytes) -> bool:
    """Whether SQLite reads a log with this header at all."""
    magic, version, size, _, _, _, *stored = HEADER.unpack(header)
    if magic not in (LITTLE, BIG) or version != 3007000 or size not in {1 << bits for bits in range(9, 17)}:
        return False
    first = second = 0
    words = struct.unpack("<6I" if magic == LITTLE else ">6I", header[:24])
    for index in range(0, 6, 2):
        first = (first + words[index] + second) & MASK
        second = (second + words[index + 1] + first) & MASK
    return stored == [first, second]


def _settings(path: Path, header: bytes, page_size: int) -> tuple[int, str, tuple[int, int], tuple[int, int]]:
    """The size of pages, the order of bytes, the salts and the checksum that the first frame follows from."""
    magic, _, size, _, salt, other_salt, first, second = HEADER.unpack(header)
    order = {LITTLE: "<", BIG: ">"}.get(magic, "<" if sys.byteorder == "little" else ">")
    if header_is_intact(header):
        return size, order, (salt, other_salt), (first, second)
    with path.open("rb") as file:
        file.seek(HEADER.size)
        frame = file.read(FRAME_HEADER)
    if len(frame) == FRAME_HEADER:
        salt, other_salt = struct.unpack(">8x2I8x", frame)
    return page_size, order, (salt, other_salt), (first, second)


def _check(
    chunk: bytes, count: int, size: int, order: str, before: tuple[int, int], weights: Any, power: list[list[int]]
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The words of the headers of some frames, and whether each follows from what the one before it holds."""
    import numpy

    whole = numpy.frombuffer(chunk, dtype=numpy.uint8, count=count * (FRAME_HEADER + size))
    table = whole.reshape(count, FRAME_HEADER + size)
    fields = numpy.ascontiguousarray(table[:, :FRAME_HEADER]).view(">u4").astype(numpy.uint32)
    summed = numpy.concatenate([table[:, :8], table[:, FRAME_HEADER:]], axis=1)
    words = summed.view(f"{order}u4").astype(numpy.uint32)
    previous = numpy.vstack([numpy.array([before], dtype=numpy.uint32), fields[:-1, 4:6]])
    expected = words @ weights + previous @ numpy.array(power, dtype=numpy.uint32).T
    return fields, (expected == fields[:, 4:6]).all(axis=1)


def _weights(pairs: int) -> tuple[Any, list[list[int]]]:
    """How much each word of a frame adds to its checksum, and what becomes of the checksum before it.

    For each pair of words a and b, the two sums x and y become x + y + a and x + 2y + a + b, modulo 2 to the 32nd: so
    that a checksum is a sum of products, which can be computed for many frames at a time.
    """
    import numpy

    power = [[1, 0], [0, 1]]
    rows: list[tuple[int, int]] = []
    for _ in range(pairs):
        (a, b), (c, d) = power
        rows.append((b, d))
        rows.append(((a + b) & MASK, (c + d) & MASK))
        power = [[(a + b) & MASK, (a + 2 * b) & MASK], [(c + d) & MASK, (c + 2 * d) & MASK]]
    return numpy.array(rows[::-1], dtype=numpy.uint32), power
