"""Each thing that can be wrong is found, and put right without losing a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.doctor.finding import Finding
from pointsman.store.doctor.repairing import repair
from pointsman.store.queue import Queue
from tests.store.doctor.files import change, queue_file

EVERYTHING = [1, 2, 3, 4, 5, 6]

CASES = {
    # code, how many, what is changed, who can still be popped from the queue itself afterwards
    "a body": ("damaged-message", 1, ["UPDATE message SET body = x'00' WHERE sequence = 2"], [1, 3, 4, 5, 6]),
    "a body of two deliveries": (
        "damaged-message", 2, ["UPDATE message SET body = x'00' WHERE sequence = 3"], [1, 2, 4, 5, 6]
    ),
    "a key number": ("damaged-message", 1, ["UPDATE message SET key = 99 WHERE sequence = 2"], [1, 3, 4, 5, 6]),
    "a message": ("missing-message", 1, ["DELETE FROM message WHERE sequence = 2"], [1, 3, 4, 5, 6]),
    "a delivery": ("lost-deliveries", 1, ["DELETE FROM ready WHERE sequence = 2"], EVERYTHING),
    "both deliveries": ("lost-deliveries", 1, ["DELETE FROM ready WHERE sequence = 3"], EVERYTHING),
    "a delivery's key": ("delivery-differs", 1, ["UPDATE ready SET key = 1 WHERE sequence = 2"], EVERYTHING),
    "a delivery's priority": ("delivery-differs", 1, ["UPDATE ready SET priority = 4 WHERE sequence = 2"], EVERYTHING),
    "a subscription's number": (
        "unknown-subscription", 1, ["UPDATE ready SET subscription = 9 WHERE sequence = 3 AND subscription = 1"],
        EVERYTHING,
    ),
    "a subscription's end": ("ended-subscription", 3, ["UPDATE subscription SET gone = 1 WHERE id = 1"], EVERYTHING),
    "a route": ("unknown-route", 1, ["UPDATE ready SET via = 9 WHERE sequence = 2"], [1, 3, 4, 5, 6]),
    "attempts": ("odd-delivery", 1, ["UPDATE ready SET attempts = -1 WHERE sequence = 2"], EVERYTHING),
    "a time": (
        "odd-delivery", 1,
        [
            "INSERT INTO delayed SELECT 1 << 60, 0, 2, 0, priority, key, 0, NULL, NULL FROM ready WHERE sequence = 2",
            "DELETE FROM ready WHERE sequence = 2",
        ],
        EVERYTHING,
    ),
    "a delivery twice": (
        "double-delivery", 1,
        ["INSERT INTO delayed SELECT 1, 0, 2, 0, priority, key, 0, NULL, NULL FROM ready WHERE sequence = 2"],
        EVERYTHING,
    ),
    "done and ready": ("finished-and-open", 1, ["INSERT INTO finished VALUES (2, 1, 0)"], EVERYTHING),
    "a count": ("wrong-pending", 1, ["UPDATE pending SET open = 7 WHERE sequence = 3"], EVERYTHING),
    "no count": ("wrong-pending", 3, ["DELETE FROM pending"], EVERYTHING),
    "a count of nothing": ("wrong-pending", 1, ["INSERT INTO pending VALUES (77, 0)"], EVERYTHING),
    "done and not there": ("finished-without-message", 1, ["INSERT INTO finished VALUES (77, 1, 0)"], EVERYTHING),
    "unfinished": ("wrong-unfinished", 3, ["UPDATE control SET unfinished = 9"], EVERYTHING),
    "the last number": ("wrong-unfinished", 4, ["UPDATE control SET sequence = 2, commits = commits + 1"], EVERYTHING),
    "the mark's number": ("mark-differs", 1, ["UPDATE control SET sequence = 100"], EVERYTHING),
    "a key that is no text": (
        "damaged-key", 1, ["UPDATE key SET text = CAST(x'ff41' AS TEXT) WHERE text = 'stock'"], [1, 3, 5]
    ),
    "a pattern": ("damaged-subscription", 1, ["UPDATE subscription SET pattern = CAST(x'ff' AS TEXT) WHERE id = 1"],
                  EVERYTHING),
    "a dialect": ("damaged-subscription", 1, ["UPDATE subscription SET dialect = 'amqq' WHERE id = 1"], EVERYTHING),
    "a state": ("damaged-state", 1, ["INSERT INTO state VALUES ('saga', 'order', '7', '{', NULL)"], EVERYTHING),
    "an error": ("unreadable-text", 1, ["UPDATE ready SET error = CAST(x'ff' AS TEXT) WHERE sequence = 2"], EVERYTHING),
    "the header": ("header-differs", 1, ["PRAGMA user_version = 0"], EVERYTHING),
}  # fmt: skip


def finding(path: Path, code: str) -> Finding:
    """What was found under a code."""
    return next(each for each in diagnose(path).findings if each.code == code)


@pytest.mark.parametrize(("code", "count", "statements", "left"), CASES.values(), ids=CASES)
def test_what_is_wrong_is_found_and_put_right(
    tmp_path: Path, code: str, count: int, statements: list[str], left: list[int]
) -> None:
    """Found with its number; after the repair the file is healthy and the messages that are whole are delivered."""
    path = change(queue_file(tmp_path / "queue.db"), *statements)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert finding(path, code).count == count
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    done = {action.code for action in repair(path)}
    assert code in done or (code == "mark-differs" and done)
    after = diagnose(path)
    assert after.healthy, after.findings
    with Queue(path) as queue:
        assert [message.sequence for message in queue.pop_many(100)] == left
        assert len(queue.messages()) >= 5


def test_a_healthy_file_has_no_findings_and_is_left_alone(tmp_path: Path) -> None:
    """Whatever state its messages are in."""
    path = queue_file(tmp_path / "queue.db")
    with Queue(path, max_attempts=1) as queue:
        queue.put(b"later", "stock", delay=100)
        first, second, third = queue.pop_many(3)
        queue.ack(first)
        queue.nack(second, error="no")
        queue.extend(third, 100)
        assert diagnose(path).findings == ()
    before = path.read_bytes()
    found = diagnose(path)
    assert (found.findings, found.healthy, repair(path)) == ((), True, [])
    assert found.counts == {
        "messages": 7, "ready": 6, "leased": 1, "delayed": 1, "dead": 1, "finished": 0, "unfinished": 6
    }  # fmt: skip
    assert path.read_bytes() == before


def test_what_is_damaged_and_set_aside_is_only_a_note(tmp_path: Path) -> None:
    """After the repair the damaged message is still there to be looked at, and the file is healthy."""
    path = change(queue_file(tmp_path / "queue.db"), "UPDATE message SET body = x'00' WHERE sequence = 2")
    repair(path)
    found = diagnose(path)
    assert [each.code for each in found.findings] == ["damaged-aside"]
    assert found.findings[0].samples[0].number == 2
    assert found.healthy
    with Queue(path) as queue:
        (letter,) = queue.dead_letters()
        assert letter.reason == "it is not what was put: its checksum is wrong"


def test_a_message_without_deliveries_goes_to_all_whose_pattern_matches(tmp_path: Path) -> None:
    """To the queue itself and to the subscription."""
    path = change(queue_file(tmp_path / "queue.db"), "DELETE FROM ready", "DELETE FROM pending")
    repair(path)
    with Queue(path) as queue:
        assert [message.sequence for message in queue.pop_many(9, subscription="audit")] == [1, 3, 5]
        assert [message.sequence for message in queue.pop_many(9)] == EVERYTHING


def test_a_state_that_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    """Under a kind of its own, with its text as it was."""
    path = queue_file(tmp_path / "queue.db")
    change(path, "INSERT INTO state VALUES ('saga', 'order', '7', '{', 5)")
    repair(path)
    with Queue(path) as queue, queue.store.read() as connection:
        assert list(connection.execute("SELECT * FROM state")) == [("damaged:saga", "order", "7", "{", None)]


def test_many_faults_are_put_right_in_several_transactions(tmp_path: Path) -> None:
    """More than one transaction takes."""
    path = change(queue_file(tmp_path / "queue.db", 2500), "DELETE FROM ready", "DELETE FROM pending")
    assert finding(path, "lost-deliveries").count == 2500
    repair(path)
    assert diagnose(path).healthy
    with Queue(path) as queue:
        assert queue.size().ready == 3750


def test_an_index_that_does_not_fit_is_built_anew(tmp_path: Path) -> None:
    """SQLite sees it, and nothing needs to be salvaged."""
    path = queue_file(tmp_path / "queue.db")
    data = path.read_bytes()
    place = data.index(b"orders.new")
    other = data.index(b"orders.new", place + 1)
    assert data.count(b"orders.new") == 2, "once in the table and once in its index"
    for byte in (place, other):
        changed = bytearray(data)
        changed[byte] ^= 2
        path.write_bytes(changed)
        if not diagnose(path).has("damaged-message"):
            break
    assert finding(path, "index-damage").count >= 1
    repair(path)
    assert diagnose(path).healthy


def test_a_key_that_is_stored_twice_is_made_one(tmp_path: Path) -> None:
    """Its messages are damaged, for nobody knows any more what their key was; those of the other are delivered."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put_many([(b"1", "first.key"), (b"2", "other.key")])
    path.write_bytes(path.read_bytes().replace(b"other.key", b"first.key"))
    assert finding(path, "duplicate-key").samples[0].key == "first.key"
    repair(path)
    assert diagnose(path).healthy
    with Queue(path) as queue:
        assert [message.data for message in queue.pop_many(9)] == [b"1"]
