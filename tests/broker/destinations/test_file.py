"""Lines at the end of a file: whole, on disk, and never glued to a broken one."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given

from pointsman.destinations import file
from pointsman.destinations.file import FileSink
from pointsman.message import Message
from tests.broker.destinations.deliveries import deliver, delivery
from tests.message.strategies import messages


def read(path: Path) -> list[str]:
    """The delivery ids of the lines that are JSON, as a reader passes over the others."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(json.loads(line)["delivery_id"])
        except ValueError:
            continue
    return found


def test_a_line_holds_the_message_and_where_it_was_going(tmp_path: Path) -> None:
    """In one flat object."""
    path = tmp_path / "out.jsonl"
    assert deliver(FileSink("there", path), delivery(b"\xff", metadata={"a": "b\nc"})) == [None]
    assert path.read_bytes().count(b"\n") == 1
    assert json.loads(path.read_text()) == {
        "delivery_id": "delivery-1",
        "route": "everything",
        "destination": "there",
        "subject": "orders.paid",
        "body_base64": "/w==",
        "metadata": {"a": "b\nc"},
        "id": "message 1",
        "content_type": None,
        "time": None,
        "source": "pointsman",
        "correlation_id": "message 1",
        "causation_id": None,
    }


@given(messages)
def test_every_message_comes_back_from_its_line(message: Message) -> None:
    """Whatever is in it, line ends included."""
    line = file.json_text.compact(delivery()._replace(message=message).as_record())
    assert b"\n" not in line
    record = json.loads(line)
    for name in ("delivery_id", "route", "destination"):
        record.pop(name)
    assert Message.from_dict(record) == message


def test_lines_stand_in_the_order_of_the_calls_and_those_before_are_kept(tmp_path: Path) -> None:
    """Also over several openings, and a repetition is a second line."""
    path = tmp_path / "out.jsonl"
    for numbers in (range(20), range(19, 40)):
        assert set(deliver(FileSink("there", path), *(delivery(number=number) for number in numbers))) == {None}
    assert read(path) == [f"delivery-{number}" for number in (*range(20), *range(19, 40))]


@pytest.mark.parametrize("torn", [b'{"delivery_id":"delivery-0","rou', b"{", b"\n\n{", b"[\n\xff"])
def test_a_line_broken_off_by_a_crash_stays_and_the_next_one_begins_anew(torn: bytes, tmp_path: Path) -> None:
    """What a process that was killed left is neither removed nor added to."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(torn)
    assert deliver(FileSink("there", path), delivery(number=1), delivery(number=2)) == [None, None]
    assert path.read_bytes().startswith(torn + b"\n{")
    assert read(path) == ["delivery-1", "delivery-2"]
    assert path.read_bytes().count(b"\n") == torn.count(b"\n") + 3


def test_a_line_broken_off_while_the_sink_is_open_is_left_behind_too(tmp_path: Path) -> None:
    """Another process may have been killed."""
    path, sink = tmp_path / "out.jsonl", FileSink("there", tmp_path / "out.jsonl")

    async def run() -> None:
        await sink.open()
        await sink.deliver(delivery(number=1))
        with path.open("ab") as other:
            other.write(b'{"delivery_id":')
        await sink.deliver(delivery(number=2))
        await sink.close()

    asyncio.run(run())
    assert read(path) == ["delivery-1", "delivery-2"]


def test_a_file_that_is_renamed_away_is_made_anew(tmp_path: Path) -> None:
    """As whoever rotates logs does, at any time."""
    path, sink = tmp_path / "in" / "out.jsonl", FileSink("there", tmp_path / "in" / "out.jsonl")

    async def run() -> None:
        await sink.open()
        await sink.deliver(delivery(number=1))
        path.parent.rename(tmp_path / "old")
        await sink.deliver(delivery(number=2))
        await sink.close()

    asyncio.run(run())
    assert read(tmp_path / "old" / "out.jsonl") == ["delivery-1"]
    assert read(path) == ["delivery-2"]


def test_several_writers_of_one_file_do_not_mix_their_lines(tmp_path: Path) -> None:
    """Each opens the file by itself, as processes do."""
    path = tmp_path / "out.jsonl"
    sinks = [FileSink("there", path) for _ in range(4)]

    async def run() -> None:
        large = b"x" * 100_000
        await asyncio.gather(*(sink.open() for sink in sinks))
        await asyncio.gather(*(sinks[number % 4].deliver(delivery(large, number=number)) for number in range(40)))

    asyncio.run(run())
    assert sorted(read(path)) == sorted(f"delivery-{number}" for number in range(40))
    assert len(path.read_bytes().splitlines()) == 40


def test_a_line_is_on_disk_when_the_delivery_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced after its last byte, and the folder because the file is new."""
    synced: list[tuple[int, int]] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        status = os.fstat(descriptor)
        synced.append((status.st_ino, status.st_size))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    path = tmp_path / "out.jsonl"
    deliver(FileSink("there", path), delivery())
    assert tmp_path.stat().st_ino in [number for number, _ in synced]
    assert synced[-1] == (path.stat().st_ino, path.stat().st_size)


def test_a_lock_that_nobody_lets_go_of_fails_the_delivery_for_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds it may be stopped; the loop is not."""
    monkeypatch.setattr(file, "LOCK_ATTEMPTS", 2)
    path = tmp_path / "out.jsonl"
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        (failure,) = deliver(FileSink("there", path), delivery())
        assert failure is not None
        assert failure.retry
    assert path.read_bytes() == b""
    assert deliver(FileSink("there", path), delivery()) == [None]


def test_a_full_disk_fails_the_delivery_for_now() -> None:
    """The reason is the system's."""
    (failure,) = deliver(FileSink("there", Path("/dev/full")), delivery())
    assert failure is not None
    assert (failure.reason, failure.retry) == ("the file cannot be written: No space left on device", True)


def test_a_line_that_only_half_fits_is_written_again_in_a_line_of_its_own(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that fills up in the middle of a line."""
    path = tmp_path / "out.jsonl"
    deliver(FileSink("there", path), delivery(number=1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, before[1]))
    try:
        (failure,) = deliver(FileSink("there", path), delivery(number=2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failure is not None
    assert failure.retry
    assert not path.read_bytes().endswith(b"\n")
    assert deliver(FileSink("there", path), delivery(number=2)) == [None]
    assert read(path) == ["delivery-1", "delivery-2"]
