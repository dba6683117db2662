"""Several processes on one file: a matcher lives as long as somebody, anywhere, uses it."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pointsman.store.queue import Queue
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.found import check_consistent, everything, stored
from tests.subscriptions.worker import subscription

ROUNDS = 40


def test_matchers_shared_by_processes_go_with_their_last_user(tmp_path: Path) -> None:
    """Two processes make and delete what shares matchers; what is left over is what is used, and is all found."""
    path = tmp_path / "queue.db"
    Queue(path).close()
    processes = [
        subprocess.Popen([sys.executable, "-m", "tests.subscriptions.worker", str(path), name, str(ROUNDS)])
        for name in ("one", "two")
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    with Queue(path) as queue:
        registry = Registry(queue.store)
        assert sorted(each.id for each in stored(registry)) == [f"one-{ROUNDS - 1}", f"two-{ROUNDS - 1}"]
        check_consistent(registry)
        for each in stored(registry):
            assert registry.delete(each.id)
        assert registry.matchers() == registry.patterns() == []
        changes = list(everything(registry.changes, 100))
        assert {change.kind for change in changes} == {"deleted"}
        assert len(changes) == 2 * (ROUNDS + 20)
        check_consistent(registry)


def test_threads_share_matchers_too(registry: Registry) -> None:
    """Their changes may be written in one transaction, where each is by itself."""

    def work(name: str) -> None:
        chance = random.Random(name)
        for number in range(15):
            registry.create(subscription(f"{name}-{number}", chance))
            assert registry.delete(f"{name}-{number}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, "abcd"))
    assert registry.list() == registry.matchers() == registry.patterns() == []
    check_consistent(registry)
