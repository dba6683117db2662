"""Whether the tables of a queue's file agree with each other, seen in one reading transaction while others write."""

from __future__ import annotations

from pathlib import Path

import apsw

from pointsman.store.commit_mark import mark_path, parse_mark
from pointsman.store.statements import CONTROL_READ

VIEWS = """
CREATE TEMP VIEW open AS
    SELECT sequence, subscription, via FROM ready UNION ALL SELECT sequence, subscription, via FROM leased
    UNION ALL SELECT sequence, subscription, via FROM delayed
    UNION ALL SELECT sequence, 0, 0 FROM message WHERE sequence > (SELECT sequence FROM control);
CREATE TEMP VIEW delivery AS SELECT * FROM open UNION ALL SELECT sequence, subscription, via FROM dead;
"""
RULES = {
    "a delivery stands in two places": """
        SELECT * FROM delivery GROUP BY sequence, subscription, via HAVING count(*) > 1""",
    "a delivery has no message": "SELECT * FROM delivery WHERE sequence NOT IN (SELECT sequence FROM message)",
    "a message is nowhere": """
        SELECT sequence FROM message WHERE sequence NOT IN (SELECT sequence FROM delivery)
        AND sequence NOT IN (SELECT sequence FROM finished)""",
    "a finished message has deliveries": """
        SELECT sequence FROM finished WHERE sequence IN (SELECT sequence FROM delivery)""",
    "a finished message is not there": """
        SELECT sequence FROM finished WHERE sequence NOT IN (SELECT sequence FROM message)""",
    "the count of what is open is wrong": """
        SELECT p.sequence, p.open, count(o.sequence) FROM pending AS p LEFT JOIN open AS o ON o.sequence = p.sequence
        GROUP BY p.sequence HAVING p.open <> count(o.sequence)""",
    "several are open, and they are not counted": """
        SELECT sequence, count(*) FROM open WHERE sequence NOT IN (SELECT sequence FROM pending)
        GROUP BY sequence HAVING count(*) > 1""",
    "the count of unfinished messages is wrong": """
        SELECT noted, found FROM (
            SELECT unfinished + max((SELECT coalesce(max(sequence), 0) FROM message) - sequence, 0) AS noted,
                (SELECT count(DISTINCT sequence) FROM open) AS found FROM control
        ) WHERE noted <> found""",
    "a message has no key": "SELECT sequence FROM message WHERE key NOT IN (SELECT id FROM key)",
}
"""What must not be found, and how to look for it."""


def inconsistencies(path: Path, *, thorough: bool = False) -> list[str]:
    """What is wrong; nothing, as it should be. ``thorough`` also has SQLite check every page."""
    mark = parse_mark(mark_path(path).read_bytes()) if mark_path(path).exists() else None
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(60_000)
        connection.execute(VIEWS)
        connection.execute("BEGIN")
        wrong = [
            f"{rule}: {rows[:5]}" for rule, question in RULES.items() if (rows := list(connection.execute(question)))
        ]
        commits = next(iter(connection.execute(CONTROL_READ)))[0]
        if mark is not None and mark.commits > commits:
            wrong.append(f"the mark is ahead of the file: {mark.commits} and {commits}")
        if thorough:
            checked = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            wrong += [] if checked == ["ok"] else [f"SQLite: {checked[:5]}"]
        connection.execute("COMMIT")
    finally:
        connection.close()
    return wrong
