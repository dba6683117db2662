"""What is saved of a damaged file: the wildcard subscriptions, too."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.doctor.repairing import repair
from pointsman.store.queue import Queue
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.found import check_consistent, stored
from tests.subscriptions.test_registry import EVERYTHING

NO_CHANGES = """
ALTER TABLE wildcard_control DROP COLUMN gone;
ALTER TABLE wildcard_control DROP COLUMN recent;
PRAGMA user_version = 3;
"""
"""What makes a file one of the version before the last changes were noted."""


@pytest.mark.parametrize("older", ["", NO_CHANGES])
def test_subscriptions_are_saved_from_a_file_without_its_beginning(tmp_path: Path, older: str) -> None:
    """With their numbers, and with what was deleted; also from a file of an older version."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put(b"1", "a.b")
        registry = Registry(queue.store)
        registry.import_many(EVERYTHING)
        registry.delete("plain")
        before = registry.list(), registry.changes()
    connection = apsw.Connection(str(path))
    list(connection.execute(older))
    connection.close()
    with path.open("r+b") as file:
        file.write(bytes(16))
    repair(path)
    saved = f"{path}-salvaged"
    assert diagnose(saved).healthy
    with Queue(saved) as queue:
        registry = Registry(queue.store)
        assert (registry.list(), registry.changes()) == before
        check_consistent(registry)
        registry.create(EVERYTHING[0])
        assert len(stored(registry)) == len(EVERYTHING)
        check_consistent(registry)


def test_a_healthy_file_with_subscriptions_is_healthy(tmp_path: Path) -> None:
    """Its tables are the queue's own."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        Registry(queue.store).import_many(EVERYTHING)
    assert diagnose(path).healthy
