"""What SQLite itself says of the file, and whether its tables are those of a queue."""

from __future__ import annotations

import re

import apsw

from pointsman.store import schema
from pointsman.store.doctor import questions
from pointsman.store.doctor.finding import Findings, Sample
from pointsman.store.doctor.reading import Asked

INDEX_ONLY = re.compile(r"row \d+ missing from index|wrong # of entries in index|non-unique entry in index")
"""What SQLite says when an index, and nothing else, is wrong."""
FAILED = (apsw.Error, UnicodeDecodeError)


def check_integrity(connection: Asked, findings: Findings) -> None:
    """Takes over what SQLite's own check says."""
    try:
        lines = [str(row[0]) for row in connection.execute(questions.INTEGRITY)]
    except FAILED as error:
        lines = [str(error)]
    problems = [line for line in lines if line != "ok"]
    for line in problems:
        code = "index-damage" if INDEX_ONLY.search(line) else "sqlite-damage"
        findings.add(code, Sample(about=line), detail="" if code == "index-damage" else line[:200])


def check_schema(connection: Asked, findings: Findings) -> None:
    """Compares tables and indexes with those of a new file; what others have made in the file is theirs."""
    expected = _expected()
    try:
        found = {name: sql for name, sql in connection.execute(questions.SCHEMA) if name in expected}
    except FAILED as error:
        findings.add("schema-differs", detail=str(error))
        return
    for name, sql in expected.items():
        if name not in found and name != "ready_by_key":
            findings.add("schema-differs", Sample(about=f"{name} is missing"))
        elif name in found and found[name] != sql:
            findings.add("schema-differs", Sample(about=f"{name} is another"))


def check_header(connection: apsw.Connection, findings: Findings) -> None:
    """Compares what the header says the file is."""
    for name, expected in (("application_id", schema.APPLICATION), ("user_version", schema.VERSION)):
        found = connection.pragma(name)
        if found != expected:
            findings.add("header-differs", Sample(about=f"{name} is {found}, not {expected}"))


def _expected() -> dict[str, str]:
    connection = apsw.Connection(":memory:")
    try:
        for step in schema.STEPS:
            connection.execute(step)
        connection.execute(schema.READY_BY_KEY)
        return dict(connection.execute(questions.SCHEMA))
    finally:
        connection.close()
