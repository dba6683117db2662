"""A process of the crash test: python -m tests.crash.worker ROLE FOLDER WORKER SEED BEFORE.

It works until it is killed. FOLDER holds the queue and the journals; BEFORE is the worker whose place it
takes, or empty.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

from pointsman.store.queue import Queue
from tests.crash import consuming, producing
from tests.crash.consuming import Place
from tests.crash.journal import Journal, end_with_parent
from tests.crash.letters import ASKED, SUBSCRIPTIONS

MAXSIZE = 4000
MAX_ATTEMPTS = 200
FILE = "queue.db"
Work = Callable[[Queue, Journal, str, random.Random, Path], None]

ROLES: dict[str, Work] = {
    "producer": producing.produce,
    "threads": lambda queue, journal, worker, source, _: producing.produce_together(queue, journal, worker, source),
    "batches": lambda queue, journal, worker, source, _: producing.produce_many(queue, journal, worker, source),
    "first": lambda queue, journal, _, source, __: consuming.consume(queue, journal, source, Place()),
    "chain": lambda queue, journal, _, __, ___: consuming.consume_chain(queue, journal, Place()),
    "asking": lambda queue, journal, _, source, __: consuming.consume(queue, journal, source, Place(ASKED)),
    "electronics": lambda queue, journal, _, source, __: consuming.consume(
        queue, journal, source, Place(SUBSCRIPTIONS["electronics"])
    ),
    "books": lambda queue, journal, _, __, ___: consuming.consume_chain(queue, journal, Place(subscription="books")),
    "everything": lambda queue, journal, _, source, __: consuming.consume_many(
        queue, journal, source, Place(subscription="everything")
    ),
    "pruner": lambda queue, _, __, source, ___: consuming.prune(queue, source),
}


def main(role: str, folder: str, worker: str, seed: str, before: str) -> None:
    """Does the work of a role."""
    path = Path(folder)
    journal = Journal(path / f"{worker}.journal")
    with Queue(path / FILE, maxsize=MAXSIZE, max_attempts=MAX_ATTEMPTS, busy_timeout=60.0) as queue:
        journal.write("started")
        ROLES[role](queue, journal, worker, random.Random(seed), path / f"{before}.journal")


if __name__ == "__main__":
    end_with_parent()
    main(*sys.argv[1:])
