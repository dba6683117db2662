"""The crash test notices what it is there to notice."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from pointsman.store.commit_mark import MarkFile
from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies
from tests.crash.journal import Journal, Line, read_journal
from tests.crash.letters import KEYS, SUBSCRIPTIONS, data_of, key_of, name_of
from tests.crash.verdict import broken_promises, gather

NUMBERS = {name: number for number, name in enumerate(SUBSCRIPTIONS, 1)}
DOUBLED = "INSERT INTO delayed SELECT 1, subscription, sequence, via, priority, key, 0, NULL, NULL FROM ready"


def line(word: str, *fields: object) -> Line:
    """A line of a journal."""
    return Line("w", word, list(fields))


def delivered(name: str, sequence: int) -> list[Line]:
    """The lines of a message that everybody got who was to get it."""
    places = [0, *(NUMBERS[each] for each in KEYS[key_of(name)])]
    lines = [line("popped", sequence, place, 1, name) for place in places]
    return [*lines, *(line("acked", sequence, place, 1) for place in places)]


GOOD = [line("putting", ["a"], None), line("put", ["a"]), *delivered("a", 1)]
BATCH = [line("putting", ["a", "b"], None), *delivered("a", 1)]


def test_a_run_in_which_all_went_well_is_called_good() -> None:
    """Nothing is said of journals in which every promise was kept."""
    assert broken_promises(gather(GOOD), NUMBERS) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (GOOD[:2], "never delivered"),
        ([*GOOD, line("popped", 1, 0, 2, "a")], "after it was acknowledged"),
        ([*GOOD, line("popped", 1, 0, 1, "a")], "given to two"),
        ([*GOOD, line("acked", 1, 0, 2)], "acknowledged 2 times"),
        ([*GOOD, *delivered("a", 2)], "stored 2 times"),
        (BATCH, "1 of 2 that were put together"),
        (delivered("a", 1), "nobody put it"),
        ([GOOD[0], line("refused", ["a"]), *delivered("a", 1)], "refused, and there"),
        ([*GOOD[:2], line("popped", 1, 0, 1, "a")], "went to [0] and not to"),
        ([*GOOD, line("popped", 2, 0, 1, None)], "not whole"),
    ],
)
def test_each_broken_promise_is_noticed(lines: list[Line], said: str) -> None:
    """For each promise there are journals that show it broken."""
    assert any(said in wrong for wrong in broken_promises(gather(lines), NUMBERS))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM message WHERE sequence = 1", "has no message"),
        ("DELETE FROM ready WHERE sequence = 1", "a message is nowhere"),
        (DOUBLED, "two places"),
        ("INSERT INTO finished VALUES (1, 1, 0)", "a finished message has deliveries"),
        ("INSERT INTO finished VALUES (9, 1, 0)", "a finished message is not there"),
        ("UPDATE pending SET open = 7", "the count of what is open"),
        ("DELETE FROM pending", "they are not counted"),
        ("UPDATE control SET unfinished = 9", "unfinished messages is wrong"),
        ("UPDATE control SET sequence = 0", "unfinished messages is wrong"),
        ("DELETE FROM key", "has no key"),
    ],
)
def test_each_inconsistency_of_the_tables_is_noticed(tmp_path: Path, change: str, said: str) -> None:
    """For each rule about the tables there is a change that breaks it."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.subscribe("all", "#")
        queue.put(b"one", "orders.books")
    assert inconsistencies(path, thorough=True) == []
    connection = apsw.Connection(str(path))
    connection.execute(change)
    connection.close()
    assert any(said in wrong for wrong in inconsistencies(path))


def test_a_mark_ahead_of_the_file_is_noticed(tmp_path: Path) -> None:
    """More in the mark than in the file means that something was lost."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.put(b"one")
    mark = MarkFile(tmp_path / "queue.db")
    mark.write(1000, 1000)
    mark.close()
    assert any("the mark is ahead" in wrong for wrong in inconsistencies(tmp_path / "queue.db"))


def test_damaged_pages_are_noticed(tmp_path: Path) -> None:
    """SQLite's own check is a part of the thorough one."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put_many((data_of(str(each)), key_of(str(each))) for each in range(200))
    shutil.copy(path, tmp_path / "damaged.db")
    with (tmp_path / "damaged.db").open("r+b") as file:
        file.truncate(file.seek(0, 2) - 4096)
    with pytest.raises(apsw.CorruptError):
        inconsistencies(tmp_path / "damaged.db", thorough=True)


def test_contents_say_whether_they_are_whole() -> None:
    """A byte that is missing, or another key, is noticed."""
    assert name_of(data_of("a"), key_of("a")) == "a"
    assert name_of(data_of("a") + b"x", key_of("a")) is None
    assert name_of(data_of("a"), "another.key") is None


def test_a_line_without_an_end_is_no_line(tmp_path: Path) -> None:
    """A worker killed while it wrote leaves what it had written before."""
    journal = Journal(tmp_path / "w.journal")
    journal.write("put", ["a"])
    journal.close()
    with (tmp_path / "w.journal").open("ab") as file:
        file.write(b'["put", ["b"')
    assert list(read_journal(tmp_path / "w.journal")) == [Line("w", "put", [["a"]])]
