"""Whether the state of the broker agrees with the messages that follow from it, seen in one reading transaction."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import apsw

from tests.crash.broker_story import COMMANDS, RESULTS, SUPPLIERS, WORKERS

STATES = "SELECT kind, name, correlation_id, value FROM state"
MESSAGES = """
SELECT json_extract(m.envelope, '$.correlation_id'), k.text FROM message AS m JOIN key AS k ON k.id = m.key
WHERE k.text LIKE '%.commands.%' OR k.text = ? OR k.text = 'prices.ask' OR k.text LIKE 'orders.%'
"""
JOBS = """
SELECT m.sequence, s.name FROM message AS m JOIN key AS k ON k.id = m.key
JOIN (SELECT sequence, subscription FROM ready UNION ALL SELECT sequence, subscription FROM leased
    UNION ALL SELECT sequence, subscription FROM delayed) AS d ON d.sequence = m.sequence
JOIN subscription AS s ON s.id = d.subscription WHERE k.text LIKE 'jobs.%' ORDER BY m.sequence
"""
NUMBERS = "SELECT sequence FROM message JOIN key ON key.id = message.key WHERE text LIKE 'jobs.%' ORDER BY sequence"


def disagreements(path: Path) -> list[str]:
    """What is wrong: a command without its state, a state without its command, a result too few or too many."""
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(60_000)
        connection.execute("BEGIN")
        states = list(connection.execute(STATES))
        sent: dict[str, Counter[str]] = defaultdict(Counter)
        for correlation_id, subject in connection.execute(MESSAGES, (RESULTS,)):
            sent[correlation_id][subject] += 1
        jobs = list(connection.execute(JOBS))
        numbers = [row[0] for row in connection.execute(NUMBERS)]
        connection.execute("COMMIT")
    finally:
        connection.close()
    sagas = {row[2]: json.loads(row[3])["state"] for row in states if row[0] == "saga"}
    gatherings = {row[2]: json.loads(row[3]) for row in states if row[0] == "gather"}
    return [*_wrong_sagas(sagas, sent), *_wrong_gatherings(gatherings, sent), *_wrong_balance(jobs, numbers)]


def _wrong_sagas(sagas: dict[str, str], sent: dict[str, Counter[str]]) -> list[str]:
    wrong = []
    for name, state in sagas.items():
        commands = Counter({subject: number for subject, number in sent[name].items() if ".commands." in subject})
        if commands != Counter(COMMANDS[state]):
            wrong.append(f"the saga {name} is in {state}, and sent {dict(commands)}")
    for name, subjects in sent.items():
        if name not in sagas and any(subject.startswith("orders.") for subject in subjects):
            wrong.append(f"the order {name} has no saga")
    return wrong


def _wrong_gatherings(gatherings: dict[str, dict[str, object]], sent: dict[str, Counter[str]]) -> list[str]:
    wrong = []
    for name, state in gatherings.items():
        if sent[name][RESULTS] != int(bool(state["complete"])):
            wrong.append(f"the gathering {name} is complete: {state['complete']}; results: {sent[name][RESULTS]}")
        answers = state["answers"]
        if bool(state["complete"]) != (isinstance(answers, list) and len(answers) == len(SUPPLIERS)):
            wrong.append(f"the gathering {name} is complete: {state['complete']}; answers: {answers}")
    for name, subjects in sent.items():
        if subjects["prices.ask"] and name not in gatherings:
            wrong.append(f"the question {name} has no gathering")
    return wrong


def _wrong_balance(jobs: list[tuple[int, str]], numbers: list[int]) -> list[str]:
    """The turns that were taken: the n-th job goes to the n-th worker, and begins anew after the last."""
    turns = {number: WORKERS[turn % len(WORKERS)] for turn, number in enumerate(numbers)}
    return [
        f"job {number} went to {name}, and it was the turn of {turns[number]}"
        for number, name in jobs
        if name != f"destination:{turns[number]}"
    ]
