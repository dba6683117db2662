"""Paths at which there can be no queue: refused with the project's error, and nothing is left there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.store.failures.processes import ended_well, fork

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can get at."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        yield path
        path.chmod(0o777)


def assert_not_opened(path: Path) -> None:
    """Asserts that opening it is refused, and changes nothing in its folder; as a user who is held to permissions."""

    def work() -> None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        with pytest.raises(StoreError) as caught:
            Queue(path)
        assert caught.value.code == "store-not-opened"
        assert str(path) in str(caught.value)

    before = contents(path.parent)
    assert ended_well(fork(work))
    assert contents(path.parent) == before


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.glob("*") if path.is_file()}


def make(path: Path) -> None:
    """Makes a queue with a message."""
    with Queue(path) as queue:
        queue.put("one")


def test_a_pipe_is_no_queue(tmp_path: Path) -> None:
    """Nor is any other special file; nothing is made beside it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="store-not-opened"):
        Queue(tmp_path / "pipe")
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """By the project's error, as any other that cannot be."""
    with pytest.raises(StoreError, match=r"store-not-opened.*too long"):
        Queue(tmp_path / ("x" * 300))


def test_a_file_in_a_folder_that_may_not_be_entered_is_refused(folder: Path) -> None:
    """It cannot even be seen whether it is there."""
    (folder / "closed").mkdir(mode=0o700)

    def work() -> None:
        os.setuid(NOBODY)
        with pytest.raises(StoreError, match="store-not-opened"):
            Queue(folder / "closed" / "queue.db")

    if os.getuid() == 0:
        assert ended_well(fork(work))


def test_a_queue_in_memory_looks_at_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one has the name that its mark would have."""
    make(tmp_path / "queue.db")
    (tmp_path / "queue.db-mark").rename(tmp_path / ":memory:-mark")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queue.db").unlink()
    with Queue(":memory:") as queue:
        queue.put("one")
    assert [each.name for each in tmp_path.iterdir()] == [":memory:-mark"]


def test_a_folder_is_no_queue(folder: Path) -> None:
    """The path of a folder is refused."""
    (folder / "inner").mkdir()
    assert_not_opened(folder / "inner")


def test_a_folder_that_does_not_exist_is_not_made(folder: Path) -> None:
    """A path in it is refused."""
    assert_not_opened(folder / "missing" / "queue.db")
    assert not (folder / "missing").exists()


def test_a_new_file_in_a_folder_that_may_not_be_written_is_refused(folder: Path) -> None:
    """Nothing can be made there."""
    folder.chmod(0o555)
    assert_not_opened(folder / "queue.db")


def test_a_file_in_a_folder_that_may_not_be_written_is_refused(folder: Path) -> None:
    """SQLite needs files beside it."""
    make(folder / "queue.db")
    (folder / "queue.db").chmod(0o666)
    folder.chmod(0o555)
    assert_not_opened(folder / "queue.db")


def test_a_file_that_may_only_be_read_is_refused(folder: Path) -> None:
    """Though its folder could be written to."""
    make(folder / "queue.db")
    (folder / "queue.db").chmod(0o444)
    assert_not_opened(folder / "queue.db")


def test_a_mark_that_may_not_be_written_is_refused(folder: Path) -> None:
    """A queue without its mark could lose its end without notice."""
    make(folder / "queue.db")
    (folder / "queue.db").chmod(0o666)
    (folder / "queue.db-mark").chmod(0o444)
    assert_not_opened(folder / "queue.db")
