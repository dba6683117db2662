"""A program that is interrupted at random instants: python -m tests.store.failures.interrupted FILE THREADS.

It raises if a promise is broken, and hangs for 60 seconds at most; otherwise it prints how often it was interrupted.
"""

from __future__ import annotations

import faulthandler
import random
import signal
import sys
import threading
import time

from pointsman.store.queue import Queue

ROUNDS = 400


class Interrupted(BaseException):
    """What stops the program, as ``KeyboardInterrupt`` does."""


def stop(*_: object) -> None:
    """What an alarm does, wherever the program is."""
    raise Interrupted


def one_after_the_other(queue: Queue, source: random.Random) -> tuple[set[str], int]:
    """Puts, pops and acknowledges: what was put for certain, and how often it was interrupted."""
    certain, count = set(), 0
    for number in range(ROUNDS):
        try:
            signal.setitimer(signal.ITIMER_REAL, source.uniform(0.00001, 0.002))
            queue.put(f"main {number}", "orders.books")
            certain.add(f"main {number}")
            message = queue.pop("orders.*")
            if message is not None:
                queue.ack(message)
            with queue.transaction() as outbox:
                outbox.put(f"outbox {number}", "orders.games")
            certain.add(f"outbox {number}")
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            count += 1
    return certain, count


def main(path: str, threads: int) -> int:
    """Is interrupted while other threads put, and looks whether the queue is as it should be; how often it was."""
    ended, counts = threading.Event(), [0] * threads
    with Queue(path, durability="normal", busy_timeout=1.0) as queue:

        def work(thread: int) -> None:
            while not ended.is_set():
                queue.put(f"thread {thread} {counts[thread]}", "orders.films")
                counts[thread] += 1
                time.sleep(0.001)

        workers = [threading.Thread(target=work, args=(each,)) for each in range(threads)]
        for worker in workers:
            worker.start()
        certain, count = one_after_the_other(queue, random.Random(threads))
        ended.set()
        for worker in workers:
            worker.join()
        with Queue(path, busy_timeout=0.5) as other:
            other.put("of another")
        found = [str(message.data) for message in queue.messages(limit=100_000)]
        expected = certain | {f"thread {each} {number}" for each in range(threads) for number in range(counts[each])}
        assert expected <= set(found), expected - set(found)
        assert len(found) == len(set(found)), "something was put twice"
    return count


if __name__ == "__main__":
    faulthandler.dump_traceback_later(60, exit=True)
    signal.signal(signal.SIGALRM, stop)
    print(main(sys.argv[1], int(sys.argv[2])))
