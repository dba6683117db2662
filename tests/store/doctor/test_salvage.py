"""From a file that SQLite cannot read, all that can be read is saved."""

from __future__ import annotations

import random
import stat
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.doctor.reading import PAGE, Unreadable, each_row
from pointsman.store.doctor.repairing import repair
from pointsman.store.queue import Queue
from tests.store.doctor.files import before_the_end, flip, killed, queue_file

SIZE = 4096


def large(path: Path, count: int = 400) -> Path:
    """A queue of messages that take many pages."""
    bodies = random.Random(3)
    with Queue(path) as queue:
        queue.put_many([(bodies.randbytes(300), f"orders.{number % 7}") for number in range(count)])
    return path


def contents(path: Path | str) -> dict[int, bytes]:
    """The whole messages of a queue by their numbers."""
    with Queue(path) as queue:
        return {message.sequence: message.body for message in queue.messages() if message.is_whole}


def overwrite(path: Path, start: int, data: bytes) -> None:
    """Writes bytes over those of a file."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


@pytest.mark.parametrize("length", [16, 100, SIZE], ids=["the magic", "the header", "the first page"])
def test_a_file_without_its_beginning_is_saved_whole(tmp_path: Path, length: int) -> None:
    """SQLite says that it is no database; where the tables begin is the same in every queue's file."""
    path = large(tmp_path / "queue.db")
    before = contents(path)
    overwrite(path, 0, bytes(length))
    found = diagnose(path)
    assert not found.healthy
    damaged = path.read_bytes()
    (action, *_) = repair(path)
    assert (action.count, action.file, action.is_salvage) == (400, f"{path}-salvaged", True)
    assert path.read_bytes() == damaged
    assert contents(f"{path}-salvaged") == before
    assert diagnose(f"{path}-salvaged").healthy


def test_a_truncated_file_is_saved_up_to_where_it_ends(tmp_path: Path) -> None:
    """What was lost is named by its numbers, and what was saved is delivered."""
    path = large(tmp_path / "queue.db")
    before = contents(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert diagnose(path).has("not-readable")
    actions = repair(path)
    saved = contents(f"{path}-salvaged")
    assert 0 < len(saved) < 400
    assert saved.items() <= before.items()
    lost = sum(action.count for action in actions if action.code == "unreadable-message")
    with Queue(f"{path}-salvaged") as queue:
        assert len(queue.messages()) == 400 - lost
        assert queue.size().dead == 400 - lost - len(saved), "those on the page that was cut in two"
        assert len(queue.pop_many(1000)) == len(saved)
        assert int(queue.put(b"new", "orders.1").rpartition("-")[2]) == 401


def test_a_page_that_is_gone_costs_the_messages_on_it_and_no_other(tmp_path: Path) -> None:
    """The numbers of those are found by halving what cannot be read."""
    path = large(tmp_path / "queue.db")
    before = contents(path)
    body = path.read_bytes().index(before[200])
    overwrite(path, body // SIZE * SIZE, bytes(SIZE))
    found = diagnose(path)
    lost = next(each for each in found.findings if each.code == "unreadable-message")
    assert 1 < lost.count < 20
    repair(path)
    saved = contents(f"{path}-salvaged")
    assert len(saved) == 400 - lost.count
    assert 200 not in saved
    assert saved.items() <= before.items()


def test_a_file_whose_last_message_cannot_be_read_still_says_what_it_is(tmp_path: Path) -> None:
    """Its dialect, and what its ids begin with; the number of its last message is that of the control row."""
    path = tmp_path / "queue.db"
    with Queue(path, dialect="nats") as queue:
        queue.put_many([(b"%0300d" % number, "orders.new") for number in range(400)])
        name = queue.store.file
    overwrite(path, path.read_bytes().index(b"%0300d" % 399) // SIZE * SIZE, bytes(SIZE))
    found = diagnose(path)
    assert not found.has("table-unreadable")
    assert found.has("unreadable-message")
    repair(path)
    with Queue(f"{path}-salvaged") as queue:
        assert queue.store.dialect.name == "nats"
        assert queue.put(b"new", "orders.new") == f"{name}-401"


def test_deliveries_that_cannot_be_read_are_made_anew(tmp_path: Path) -> None:
    """The messages are all there, so that all of them are delivered."""
    path = large(tmp_path / "queue.db")
    with Queue(path) as queue, queue.store.read() as connection:
        root = next(iter(connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'ready'")))[0]
    overwrite(path, (root - 1) * SIZE, bytes(SIZE))
    assert diagnose(path).has("table-unreadable")
    repair(path)
    with Queue(f"{path}-salvaged") as queue:
        assert [message.sequence for message in queue.pop_many(1000)] == list(range(1, 401))


def test_nothing_is_ever_written_over(tmp_path: Path) -> None:
    """A second salvage makes a second file."""
    path = large(tmp_path / "queue.db", 20)
    overwrite(path, 0, bytes(16))
    repair(path)
    first = Path(f"{path}-salvaged").read_bytes()
    (action, *_) = repair(path)
    assert action.file == f"{path}-salvaged-2"
    assert Path(f"{path}-salvaged").read_bytes() == first


def test_what_is_saved_has_the_mode_of_the_file_and_follows_no_link(tmp_path: Path) -> None:
    """A link that leads nowhere is a name that is taken."""
    path = large(tmp_path / "queue.db")
    path.chmod(0o600)
    overwrite(path, 0, bytes(100))
    Path(f"{path}-salvaged").symlink_to(tmp_path / "elsewhere")
    (action, *_) = repair(path)
    assert action.file == f"{path}-salvaged-2"
    assert not (tmp_path / "elsewhere").exists()
    assert [stat.S_IMODE(Path(f"{action.file}{each}").stat().st_mode) for each in ("", "-mark")] == [0o600, 0o600]
    assert len(contents(action.file)) == 400


def test_a_log_that_is_kept_has_the_mode_of_the_file(tmp_path: Path) -> None:
    """It holds the same messages."""
    path = killed(tmp_path)
    path.chmod(0o600)
    flip(Path(f"{path}-wal"), before_the_end(Path(f"{path}-wal"), 4))
    kept = [action.file for action in repair(path) if action.file is not None]
    assert [stat.S_IMODE(Path(each).stat().st_mode) for each in kept] == [0o600]


def test_a_file_that_is_given_by_a_link_is_judged_with_what_is_beside_it(tmp_path: Path) -> None:
    """The log and the mark are beside the file itself."""
    path = killed(tmp_path)
    flip(Path(f"{path}-wal"), before_the_end(Path(f"{path}-wal"), 4))
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.db"
    link.symlink_to(path)
    assert diagnose(link).findings == diagnose(path).findings
    repair(link)
    assert diagnose(path).healthy
    assert [each.name for each in link.parent.iterdir()] == ["link.db"]


def test_what_is_no_queue_at_all_gives_an_empty_file(tmp_path: Path) -> None:
    """There is nothing to save, and that is said."""
    path = tmp_path / "queue.db"
    path.write_bytes(random.Random(1).randbytes(30_000))
    found = diagnose(path)
    assert (found.readable, [each.code for each in found.findings]) == (False, ["not-readable"])
    assert next(iter(repair(path))).count == 0


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """There is nothing to diagnose."""
    with pytest.raises(StoreError) as caught:
        diagnose(tmp_path / "none.db")
    assert caught.value.code == "no-file"


def test_rows_are_read_around_what_cannot_be() -> None:
    """Each row that can be read, and the numbers between, in their order."""

    def read(low: int, high: int, limit: int) -> list[tuple[int]]:
        wanted = list(range(low, min(high, low + limit - 1) + 1))
        if any(1500 <= number <= 1520 or number == 4000 for number in wanted):
            raise UnicodeDecodeError("utf-8", b"", 0, 1, "damaged")
        return [(number,) for number in wanted]

    found = list(each_row(read, 1, 5 * PAGE))
    rows = [row[0] for row in found if not isinstance(row, Unreadable)]
    assert rows == [number for number in range(1, 5 * PAGE + 1) if not (1500 <= number <= 1520 or number == 4000)]
    assert [each.first for each in found if isinstance(each, Unreadable)] == [*range(1500, 1521), 4000]


def test_the_queue_itself_is_kept_as_it_was(tmp_path: Path) -> None:
    """Ids, subscriptions and what they have are those of the damaged file."""
    path = queue_file(tmp_path / "queue.db")
    with Queue(path) as queue:
        ids = [message.id for message in queue.messages()]
    overwrite(path, 0, bytes(100))
    repair(path)
    with Queue(f"{path}-salvaged") as queue:
        assert [message.id for message in queue.messages()] == ids
        assert [each.name for each in queue.subscriptions()] == ["audit"]
        assert [message.sequence for message in queue.pop_many(9, subscription="audit")] == [1, 3, 5]
