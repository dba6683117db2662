"""What is sent to SQLite: static text only, each statement by the index that it is meant to use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import pointsman.store
from pointsman.store import schema, statements
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.plans import SCANS, SEEKS

FOLDER = Path(pointsman.store.__file__).parent
SENDING = {"execute", "executemany", "first", "rows"}
"""Names of the methods whose first argument is a statement."""
TEXTS = {name: text for name, text in vars(statements).items() if name.isupper() and isinstance(text, str)}
WITHOUT_ROWS = re.compile(r"\s*(PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|VACUUM)\b")
PLAIN_INSERT = re.compile(
    r"\s*INSERT (OR REPLACE )?INTO \w+ (\([\w, ]+\)\s*)?VALUES \([^()]*\)"
    r"\s*(ON CONFLICT \(\w+\) DO UPDATE SET \w+ = excluded\.\w+)?\s*(RETURNING id)?\s*"
)
PLANNED = sorted(
    name for name, text in TEXTS.items() if not WITHOUT_ROWS.match(text) and not PLAIN_INSERT.fullmatch(text)
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """A file with something in every table."""
    clock = Clock()
    with Queue(tmp_path_factory.mktemp("plans") / "queue.db", clock=clock, max_attempts=1) as queue:
        queue.subscribe("some", "a.#")
        queue.subscribe("others", "b.#")
        queue.put_many((b"x", f"{'ab'[number % 2]}.{number % 50}") for number in range(400))
        for number in range(20):
            queue.put(b"x", "a.delayed", delay=10, id=f"id {number}")
        queue.ack_many(queue.pop_many(50))
        for message in queue.pop_many(10):
            queue.nack(message)
        queue.pop_many(10, "a.*")
        queue.prune()
        yield queue.store.writer.connection


def plan(connection: apsw.Connection, statement: str) -> tuple[str, ...]:
    """What SQLite says that it will do."""
    numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
    parameters = (1,) * (max(numbered) if numbered else statement.count("?"))
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
    return tuple(row[3].removesuffix(" LEFT-JOIN") for row in rows)


@pytest.mark.parametrize("name", PLANNED)
def test_a_statement_uses_its_index(connection: apsw.Connection, name: str) -> None:
    """The whole plan is written down; one that goes over a table says why it may."""
    expected = SEEKS[name] if name in SEEKS else SCANS[name][1]
    assert plan(connection, TEXTS[name]) == expected


def test_the_plans_are_those_of_the_statements() -> None:
    """No statement without a plan, and no plan without a statement."""
    assert sorted([*SEEKS, *SCANS]) == PLANNED


def test_nothing_but_the_scans_goes_over_a_table() -> None:
    """And nothing sorts: what comes in an order comes in it from the index."""
    for name, lines in SEEKS.items():
        assert all(
            re.match(r"SEARCH \w+( USING|$)|(LIST|SCALAR|CORRELATED SCALAR) SUBQUERY|SCAN CONSTANT ROW", line)
            for line in lines
        ), name
    for name, (_, lines) in SCANS.items():
        assert any(line.startswith("SCAN") for line in lines), name


def test_matching_is_never_that_of_sql() -> None:
    """Patterns are matched by Pattern."""
    everything = " ".join([*TEXTS.values(), *statements.PURGE, *schema.STEPS, schema.READY_BY_KEY])
    assert re.findall(r"\b(LIKE|GLOB|REGEXP|MATCH)\b", everything, re.IGNORECASE) == []


def test_statements_have_parameters_and_no_values() -> None:
    """The only text within a statement is the name of the queue itself, which is empty."""
    quoted = {name: re.findall(r"'[^']*'", text) for name, text in TEXTS.items()}
    assert {name: found for name, found in quoted.items() if found} == {"SUBSCRIPTION_MAIN": ["''"]}
    assert not [name for name, text in TEXTS.items() if "{" in text or "%" in text]


def sent() -> Iterator[tuple[str, ast.expr]]:
    """Every first argument of a call that sends a statement, and where it is."""
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) and node.args else None
            if isinstance(called, ast.Attribute) and called.attr in SENDING:
                choice = node.args[0]
                for argument in (choice.body, choice.orelse) if isinstance(choice, ast.IfExp) else (choice,):
                    yield f"{path.relative_to(FOLDER)}:{node.lineno}", argument


def test_no_statement_is_put_together_when_it_is_sent() -> None:
    """A statement is a name: a constant of the statements, one of several of them, or a variable that holds one."""
    assert len(list(sent())) > 50
    for place, argument in sent():
        if place.startswith("migrate") and isinstance(argument, ast.Call):
            # The table of another queue has any name, which SQL has no parameter for; it is quoted in one place.
            assert ast.unparse(argument.func) == "self._named", place
        else:
            chosen = argument.value if isinstance(argument, ast.Subscript) else argument
            assert isinstance(chosen, ast.Name | ast.Attribute), f"{place}: {ast.unparse(argument)}"


def test_the_statements_of_the_queue_are_in_one_place() -> None:
    """No other module of it has a text that begins as a statement does."""
    verbs = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|WITH) [\w(*]", re.ASCII)
    for path in sorted(FOLDER.glob("*.py")):
        if path.name in ("statements.py", "schema.py", "wildcard_tables.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not verbs.match(node.value), f"{path.name}:{node.lineno}"


def test_every_setting_is_in_effect(tmp_path: Path) -> None:
    """On the connection that writes and on the one that reads."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.size()
        with queue.store.read() as reader:
            for connection in (queue.store.writer.connection, reader):
                found = {name: connection.pragma(name) for name in ("journal_mode", "synchronous", "temp_store")}
                assert found == {"journal_mode": "wal", "synchronous": 2, "temp_store": 2}
                assert not connection.pragma("trusted_schema")
                assert connection.pragma("cell_size_check")
            assert reader.pragma("wal_autocheckpoint") == 4000
