"""A file that is not what it was: the project's error, never a wrong message, and never a file made worse."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.commit_mark import MarkFile, mark_path
from pointsman.store.queue import Queue
from tests.store.doctor.files import before_the_end

DAMAGE = {"store-damaged", "store-lost-tail", "store-foreign", "store-failed"}
MESSAGES = 300
PAGE = 4096


def data_of(number: int) -> bytes:
    """The data of a message; each is its own."""
    return f"{number}:".encode() + bytes([number % 256]) * 200


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A queue with messages, all of them in the file itself."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.subscribe("everything", "#")
        queue.put_many((data_of(number), f"orders.{number % 7}") for number in range(MESSAGES))
    assert not (tmp_path / "queue.db-wal").exists()
    return tmp_path / "queue.db"


def take_all(path: Path, durability: str = "normal") -> tuple[set[bytes], str | None]:
    """What can be popped, and the code of the error that ended it, if any."""
    found: set[bytes] = set()
    try:
        with Queue(path, durability=durability) as queue:
            while message := queue.pop():
                found.add(message.body)
                queue.ack(message)
    except StoreError as error:
        return found, error.code
    return found, None


@pytest.mark.parametrize("keep", [0, 1, 50, 100, 511, 512, 1000, 4095, 4096, 8192, 40_000])
def test_a_file_that_was_cut_off_is_refused_or_gives_what_is_whole(path: Path, keep: int) -> None:
    """An empty one is no new queue either: the mark beside it knows better."""
    with path.open("r+b") as file:
        file.truncate(keep)
    found, code = take_all(path)
    assert code in DAMAGE
    assert found <= {data_of(number) for number in range(MESSAGES)}


@pytest.mark.parametrize(
    "contents", [b"this is text\n" * 500, b"\0" * 10_000, b"SQLite format 3\0" + b"\xff" * 5000], ids=repr
)
def test_a_file_that_is_something_else_is_refused_and_left_as_it_is(tmp_path: Path, contents: bytes) -> None:
    """Nothing is written over what somebody may still want."""
    path = tmp_path / "queue.db"
    path.write_bytes(contents)
    found, code = take_all(path)
    assert (found, code) == (set(), "store-damaged")
    assert path.read_bytes() == contents


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bits_never_give_a_wrong_message(path: Path, seed: int) -> None:
    """Each message that comes is one that was put, whatever bits are wrong; the others are dead letters or an error."""
    source, size = random.Random(seed), path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(source.choice((1, 1, 8))):
            place = source.randrange(size)
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << source.randrange(8)]))
    found, code = take_all(path)
    assert found <= {data_of(number) for number in range(MESSAGES)}
    assert code is None or code in DAMAGE
    if code is None:
        with Queue(path) as queue:
            dead = {letter.sequence for letter in queue.dead_letters("")}
            assert len(found) + len(dead) <= MESSAGES


def test_a_message_whose_bytes_changed_is_a_dead_letter_and_the_others_come(path: Path) -> None:
    """One bad message does not stop the queue."""
    whole = path.read_bytes()
    place = whole.index(data_of(123)) + 50
    path.write_bytes(whole[:place] + b"?" + whole[place + 1 :])
    found, code = take_all(path)
    assert code is None
    assert found == {data_of(number) for number in range(MESSAGES) if number != 123}
    with Queue(path) as queue:
        (letter,) = queue.dead_letters("")
        assert letter.sequence == 124
        assert "checksum" in letter.reason


@pytest.mark.parametrize("operation", [Queue.pop, Queue.size, lambda queue: queue.put("more")])
def test_a_refused_file_is_not_made_worse(path: Path, operation: Callable[[Queue], object]) -> None:
    """What SQLite finds damaged is left as it is, for the doctor."""
    whole = path.read_bytes()
    damaged = whole[:PAGE] + b"\xff" * (len(whole) - PAGE)
    path.write_bytes(damaged)
    with pytest.raises(StoreError) as caught, Queue(path) as queue:
        operation(queue)
    assert caught.value.code == "store-damaged"
    assert path.read_bytes() == damaged


def test_a_log_that_lost_its_end_is_noticed_when_the_queue_is_opened(tmp_path: Path) -> None:
    """SQLite drops without a word what comes after a flipped bit; the mark says how much there was."""
    path = tmp_path / "queue.db"
    queue = Queue(path)
    for number in range(20):
        queue.put(data_of(number))
    log = (tmp_path / "queue.db-wal").read_bytes()
    contents, mark = path.read_bytes(), mark_path(path).read_bytes()
    queue.close()
    path.write_bytes(contents)
    mark_path(path).write_bytes(mark)
    written = tmp_path / "queue.db-wal"
    written.write_bytes(log)
    written.write_bytes(log[: before_the_end(written, 10)])
    with pytest.raises(StoreError) as caught:
        Queue(path)
    assert caught.value.code == "store-lost-tail"


def test_a_torn_mark_says_nothing(path: Path) -> None:
    """A mark that cannot be read is no reason to refuse the file."""
    mark_path(path).write_bytes(b"torn")
    assert take_all(path) == ({data_of(number) for number in range(MESSAGES)}, None)


def test_a_mark_ahead_of_the_file_refuses_it(path: Path) -> None:
    """As for a file that was put back from a copy."""
    mark = MarkFile(path)
    mark.write(10_000, 10_000)
    mark.close()
    assert take_all(path, "full") == (set(), "store-lost-tail")
