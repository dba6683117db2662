"""A file that is not where it was any more, or that has several names."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from pointsman.errors import StoreError
from pointsman.store.commit_mark import MarkFile, mark_path, parse_mark
from pointsman.store.queue import Queue
from tests.store.conftest import Open

Move = Callable[[Path], object]


def replace(path: Path) -> None:
    """Puts another queue in the place of this one."""
    with Queue(path.parent / "other.db"):
        pass
    (path.parent / "other.db").replace(path)


MOVES = {"deleted": Path.unlink, "replaced": replace, "moved": lambda path: path.rename(path.parent / "away.db")}
CALLS: dict[str, Callable[[Queue], object]] = {
    "put": lambda queue: queue.put(b"2", "a"),
    "put with an id": lambda queue: queue.put(b"2", "a", id="two"),
    "put_many": lambda queue: queue.put_many([(b"2", "a")]),
    "pop": lambda queue: queue.pop(),
    "pop by a pattern": lambda queue: queue.pop("a"),
    "subscribe": lambda queue: queue.subscribe("all", "#"),
    "peek": lambda queue: queue.peek(),
    "size": lambda queue: queue.size(),
    "consume": lambda queue: list(queue.consume(wait=0)),
    "prune": lambda queue: queue.prune(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
def test_what_is_asked_of_a_file_that_is_gone_is_refused(
    open_file: Open, path: Path, move: Move, call: Callable[[Queue], object]
) -> None:
    """Whether it was deleted, replaced or moved away; and no new file is made in its place."""
    queue = open_file()
    queue.put(b"1", "a")
    queue.size()
    move(path)
    was_there = path.exists()
    with pytest.raises(StoreError, match="store-moved"):
        call(queue)
    assert path.exists() == was_there


def test_a_first_look_at_a_file_that_is_gone_is_refused(open_file: Open, path: Path) -> None:
    """The connection that reads is made when it is first needed, and must not make a new file."""
    queue = open_file()
    path.unlink()
    with pytest.raises(StoreError, match="store-moved"):
        queue.peek()
    assert not path.exists()


class Deleting:
    """A call, at the end of which the file is deleted, and only then it is committed."""

    def __init__(self, queue: Queue, path: Path) -> None:
        self._queue = queue
        self._path = path

    def __call__(self, *_: object) -> None:
        """What is to be done within a transaction."""
        self._path.unlink()

    def one(self) -> None:
        """A put of one message, which is on its way when the file is deleted."""
        self._queue.store.writer.connection.set_update_hook(lambda *_: self._path.unlink(missing_ok=True))
        self._queue.put(b"2", "a")

    def long_way(self) -> None:
        """A transaction that is shared with others."""
        self._queue.store.write(self)

    def many(self) -> None:
        """Operations that may each fail by itself."""
        for request in self._queue.store.write_many([self]):
            request.outcome()

    def exclusive(self) -> None:
        """A transaction of the caller's own."""
        with self._queue.store.exclusive() as transaction:
            self(transaction)


@pytest.mark.parametrize("way", [Deleting.one, Deleting.long_way, Deleting.many, Deleting.exclusive])
def test_what_was_committed_into_a_file_that_is_gone_is_an_error(
    open_file: Open, path: Path, way: Callable[[Deleting], None]
) -> None:
    """Also if it was deleted after the call had begun."""
    queue = open_file(durability="normal")
    queue.put(b"1", "a")
    queue.put(b"1", "a")
    with pytest.raises(StoreError, match="store-moved"):
        way(Deleting(queue, path))


def test_an_outbox_of_a_file_that_is_gone_is_refused(open_file: Open, path: Path) -> None:
    """The connection of the caller is to the old file, as the queue's is."""
    queue = open_file()
    connection = apsw.Connection(str(path))
    outbox = queue.outbox(connection)
    outbox.put(b"1", "a")
    connection.execute("COMMIT")
    path.unlink()
    with pytest.raises(StoreError, match="store-moved"):
        outbox.put(b"2", "a")
    connection.close()


def test_a_child_of_a_fork_makes_no_new_file(open_file: Open, path: Path) -> None:
    """It opens the file anew, and that must be the same one."""
    queue = open_file()
    queue.put(b"1", "a")
    (read, write), (gone_read, gone_write) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.read(gone_read, 1)
        try:
            queue.put(b"2", "a")
        except StoreError as error:
            os.write(write, error.code.encode())
        os._exit(0)
    path.unlink()
    os.write(gone_write, b"!")
    os.waitpid(child, 0)
    os.close(write)
    assert os.read(read, 100) == b"store-moved"
    for descriptor in (read, gone_read, gone_write):
        os.close(descriptor)
    assert not path.exists()


def test_a_mark_that_is_cut_off_while_it_is_open_is_written_anew(open_file: Open, path: Path) -> None:
    """Nobody is killed by it; whoever waits is woken, and the next commit makes it whole."""
    queue, other = open_file(), open_file()
    queue.put(b"1", "a")
    os.truncate(mark_path(path), 0)
    queue.put(b"2", "a")
    assert parse_mark(mark_path(path).read_bytes()) == (2, 2)
    os.truncate(mark_path(path), 0)
    listener = other.store.bell.listen()
    queue.put(b"3", "a")
    assert listener.wait(1)
    listener.close()
    assert parse_mark(mark_path(path).read_bytes()) == (3, 3)


@pytest.fixture
def link(path: Path, tmp_path: Path) -> Path:
    """Another name of the file, in another folder, by two links."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "folder").symlink_to(tmp_path)
    (tmp_path / "elsewhere" / "link.db").symlink_to(tmp_path / "elsewhere" / "folder" / path.name)
    return tmp_path / "elsewhere" / "link.db"


def test_a_file_that_is_opened_by_a_link_is_the_same_queue(open_file: Open, path: Path, link: Path) -> None:
    """One who waits is woken by one who opened it by another name; and what is beside the file is there only."""
    queue = open_file()
    with Queue(link) as other:
        assert other.store.path == queue.store.path == str(path)
        for waits, puts in ((queue, other), (other, queue)):
            listener = waits.store.bell.listen()
            assert puts.store.bell.hears(listener.name)
            puts.put(b"1", "a")
            assert listener.wait(1)
            listener.close()
        assert sorted(each.name for each in link.parent.iterdir()) == ["folder", "link.db"]


def test_a_file_of_several_names_is_refused(path: Path, tmp_path: Path) -> None:
    """SQLite's log is found by the name: by two hard links there would be two logs of one file."""
    with Queue(path) as queue:
        queue.put(b"1", "a")
    (tmp_path / "second.db").hardlink_to(path)
    for name in (path, tmp_path / "second.db"):
        with pytest.raises(StoreError, match="store-linked"):
            Queue(name)
    (tmp_path / "second.db").unlink()
    with Queue(path) as queue:
        assert queue.size().ready == 1


# -- files beside it


@pytest.mark.parametrize("target", ["a file", "nothing"])
def test_a_mark_that_is_a_link_is_refused(path: Path, tmp_path: Path, target: str) -> None:
    """What it leads to is neither written nor made."""
    other = tmp_path / "other"
    if target == "a file":
        other.write_bytes(b"not yours")
    mark_path(path).symlink_to(other)
    with pytest.raises(StoreError, match="side-file-refused"):
        Queue(path)
    assert (other.read_bytes() if other.exists() else None) == (b"not yours" if target == "a file" else None)


def test_a_mark_that_is_a_hard_link_is_refused(path: Path, tmp_path: Path) -> None:
    """The file of the other name is left as it is."""
    (tmp_path / "other").write_bytes(b"not yours")
    mark_path(path).hardlink_to(tmp_path / "other")
    with pytest.raises(StoreError, match="side-file-refused"):
        Queue(path)
    assert (tmp_path / "other").read_bytes() == b"not yours"


def test_a_file_that_is_refused_is_not_kept_open(path: Path) -> None:
    """Whoever tries again and again does not run out of descriptors."""
    with Queue(path) as queue:
        queue.put(b"1", "a")
    mark = MarkFile(path)
    mark.write(99, 99)
    mark.close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(StoreError, match="store-lost-tail"):
            Queue(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_mark_that_is_a_pipe_is_refused(path: Path) -> None:
    """To open it must not wait."""
    os.mkfifo(mark_path(path))
    with pytest.raises(StoreError, match="side-file-refused"):
        Queue(path)


def test_nothing_is_written_into_a_folder_that_a_link_leads_to(open_file: Open, path: Path, tmp_path: Path) -> None:
    """Whoever would wait there is refused, and whoever rings leaves it alone."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"not yours")
    os.mkfifo(tmp_path / "folder" / "pipe")
    Path(f"{path}-bells").symlink_to(tmp_path / "folder")
    # Long enough ago for a pipe that nobody reads to be removed, if the folder was that of the queue.
    os.utime(f"{path}-bells", (1, 1), follow_symlinks=False)
    queue = open_file()
    queue.put(b"1", "a")
    with pytest.raises(StoreError, match="side-file-refused"):
        next(iter(queue))
    queue.put(b"2", "a")
    assert sorted(each.name for each in (tmp_path / "folder").iterdir()) == ["file", "pipe"]
    assert (tmp_path / "folder" / "file").read_bytes() == b"not yours"


def test_nothing_is_written_into_what_is_no_pipe(open_file: Open, path: Path, tmp_path: Path) -> None:
    """A file, or a link to one, in the folder of the bells is left as it is."""
    (tmp_path / "other").write_bytes(b"not yours")
    folder = Path(f"{path}-bells")
    folder.mkdir()
    (folder / "file").write_bytes(b"not yours")
    (folder / "link").symlink_to(tmp_path / "other")
    queue = open_file()
    listener = queue.store.bell.listen()
    queue.put(b"1", "a")
    assert listener.wait(1)
    listener.close()
    assert [(folder / name).read_bytes() for name in ("file", "link")] == [b"not yours", b"not yours"]


@pytest.mark.parametrize(("mode", "of_folder"), [(0o600, 0o700), (0o660, 0o770), (0o644, 0o755)])
def test_what_is_made_beside_a_file_has_its_mode(open_file: Open, path: Path, mode: int, of_folder: int) -> None:
    """Nobody may read more there than in the file itself, and whoever may write it may wait."""
    path.touch()
    path.chmod(mode)
    queue = open_file()
    listener = queue.store.bell.listen()
    folder = Path(f"{path}-bells")
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (mark_path(path), folder, folder / listener.name)]
    assert modes == [mode, of_folder, mode]
    listener.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_root_makes_beside_a_file_belongs_to_its_owner(open_file: Open, path: Path) -> None:
    """Who could open the file before root did can open it after."""
    path.touch()
    os.chown(path, 12345, 54321)
    queue = open_file()
    listener = queue.store.bell.listen()
    folder = Path(f"{path}-bells")
    owners = {(each.stat().st_uid, each.stat().st_gid) for each in (mark_path(path), folder, folder / listener.name)}
    assert owners == {(12345, 54321)}
    listener.close()
