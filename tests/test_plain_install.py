"""A plain ``pip install`` of the project, without any extra, into an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = ("numpy", "numba", "pyarrow", "pandas", "pyspark")
TABLE = """
routes:
  - {name: large, pattern: "orders.>", strategy: content, when: "body.amount > 1000", destinations: [premium]}
  - {name: other, pattern: "orders.>", strategy: content, when: "TRUE", destinations: [standard]}
expectations:
  - {message: {subject: orders.eu, body: {amount: 2000}}, deliveries: [{route: large, destination: premium}]}
"""
USE = """
import asyncio, importlib.util, json, sys
from pointsman import Broker, Message, Pattern, Queue, RoutingTable

found = {name: importlib.util.find_spec(name) is not None for name in sys.argv[2:]}
table = RoutingTable.load(sys.argv[1])
order = Message("orders.eu", b'{"amount": 2000}')

async def deliver():
    got = asyncio.get_running_loop().create_future()
    async with Broker(":memory:", table) as broker:
        @broker.handler("premium")
        async def handle(received):
            got.set_result(received.message.subject)
        await broker.publish(order)
        return await asyncio.wait_for(got, 10)

with Queue(":memory:") as queue:
    queue.put(b"x", "orders.eu")
    message = queue.pop()
    queue.ack(message)
try:
    from pointsman import CompiledIndex
except ImportError as error:
    compiled = str(error)
print(json.dumps({
    "found": found,
    "matches": Pattern("orders.*").matches("orders.eu"),
    "decided": [each.destination for each in table.decide(order).deliveries],
    "popped": message.body.decode(),
    "delivered": asyncio.run(deliver()),
    "compiled": compiled,
}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the project alone."""
    place = tmp_path_factory.mktemp("plain")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    program = place / "bin" / "python"
    subprocess.run([program, "-m", "pip", "install", "--quiet", str(ROOT)], check=True, timeout=600)
    return program


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The file of a table."""
    path = tmp_path / "table.yaml"
    path.write_text(TABLE)
    return path


def test_patterns_tables_queue_and_broker_work_without_any_extra(python: Path, table: Path) -> None:
    """And what needs an extra names it."""
    done = subprocess.run([python, "-c", USE, str(table), *HEAVY], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["found"] == dict.fromkeys(HEAVY, False)
    assert (told["matches"], told["popped"], told["delivered"]) == (True, "x", "orders.eu")
    assert told["decided"] == ["premium"]
    assert 'pip install "pointsman[columns]"' in told["compiled"]


@pytest.mark.parametrize("words", [["check"], ["explain", "orders.eu"], ["test"], ["graph"]])
def test_commands_over_a_table_work_without_any_extra(python: Path, table: Path, words: list[str]) -> None:
    """Those that check, explain, test and draw it."""
    name, *rest = words
    command = [python, "-m", "pointsman", name, str(table), *rest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_command_that_needs_an_extra_names_it(python: Path, table: Path, tmp_path: Path) -> None:
    """With exit code 2, and without a traceback."""
    messages = tmp_path / "messages.jsonl"
    messages.write_text('{"subject": "orders.eu"}\n')
    command = [
        python,
        "-m",
        "pointsman",
        "route",
        str(table),
        "--messages",
        str(messages),
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "error[missing-extra]" in done.stderr
    assert "pointsman[columns]" in done.stderr
    assert "Traceback" not in done.stderr
