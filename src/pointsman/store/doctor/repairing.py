"""Doing what the findings say that a repair does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import apsw

from pointsman.patterns.dialect import find_dialect
from pointsman.store import schema, statements
from pointsman.store.connection import translated
from pointsman.store.doctor import questions
from pointsman.store.doctor.catalogue import ILLNESSES
from pointsman.store.doctor.control import read_control
from pointsman.store.doctor.copying import changing
from pointsman.store.doctor.diagnosing import Progress, diagnose
from pointsman.store.doctor.finding import Action, Diagnosis
from pointsman.store.doctor.mending import mend
from pointsman.store.doctor.names import damaged_keys, damaged_subscriptions, shown
from pointsman.store.doctor.salvaging import keep_log, put_back, salvage, write_mark
from pointsman.store.doctor.tail import read_mark
from pointsman.store.doctor.texts import ASIDE, damaged_states, unreadable_texts
from pointsman.store.queue import Queue

NEEDS_A_NEW_FILE = ("not-readable", "sqlite-damage", "table-unreadable", "unreadable-message", "schema-differs")
TAIL = ("lost-tail", "log-broken", "mark-unreadable", "mark-differs")


def repair(
    path: str | Path,
    diagnosis: Diagnosis | None = None,
    *,
    clock: Callable[[], float] = time.time,
    progress: Progress | None = None,
) -> list[Action]:
    """Puts a queue's file right, and says what was done; nothing if it is healthy.

    A file that SQLite finds damaged is left as it is, and all that can be read of it goes into a new one. In any other
    case the file itself is changed: what is damaged is set aside, and no message is deleted. No other process should
    have the queue open. Raises ``StoreError``; what was done until then is whole in itself, and can be gone on with.
    """
    database = Path(path).resolve()
    found = diagnose(database, clock=clock, progress=progress) if diagnosis is None else diagnosis
    if found.healthy:
        return []
    with translated(str(path)):
        code = next((finding.code for finding in found.findings if finding.code in NEEDS_A_NEW_FILE), None)
        if code is not None:
            return salvage(database, code)
        actions = _repair_tail(database, found)
        actions += _repair_names(database, found)
        with Queue(database, clock=clock) as queue:
            return actions + mend(queue)


def _repair_tail(path: Path, found: Diagnosis) -> list[Action]:
    if not found.has(*TAIL):
        return []
    actions: list[Action] = []
    mark = read_mark(path)
    if found.has("lost-tail", "log-broken"):
        kept = keep_log(path)
        actions += [] if kept is None else [kept]
        actions.append(put_back(path, 0 if mark is None else mark.sequence))
    elif mark is not None:
        with changing(path) as connection:
            connection.execute(statements.READY_ADD_NEW)
            connection.execute(questions.AFTER_COPY, (mark.sequence,))
    write_mark(path)
    actions.append(Action("lost-tail", "wrote into the mark what the file holds", 1))
    return actions


def _repair_names(path: Path, found: Diagnosis) -> list[Action]:
    """What must be right before a queue can be opened."""
    actions: list[Action] = []
    with changing(path) as connection:
        if found.has("header-differs"):
            connection.pragma("application_id", schema.APPLICATION)
            connection.pragma("user_version", schema.VERSION)
            actions.append(_action("header-differs", 1))
        counts = {
            "duplicate-key": _join_keys(connection),
            "damaged-key": _write_keys(connection),
            "damaged-subscription": _silence_subscriptions(connection),
            "damaged-state": _set_states_aside(connection),
            "unreadable-text": _remove_texts(connection),
        }
        if found.has("index-damage"):
            connection.execute(questions.REINDEX)
            counts["index-damage"] = 1
        if any(counts.values()):
            connection.execute(statements.READY_ADD_NEW)
            connection.execute(questions.AFTER_COPY, (0,))
        return actions + [_action(code, count) for code, count in counts.items() if count]


def _action(code: str, count: int) -> Action:
    return Action(code, ILLNESSES[code].repair, count)


def _join_keys(connection: apsw.Connection) -> int:
    count = 0
    for kept, more, text in list(connection.execute(questions.KEYS_TWICE)):
        for (other,) in list(connection.execute(questions.KEY_OTHERS, (text, kept))):
            for statement in questions.KEY_REPLACE:
                connection.execute(statement, (kept, other))
        count += more
    return count


def _write_keys(connection: apsw.Connection) -> int:
    control = read_control(connection)
    damaged = [] if control is None else list(damaged_keys(connection, find_dialect(control.dialect)))
    for number, text in damaged:
        readable = "".join(each for each in shown(text) if each.isalnum())
        connection.execute(questions.KEY_WRITE, (number, f"damaged-{number}-{readable}"[:100]))
    return len(damaged)


def _silence_subscriptions(connection: apsw.Connection) -> int:
    control = read_control(connection)
    damaged = list(damaged_subscriptions(connection))
    for number, name, _ in damaged:
        dialect = "amqp" if control is None else control.dialect
        version = next(iter(connection.execute(questions.LAST_VERSION)))[0] + 1
        row = (number, shown(name) or f"damaged-{number}", dialect, version)
        connection.execute(questions.SUBSCRIPTION_WITHOUT_PATTERN, row)
    return len(damaged)


def _set_states_aside(connection: apsw.Connection) -> int:
    damaged = list(damaged_states(connection))
    for row in damaged:
        connection.execute(questions.STATE_ASIDE, (*row, shown(ASIDE + row[0])))
    return len(damaged)


def _remove_texts(connection: apsw.Connection) -> int:
    places = list(unreadable_texts(connection))
    for *place, table in places:
        connection.execute(questions.TEXTS_REMOVE[str(table)], place)
    return len(places)
