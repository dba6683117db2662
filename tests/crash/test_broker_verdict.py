"""The crash test of the broker notices what it is there to notice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from pointsman.broker.broker import Broker
from tests.crash.broker_consistency import disagreements
from tests.crash.broker_story import (
    CHECK,
    RELEASE,
    RESERVE,
    RESULTS,
    SCHEDULE,
    SUPPLIERS,
    TABLE,
    is_in_stock,
    subject_of,
)
from tests.crash.broker_verdict import broken_promises, gather
from tests.crash.broker_worker import publish
from tests.crash.journal import Journal, Line

ORDER = next(name for name in (f"order:{number}" for number in range(99)) if is_in_stock(name))


def line(word: str, *fields: object) -> Line:
    """A line of a journal."""
    return Line("w", word, list(fields))


def handled(name: str, *handlers: str) -> list[Line]:
    """The lines of a message that was published and handled by these."""
    lines = [line("handled", handler, name, subject_of(name), name, name) for handler in handlers]
    return [line("publishing", name), line("published", name), *lines]


def command(subject: str, id: str) -> Line:
    """The line of a command of the order."""
    return line("handled", "h", id, subject, ORDER, "")


JOB, ASK = handled("job:1", "worker-1"), handled("ask:1", *SUPPLIERS)
COMMANDS = [command(subject, subject) for subject in (RESERVE, CHECK, SCHEDULE)]
WHOLE = [*handled(ORDER, "audit"), *COMMANDS]


def test_a_run_in_which_all_went_well_is_called_good() -> None:
    """Nothing is said of journals in which every promise was kept."""
    assert broken_promises(gather([*JOB, *WHOLE, *handled("note:1", "notes")])) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (JOB[:2], "handled by nobody"),
        (JOB[2:], "nobody published it"),
        ([*JOB, *handled("job:1", "worker-2")], "for one worker"),
        (ASK, "result was given 0 times"),
        ([*ASK, *(line("handled", "results", f"{n}", RESULTS, "ask:1", "") for n in "ab")], "given 2 times"),
        ([*ASK, line("handled", "results", "a", RESULTS, "ask:1", "{}")], "its result is"),
        (handled("ask:1", "supplier-1"), "for all suppliers"),
        (handled(ORDER, "notes"), "it is for audit"),
        (WHOLE[:-1], "its commands were"),
        ([*WHOLE, command(RESERVE, "again")], "its commands were"),
        ([*WHOLE, command(RELEASE, "other")], "its commands were"),
        (handled("note:1", "audit"), "it is for notes"),
    ],
)
def test_each_broken_promise_is_noticed(lines: list[Line], said: str) -> None:
    """For each promise there are journals that show it broken."""
    assert any(said in wrong for wrong in broken_promises(gather(lines)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM message WHERE key IN (SELECT id FROM key WHERE text LIKE 'payments.commands.%')", "and sent {}"),
        ("UPDATE state SET value = replace(value, 'payment_processing', 'order_completed')", "is in order_completed"),
        ("DELETE FROM state WHERE kind = 'saga'", "has no saga"),
        ("UPDATE state SET value = replace(value, '\"complete\":false', '\"complete\":true')", "results: 0"),
        ("DELETE FROM state WHERE kind = 'gather'", "has no gathering"),
        ("UPDATE ready SET subscription = 1 WHERE key IN (SELECT id FROM key WHERE text LIKE 'jobs.%')", "the turn of"),
    ],
)
def test_each_disagreement_of_state_and_messages_is_noticed(tmp_path: Path, change: str, said: str) -> None:
    """For each rule there is a change to the file that breaks it."""
    journal = Journal(tmp_path / "w.journal")

    async def fill() -> None:
        async with Broker(tmp_path / "broker.db", TABLE) as broker:
            for name in (ORDER, "ask:1", "job:1", "job:2"):
                await publish(broker, journal, name)

    asyncio.run(fill())
    journal.close()
    assert disagreements(tmp_path / "broker.db") == []
    connection = apsw.Connection(str(tmp_path / "broker.db"))
    connection.execute(change)
    connection.close()
    assert any(said in wrong for wrong in disagreements(tmp_path / "broker.db"))
