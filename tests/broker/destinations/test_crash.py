"""A process that delivers is killed: what it said was delivered is there, and the next one goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pointsman.destinations import make_sink
from pointsman.store.queue import Queue
from tests.broker.destinations.deliveries import deliver, delivery

LARGE = 1 << 20
PROGRAM = """
import asyncio, sys
from pathlib import Path
from pointsman.destinations import make_sink
from tests.broker.destinations.deliveries import delivery

async def run(sink, large):
    await sink.open()
    for number in range(1_000_000):
        await sink.deliver(delivery(b"x" * large, number=number))
        print(number, flush=True)

asyncio.run(run(make_sink("there", sys.argv[1], {"path": sys.argv[2]}, Path()), int(sys.argv[3])))
"""


def killed_after(count: int, type_name: str, path: Path) -> int:
    """How many deliveries a process reported before it was killed, which was some time after the first few."""
    program = [sys.executable, "-c", PROGRAM, type_name, str(path), str(LARGE)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        for _ in range(count):
            assert process.stdout.readline()
        process.kill()
        return count + len(process.stdout.readlines())


def found(type_name: str, path: Path) -> set[str]:
    """The ids of the deliveries that a reader finds whole."""
    if type_name == "queue":
        with Queue(path) as queue:
            return {each.id for each in queue.pop_many(10_000) if len(each.data) == LARGE}
    files = [path] if type_name == "file" else path.glob("*.json")
    texts = [line for file in files for line in file.read_bytes().split(b"\n")]
    records = [record for text in texts if (record := parsed(text)) is not None]
    return {record["delivery_id"] for record in records if len(record["body"]) == LARGE}


def parsed(text: bytes) -> dict[str, str] | None:
    """The object that a text is; None for a text that was broken off."""
    try:
        record: dict[str, str] = json.loads(text)
    except ValueError:
        return None
    return record


@pytest.mark.parametrize("type_name", ["file", "folder", "queue"])
def test_what_was_delivered_before_a_kill_is_there_and_deliveries_go_on(type_name: str, tmp_path: Path) -> None:
    """The delivery that was under way may be there, or a part of it that no reader takes for one."""
    path = tmp_path / "out"
    reported = killed_after(3, type_name, path)
    next_one = delivery(b"x" * LARGE, number=-1)
    assert deliver(make_sink("there", type_name, {"path": str(path)}, tmp_path), next_one) == [None]
    expected = {f"delivery-{number}" for number in (-1, *range(reported))}
    assert expected <= found(type_name, path) <= expected | {f"delivery-{reported}"}
