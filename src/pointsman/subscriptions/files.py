"""Files of wildcard subscriptions, JSON Lines and Parquet: imported into a registry, and exported from one."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeVar, get_args

from pointsman._util.extras import is_installed, require
from pointsman.errors import InputError, PointsmanError
from pointsman.subscriptions.exporting import Columns, exported
from pointsman.subscriptions.importing import Imported, Progress
from pointsman.subscriptions.json_lines import Entry, read_lines, write_lines
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry

if TYPE_CHECKING:
    from pointsman.subscriptions.bulk.preparing import Prepared

Form = Literal["jsonl", "parquet"]
STANDARD = Path("-")
"""The standard input, and the standard output."""
LARGE = 1 << 20
"""Bytes of a file that is read by compiled code."""
Stored = TypeVar("Stored")


def import_file(
    registry: Registry,
    path: Path,
    *,
    form: Form | None = None,
    replace: bool = False,
    batch: int | None = None,
    skip: int = 0,
    progress: Progress | None = None,
) -> Imported:
    """Stores the subscriptions of a file: all of them in one transaction, or nothing if one cannot be.

    The format goes by the name of the file (``.parquet``, else JSON Lines) unless given; ``-`` is the standard input.
    With ``replace``, those whose ids are there already are changed. With ``batch``, up to that many share a
    transaction: others may write between them, and what was stored before an error stays; the error says how many lines
    or rows that were, to go on with ``skip``. Raises ``InputError`` with the file and the line or row, and
    ``StoreError`` (``subscription-exists``).
    """
    running = registry.importing(replace=replace, progress=progress)
    chosen, most = _chosen(path, form), None if batch is None else _checked(batch)
    if not replace and _is_large(path):
        with _pieces(registry, path, chosen, skip, most) as pieces:
            if most is None:
                running.store_pieces(pieces)
            else:
                _store_each(((each.piece.last, [each]) for each in pieces), running.store_pieces, skip)
    else:
        with _entries(registry, path, chosen, skip) as entries:
            if most is None:
                running.store(entry.subscription for entry in entries)
            else:
                _store_each(_batches(entries, most), running.store, skip)
    return running.stored


def _store_each(batches: Iterable[tuple[int, Stored]], store: Callable[[Stored], None], skip: int) -> None:
    """Stores batches, each with the number of its last line or row, one after the other."""
    done = skip
    try:
        for last, batch in batches:
            store(batch)
            done = last
    except PointsmanError as error:
        error.problem += f" (up to line or row {done:,} all is stored: correct it, and go on with skip {done})"
        raise


def _batches(entries: Iterator[Entry], most: int) -> Iterator[tuple[int, list[WildcardSubscription]]]:
    while batch := list(islice(entries, most)):
        yield batch[-1].place, [entry.subscription for entry in batch]


def export_file(
    registry: Registry,
    path: Path,
    *,
    form: Form | None = None,
    owner: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Writes all subscriptions, or those of an owner, to a file, and gives their number.

    The file appears when it is whole, in place of one of the same name. What is changed meanwhile may be in it as it
    was before or as it is after. Raises ``InputError`` (``no-file``).
    """
    count = 0

    def pages() -> Iterator[Columns]:
        nonlocal count
        for page in exported(registry, owner):
            yield page
            count += len(page.id)
            if progress is not None:
                progress(len(page.id))

    chosen = _chosen(path, form)
    if path == STANDARD:
        if chosen == "parquet":
            raise InputError("bad-usage", "Parquet cannot be written to the standard output; name a file")
        write_lines(sys.stdout.buffer, pages())
        sys.stdout.buffer.flush()
        return count
    with _new_file(path) as beside:
        if chosen == "parquet":
            from pointsman.subscriptions.parquet import write_rows

            write_rows(str(beside), pages())
        else:
            with beside.open("wb") as file:
                write_lines(file, pages())
    return count


def count_entries(path: Path, form: Form | None = None) -> int | None:
    """About how many lines or rows a file has; None if that is not known before they are read."""
    if path == STANDARD:
        return None
    if _chosen(path, form) == "parquet":
        from pointsman.subscriptions.parquet import open_parquet

        with open_parquet(str(path)) as file:
            return int(file.metadata.num_rows)
    with _opened(path) as lines:
        return sum(piece.count(b"\n") for piece in iter(lambda: lines.read(1 << 20), b""))


def _chosen(path: Path, form: Form | None) -> Form:
    chosen: Form = form or ("parquet" if path.suffix == ".parquet" else "jsonl")
    if chosen not in get_args(Form):
        raise InputError("bad-usage", f"there is no format {form!r}; there are {', '.join(get_args(Form))}")
    if chosen == "parquet":
        require("pyarrow")
    return chosen


def _is_large(path: Path) -> bool:
    """Whether it pays to load the compiled code, if that can be used."""
    try:
        return path != STANDARD and path.stat().st_size >= LARGE and is_installed("numba") and is_installed("pyarrow")
    except OSError:
        return False


@contextmanager
def _pieces(registry: Registry, path: Path, form: Form, skip: int, most: int | None) -> Iterator[Iterator[Prepared]]:
    """The pieces of a large file; the next is read and prepared while one is stored."""
    from pointsman.subscriptions.bulk.ahead import ahead
    from pointsman.subscriptions.bulk.preparing import Preparing

    # Batches are transactions of their own, between which others may remove matchers.
    prepare, limits = Preparing(registry.limits, remember=most is None).prepare, registry.limits
    if form == "parquet":
        from pointsman.subscriptions.bulk.row_pieces import row_pieces
        from pointsman.subscriptions.parquet import open_parquet

        with (
            open_parquet(str(path)) as file,
            ahead(map(prepare, row_pieces(file, str(path), limits, skip, most))) as it,
        ):
            yield it
    else:
        from pointsman.subscriptions.bulk.line_pieces import line_pieces

        with _opened(path) as lines, ahead(map(prepare, line_pieces(lines, str(path), limits, skip, most))) as it:
            yield it


@contextmanager
def _entries(registry: Registry, path: Path, form: Form, skip: int) -> Iterator[Iterator[Entry]]:
    limits = registry.limits
    if form == "parquet":
        from pointsman.subscriptions.parquet import open_parquet, read_batches, read_rows

        if path == STANDARD:
            raise InputError("bad-usage", "Parquet cannot be read from the standard input; name a file")
        file = open_parquet(str(path))

        def rows() -> Iterator[Entry]:
            before = 0
            for batch in read_batches(file, str(path)):
                yield from read_rows(batch, str(path), before, limits, skip)
                before += len(batch)

        with file:
            yield rows()
    else:
        with _opened(path) as lines:
            yield read_lines(lines, str(path), limits, skip)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError("no-file", f"it cannot be read: {error.strerror}", file=str(path)) from None
    with file:
        yield file


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file beside the one that is wanted, which takes its place when all went well.

    Nobody can foresee its name, so that no link lies in wait there.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        if isinstance(error, PointsmanError):
            raise
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None
    finally:
        beside.unlink(missing_ok=True)


def _checked(batch: int) -> int:
    if batch < 1:
        raise InputError("bad-usage", f"a batch has at least one subscription, not {batch}")
    return batch
