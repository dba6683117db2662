"""Several processes on one file: who publishes, who handles, who is killed, and who waits without asking."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pointsman import Broker, Queue
from tests.broker.running import in_loop, until
from tests.broker.worker import TABLE

WORKER = Path(__file__).with_name("worker.py")


@contextmanager
def process(file: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A worker, ended by the end of its input; it is killed if the test fails."""
    command = [sys.executable, str(WORKER), str(file), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        try:
            yield worker
            if worker.stdin is not None:
                worker.stdin.close()
            worker.wait(30)
        finally:
            worker.kill()


def line(worker: subprocess.Popen[str]) -> list[str]:
    """The words of the next line that a worker says."""
    assert worker.stdout is not None
    return worker.stdout.readline().split()


def used(worker: subprocess.Popen[str]) -> float:
    """Seconds of the processor that a worker has used."""
    assert worker.stdin is not None
    worker.stdin.write("?\n")
    worker.stdin.flush()
    return float(line(worker)[1])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file on which the subscription ``work`` is known."""
    path = tmp_path / "app.db"
    with Queue(path) as queue:
        queue.subscribe("work", "work")
    return path


def test_one_process_publishes_and_another_handles(file: Path) -> None:
    """Whichever of them comes first."""
    with process(file, "publish", "work", "early") as publisher:
        assert line(publisher) == ["published", "early"]
    with process(file, "handle", "0", "60") as handler:
        assert sorted([line(handler), line(handler), line(handler)]) == [
            ["begin", "early", "1"],
            ["end", "early"],
            ["ready"],
        ]
        with process(file, "publish", "work", "a", "b") as publisher:
            assert [line(publisher) for _ in range(2)] == [["published", "a"], ["published", "b"]]
            assert [line(handler)[:2] for _ in range(4)] == [["begin", "a"], ["end", "a"], ["begin", "b"], ["end", "b"]]


def test_a_process_that_waits_uses_hardly_any_time_and_is_woken_at_once(file: Path) -> None:
    """It does not ask again and again; nor would it answer so quickly if it asked now and then."""
    with process(file, "handle", "0", "60") as handler:
        assert line(handler) == ["ready"]
        before, began = used(handler), time.monotonic()
        time.sleep(1.5)
        assert used(handler) - before < 0.1 * (time.monotonic() - began)

        @in_loop
        async def ask() -> None:
            async with Broker(file, TABLE) as broker:
                # Had each of them to wait until somebody looks again, they would take a minute and more.
                for number in range(60):
                    assert (await broker.request("work", str(number), timeout=20)).body == str(number).encode()

        ask()


def test_a_process_without_handlers_has_nothing_to_do_with_what_is_due_for_others(file: Path) -> None:
    """Delays and leases that ended, of which it has no consumer, do not keep it busy."""
    with Queue(file, main="never") as queue:
        queue.put(b"late", "work", delay=0.01)
        queue.put(b"held", "work")
        assert queue.pop(subscription="work", lease=0.01) is not None
    with process(file, "idle") as worker:
        assert line(worker) == ["ready"]
        before, began = used(worker), time.monotonic()
        time.sleep(1.0)
        assert used(worker) - before < 0.1 * (time.monotonic() - began)


def test_a_message_arrives_though_its_publisher_is_killed_right_after_the_commit(file: Path) -> None:
    """Nobody was told of it, and still it is found."""
    with process(file, "handle", "0", "60") as handler:
        assert line(handler) == ["ready"]
        with process(file, "die") as publisher:
            assert publisher.wait(30) == -9
        assert line(handler) == ["begin", "last", "words", "1"]


def test_what_a_killed_handler_had_goes_to_another_when_its_lease_has_run_out(file: Path) -> None:
    """As its second attempt."""
    with process(file, "handle", "1000", "1") as first:
        assert line(first) == ["ready"]
        with process(file, "publish", "work", "a"):
            assert line(first) == ["begin", "a", "1"]
        first.kill()
        with process(file, "handle", "0", "1") as second:
            assert min(line(second), line(second)) == ["begin", "a", "2"]


def test_a_handler_that_takes_longer_than_its_lease_keeps_its_message(file: Path) -> None:
    """Another process with the same handler does not get it."""
    with process(file, "handle", "1.5", "0.3") as first:
        assert line(first) == ["ready"]
        with process(file, "publish", "work", "slow"):
            assert line(first) == ["begin", "slow", "1"]
        with process(file, "handle", "0", "0.3") as second:
            assert line(second) == ["ready"]
            assert line(first) == ["end", "slow"]
            assert second.stdin is not None
            assert second.stdout is not None
            second.stdin.close()
            assert second.stdout.read() == ""


def test_two_handlers_share_the_messages_of_one_subscription(file: Path) -> None:
    """Each message is handled once."""
    bodies = [str(number) for number in range(40)]
    with process(file, "handle", "0.005", "60") as one, process(file, "handle", "0.005", "60") as two:
        assert line(one) == line(two) == ["ready"]
        with process(file, "publish", "work", *bodies):
            pass
        with Queue(file, dialect=None) as queue:
            while queue.size("work").ready or queue.size("work").leased:
                time.sleep(0.01)
        for worker in (one, two):
            assert worker.stdin is not None
            worker.stdin.close()
        said = [(each.stdout.read() if each.stdout else "").splitlines() for each in (one, two)]
    ended = [[text.split()[1] for text in lines if text.startswith("end")] for lines in said]
    assert sorted(ended[0] + ended[1]) == sorted(bodies)
    assert min(len(ended[0]), len(ended[1])) > 0


def test_processes_that_publish_share_the_state_of_the_table(file: Path) -> None:
    """Two of them take turns between two destinations, and each gets exactly half."""
    with process(file, "publish", "turn", *"abcdefghij") as one, process(file, "publish", "turn", *"klmnopqrst") as two:
        for worker in (one, two):
            assert [line(worker)[0] for _ in range(10)] == ["published"] * 10
    with Queue(file, dialect=None) as queue:
        assert [queue.size(f"destination:{name}").ready for name in ("one", "two")] == [10, 10]


@in_loop
async def test_two_brokers_of_one_process_may_be_on_one_file(file: Path) -> None:
    """Each with handlers of its own."""
    seen: list[str] = []
    async with Broker(file, TABLE) as one, Broker(file, TABLE) as two:
        one.on("work", name="work")(lambda message: seen.append(message.body.decode()))
        two.handler("one")(lambda message: seen.append(f"one {message.body.decode()}"))
        await asyncio.gather(two.publish("work", "a"), one.publish("turn", "b"))
        await until(lambda: sorted(seen) == ["a", "one b"])
