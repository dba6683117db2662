"""One file for each delivery: whole or not there, and once."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.destinations import DeliveryFailed
from pointsman.destinations.folder import FolderSink, file_name
from tests.broker.destinations.deliveries import deliver, delivery

ids = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300),
    st.text("./%~aA0", min_size=1, max_size=4),
    st.text("aé", min_size=170, max_size=190),
    st.text("ab", min_size=175, max_size=190),
)


def test_a_delivery_is_a_file_named_after_it(tmp_path: Path) -> None:
    """It holds the message and where it was going; the folder is made."""
    folder = tmp_path / "a" / "b"
    assert deliver(FolderSink("there", folder), delivery(b"hello"), delivery(number=2)) == [None, None]
    assert sorted(path.name for path in folder.iterdir()) == ["delivery-1.json", "delivery-2.json"]
    assert json.loads((folder / "delivery-1.json").read_text()) == delivery(b"hello").as_record()


def test_a_delivery_that_comes_again_leaves_its_file_as_it_is(tmp_path: Path) -> None:
    """Whether at once, or after the sink was opened anew."""
    for _ in range(2):
        assert deliver(FolderSink("there", tmp_path), delivery(b"first")) == [None]
        before = (tmp_path / "delivery-1.json").stat()
    assert deliver(FolderSink("there", tmp_path), *[delivery(b"first")] * 8) == [None] * 8
    after = (tmp_path / "delivery-1.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert [path.name for path in tmp_path.iterdir()] == ["delivery-1.json"]


def test_many_at_once_write_one_file(tmp_path: Path) -> None:
    """A race between repetitions of a delivery has one outcome and leaves nothing else."""
    assert deliver(FolderSink("there", tmp_path), *[delivery(b"x" * 100_000)] * 16) == [None] * 16
    assert [path.name for path in tmp_path.iterdir()] == ["delivery-1.json"]
    assert json.loads((tmp_path / "delivery-1.json").read_text())["body"] == "x" * 100_000


def test_what_a_crash_left_is_no_delivery_and_in_nobodys_way(tmp_path: Path) -> None:
    """A temporary file is hidden, and its name is not that of a delivery."""
    (tmp_path / ".00ff.part").write_bytes(b'{"delivery_id":')
    assert deliver(FolderSink("there", tmp_path), delivery()) == [None]
    assert [path.name for path in tmp_path.glob("*.json")] == ["delivery-1.json"]


def test_a_write_that_fails_leaves_nothing_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk is full."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        (failure,) = deliver(FolderSink("there", tmp_path), delivery())
    assert failure is not None
    assert (failure.reason, failure.retry) == ("the file cannot be written: No space left on device", True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_on_disk_before_it_has_its_name_and_the_name_before_the_delivery_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the file was there, since who renamed it may have been killed before the folder was synced."""
    steps: list[str] = []
    sync, rename = os.fsync, Path.rename

    def noted_sync(descriptor: int) -> None:
        steps.append("folder" if os.fstat(descriptor).st_ino == tmp_path.stat().st_ino else "file")
        sync(descriptor)

    def noted_rename(self: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    deliver(FolderSink("there", tmp_path), delivery())
    deliver(FolderSink("there", tmp_path), delivery())
    assert steps == ["file", "rename", "folder", "folder"]


def test_a_folder_that_was_removed_fails_the_delivery_for_now(tmp_path: Path) -> None:
    """It is made when the sink is opened, and not behind the back of whoever removes it."""
    sink = FolderSink("there", tmp_path / "gone")

    async def run() -> None:
        await sink.open()
        (tmp_path / "gone").rmdir()
        await sink.deliver(delivery())

    with pytest.raises(DeliveryFailed, match="No such file or directory") as caught:
        asyncio.run(run())
    assert caught.value.retry
    assert list(tmp_path.iterdir()) == []


@given(ids)
def test_a_name_stays_within_the_folder_whatever_the_id_is(delivery_id: str) -> None:
    """It is one visible name of a length that every file system takes."""
    name = file_name(delivery_id)
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith(".")
    assert name.isascii()
    assert len(name) <= 190
    assert name.endswith(".json")


@given(ids, ids)
def test_two_ids_never_share_a_name(one: str, other: str) -> None:
    """Also where both are too long to be a name."""
    assert (file_name(one) == file_name(other)) == (one == other)


@given(ids)
def test_the_name_of_a_long_id_is_not_the_name_of_a_short_one(delivery_id: str) -> None:
    """What a name is made of is not the id that has this name."""
    name = file_name(delivery_id).removesuffix(".json")
    assert name == delivery_id or file_name(name) != file_name(delivery_id)
