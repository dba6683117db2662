"""The producers of the crash test: one by one, in threads that share a commit, and many at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from pointsman.errors import StoreError
from pointsman.store.message import Draft
from pointsman.store.queue import Queue
from tests.crash.journal import Journal, read_journal
from tests.crash.letters import data_of, key_of

THREADS = 8


def produce(queue: Queue, journal: Journal, worker: str, source: random.Random, before: Path) -> None:
    """Puts messages with ids, first those again of which the worker before did not hear whether they were put."""
    for name in _unanswered(before):
        _put(queue, journal, name, source, id=name)
    for number in count():
        name = f"{worker}:{number}"
        _put(queue, journal, name, source, id=name if source.random() < 0.7 else None)


def produce_together(queue: Queue, journal: Journal, worker: str, source: random.Random) -> None:
    """Puts messages from several threads at a time, whose calls share transactions."""

    def work(thread: int, own: random.Random) -> None:
        for number in count():
            _put(queue, journal, f"{worker}:{thread}:{number}", own)

    threads = [
        threading.Thread(target=work, args=(each, random.Random(source.random())), daemon=True)
        for each in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    while all(thread.is_alive() for thread in threads):
        time.sleep(0.05)
    raise SystemExit("a thread has ended")


def produce_many(queue: Queue, journal: Journal, worker: str, source: random.Random) -> None:
    """Puts several messages in each call."""
    for number in count():
        names = [f"{worker}:{number}:{each}" for each in range(source.randint(2, 20))]
        delay = source.choice((None, None, 0.02))
        drafts = [Draft(data_of(name), key_of(name), source.randint(1, 10), delay) for name in names]
        journal.write("putting", names, None)
        try:
            queue.put_many(drafts)
        except StoreError as error:
            _refused(journal, names, error)
        else:
            journal.write("put", names)


def _put(queue: Queue, journal: Journal, name: str, source: random.Random, id: str | None = None) -> None:
    journal.write("putting", [name], id)
    delay = source.choice((None, None, None, 0.05))
    try:
        queue.put(data_of(name), key_of(name), priority=source.randint(1, 10), delay=delay, id=id)
    except StoreError as error:
        _refused(journal, [name], error)
    else:
        journal.write("put", [name])


def _refused(journal: Journal, names: list[str], error: StoreError) -> None:
    if error.code != "queue-full":
        raise error
    journal.write("refused", names)
    time.sleep(0.02)


def _unanswered(before: Path) -> Iterator[str]:
    """Messages with an id of which nobody heard what became of them."""
    waiting: dict[str, None] = {}
    for line in read_journal(before) if before.exists() else ():
        if line.word == "putting" and line.fields[1] is not None:
            waiting[line.fields[1]] = None
        elif line.word in ("put", "refused"):
            waiting.pop(line.fields[0][0], None)
    yield from waiting
