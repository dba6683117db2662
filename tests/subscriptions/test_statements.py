"""What is sent to SQLite for wildcard subscriptions: each statement by the index that it is meant to use."""

from __future__ import annotations

import re
from array import array

import apsw
import pytest

from pointsman.store.queue import Queue
from pointsman.subscriptions import statements
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.plans import PLANS
from tests.subscriptions.test_registry import EVERYTHING

TEXTS = {name: text for name, text in vars(statements).items() if name.isupper() and isinstance(text, str)}
PLANNED = sorted(name for name, text in TEXTS.items() if not text.startswith("PRAGMA"))


@pytest.mark.parametrize("name", PLANNED)
def test_every_statement_goes_by_its_index(name: str) -> None:
    """As SQLite explains it, on a file with something in it."""
    text = TEXTS[name]
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        for subscription in EVERYTHING:
            registry.create(subscription)
        registry.delete("plain")
        numbered = [int(number) for number in re.findall(r"\?(\d+)", text)]
        parameters: list[object] = [1] * (max(numbered) if numbered else text.count("?"))
        if "carray(" in text:
            parameters[0] = apsw.carray(array("q", [1]))
        for create in (statements.ALIKE_CREATE, statements.FORMS_CREATE):
            queue.store.writer.connection.execute(create)
        rows = queue.store.writer.connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)
        assert tuple(row[3].removesuffix(" LEFT-JOIN") for row in rows) == PLANS[name]


def test_every_plan_is_that_of_a_statement() -> None:
    """None is left over."""
    assert sorted(PLANS) == PLANNED
