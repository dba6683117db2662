"""Arrays in one file that worker processes map into memory and share.

    magic, version, length of the header ─ header (JSON: kind, meta, where each array lies, checksum) ─ arrays

Nothing in the file is executed or unpickled. The checksum covers the header's own text and all arrays.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pointsman.errors import InputError

MAGIC = b"POINTSMAN-INDEX\n"
VERSION = 2
PREFIX = struct.Struct("<16sIIQ")
ALIGNMENT = 64

Arrays = dict[str, npt.NDArray[Any]]


def save_arrays(path: str | Path, kind: str, meta: dict[str, Any], arrays: Arrays) -> None:
    """Writes a file whole or not at all: it is put in its place when it is complete and on disk."""
    path = Path(path)
    places = {}
    offset = 0
    for name, array in arrays.items():
        places[name] = {"dtype": array.dtype.str, "shape": array.shape, "offset": offset}
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    header = json.dumps({"kind": kind, "meta": meta, "arrays": places, "size": offset}).encode()
    header += b" " * (-(PREFIX.size + len(header)) % ALIGNMENT)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            checksum = zlib.crc32(header)
            file.write(PREFIX.pack(MAGIC, VERSION, 0, len(header)))
            file.write(header)
            for array in arrays.values():
                data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                padding = bytes(-array.nbytes % ALIGNMENT)
                checksum = zlib.crc32(padding, zlib.crc32(data, checksum))
                file.write(data)
                file.write(padding)
            file.seek(0)
            file.write(PREFIX.pack(MAGIC, VERSION, checksum, len(header)))
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(file.name).unlink()
            raise


def open_arrays(path: str | Path, kind: str, *, verify: bool = True) -> tuple[dict[str, Any], Arrays]:
    """The meta data and the arrays of a file, mapped into memory and read-only.

    ``verify=False`` leaves out the checksum, which reads the whole file once. Raises ``InputError``: ``no-file`` when
    it cannot be read, ``bad-index`` when it is foreign, of another version or kind, truncated or damaged.
    """
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        code = "bad-index" if isinstance(error, ValueError) else "no-file"
        raise InputError(code, f"cannot read it: {error}", file=name) from None
    header, start = _header(mapped, name, verify=verify)
    if header["kind"] != kind:
        raise InputError("bad-index", f"it holds a {header['kind']} index, not a {kind} index", file=name)
    if len(mapped) != start + header["size"]:
        raise InputError("bad-index", f"it has {len(mapped)} bytes instead of {start + header['size']}", file=name)
    arrays: Arrays = {}
    for array_name, place in header["arrays"].items():
        count = int(np.prod(place["shape"], dtype=np.int64))
        array = np.frombuffer(mapped, np.dtype(place["dtype"]), count, start + place["offset"])
        arrays[array_name] = array.reshape(place["shape"])
    return header["meta"], arrays


def _header(mapped: mmap.mmap, name: str, *, verify: bool) -> tuple[dict[str, Any], int]:
    """The header, checked, and where the arrays begin."""
    if len(mapped) < PREFIX.size or mapped[: len(MAGIC)] != MAGIC:
        raise InputError("bad-index", "it is not an index of Pointsman", file=name)
    _, version, checksum, length = PREFIX.unpack_from(mapped)
    if version != VERSION:
        raise InputError("bad-index", f"it is of version {version}; this Pointsman reads version {VERSION}", file=name)
    if verify and zlib.crc32(memoryview(mapped)[PREFIX.size :]) != checksum:
        raise InputError("bad-index", "its checksum does not fit: the file is damaged or truncated", file=name)
    try:
        header = json.loads(mapped[PREFIX.size : PREFIX.size + length])
        return dict(header), PREFIX.size + length
    except (ValueError, TypeError):
        raise InputError("bad-index", "its header is damaged", file=name) from None
