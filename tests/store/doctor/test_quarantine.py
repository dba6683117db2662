"""A damaged message is set aside when it is popped, and keeps nobody from the others."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.store.doctor.files import before_the_end, flip

DAMAGES = {
    "its data": "UPDATE message SET body = x'00' WHERE sequence = 2",
    "its data become a text": "UPDATE message SET body = CAST(body AS TEXT) WHERE sequence = 2",
    "data of another type": "UPDATE message SET body = 17 WHERE sequence = 2",
    "its id": "UPDATE message SET id = 'other' WHERE sequence = 2",
    "its metadata": "UPDATE message SET metadata = NULL WHERE sequence = 2",
    "its metadata are no text": "UPDATE message SET metadata = CAST(x'ff' AS TEXT) WHERE sequence = 2",
    "when it was put": "UPDATE message SET time = time + 1 WHERE sequence = 2",
    "when it was put, as a text": "UPDATE message SET time = 'soon' WHERE sequence = 2",
    "when it expires": "UPDATE message SET expires = expires - 1 WHERE sequence = 2",
    "that it expires": "UPDATE message SET expires = NULL WHERE sequence = 2",
    "its priority": "UPDATE ready SET priority = 4 WHERE sequence = 2",
    "its key": "UPDATE ready SET key = 1 WHERE sequence = 2",
    "its row": "DELETE FROM message WHERE sequence = 2",
}


def damaged(path: Path, statement: str) -> Path:
    """A queue of three messages, one of which was damaged behind the queue's back."""
    with Queue(path) as queue:
        queue.put(b"one", "a.b")
        queue.put(b"two", "c.d", id="two", metadata={"color": "red"}, expires=1000)
        queue.put(b"three", "a.b")
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()
    return path


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("pattern", [None, "#"])
def test_a_damaged_message_is_skipped_and_becomes_a_dead_letter(tmp_path: Path, statement: str, pattern: str) -> None:
    """Whatever of it was changed; the others are delivered, and the reason says why this one was not."""
    with Queue(damaged(tmp_path / "queue.db", statement)) as queue:
        popped = [queue.pop(pattern), queue.pop(pattern), queue.pop(pattern)]
        assert [each and each.data for each in popped] == [b"one", b"three", None]
        assert queue.size().dead == 1
        assert queue.unfinished == 2


def test_a_key_that_is_no_text_stops_patterns_and_nothing_else(tmp_path: Path) -> None:
    """Who asks for a pattern is told that the file is damaged, for nobody knows what the key was."""
    statement = "UPDATE key SET text = CAST(x'ff' AS TEXT) WHERE id = 2"
    with Queue(damaged(tmp_path / "queue.db", statement)) as queue:
        with pytest.raises(StoreError) as caught:
            queue.pop("#")
        assert caught.value.code == "store-damaged"
        assert [each.data for each in queue.pop_many(10)] == [b"one", b"three"]


def test_the_dead_letter_says_why(tmp_path: Path) -> None:
    """The reason is that of the checksum, and what is left of the message can be looked at."""
    with Queue(damaged(tmp_path / "queue.db", DAMAGES["its data"])) as queue:
        assert [each.data for each in queue.pop_many(10)] == [b"one", b"three"]
        (letter,) = queue.dead_letters()
        assert letter.reason == "it is not what was put: its checksum is wrong"
        assert letter.sequence == 2
        assert letter.message is not None
        assert letter.message.data == b"\0"


def test_a_dead_letter_of_which_nothing_can_be_read_is_listed_without_its_message(tmp_path: Path) -> None:
    """One message that is beyond reading keeps nobody from looking at the dead letters."""
    with Queue(damaged(tmp_path / "queue.db", DAMAGES["its metadata are no text"])) as queue:
        queue.pop_many(10)
        (letter,) = queue.dead_letters()
        assert (letter.sequence, letter.message) == (2, None)


def test_to_read_a_text_that_is_none_is_the_projects_error(tmp_path: Path) -> None:
    """Reading is not taking: it says that the file is damaged, and changes nothing."""
    with Queue(damaged(tmp_path / "queue.db", DAMAGES["its metadata are no text"])) as queue:
        with pytest.raises(StoreError) as caught:
            queue.messages()
        assert caught.value.code == "store-damaged"


@pytest.mark.parametrize("statement", [DAMAGES["its data"], DAMAGES["its priority"].replace("ready", "message")])
def test_a_damaged_message_is_not_given_by_its_id(tmp_path: Path, statement: str) -> None:
    """The error names it; a listing tells which ones are whole."""
    with Queue(damaged(tmp_path / "queue.db", statement)) as queue:
        with pytest.raises(StoreError) as caught:
            queue.get("two")
        assert caught.value.code == "message-damaged"
        assert [each.is_whole for each in queue.messages()] == [True, False, True]


def with_lost_tail(folder: Path) -> Path:
    """A queue of ten messages with a flipped bit in the middle of its log."""
    path, copy = folder / "queue.db", folder / "copy.db"
    with Queue(path) as queue:
        for number in range(10):
            queue.put(b"%d" % number, "a")
        for suffix in ("", "-wal", "-mark"):
            Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    log = Path(f"{copy}-wal")
    flip(log, before_the_end(log, 5))
    return copy


def test_a_queue_that_lost_its_tail_keeps_its_log_when_it_is_refused(tmp_path: Path) -> None:
    """The log is the only trace of what was lost; opening the queue in vain does not clear it away."""
    copy = with_lost_tail(tmp_path)
    before = Path(f"{copy}-wal").read_bytes()
    with pytest.raises(StoreError) as caught:
        Queue(copy)
    assert caught.value.code == "store-lost-tail"
    assert Path(f"{copy}-wal").read_bytes() == before


def test_a_queue_of_normal_durability_goes_on_without_its_tail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A loss of power may take the last transactions then; it says so in the log, once."""
    copy = with_lost_tail(tmp_path)
    with Queue(copy, durability="normal") as queue:
        assert "committed are missing" in caplog.text
        found = queue.pop_many(20)
        assert len(found) < 10
        queue.put(b"new", "a")
    caplog.clear()
    Queue(copy).close()
    assert not caplog.text
