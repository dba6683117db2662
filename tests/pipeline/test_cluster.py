"""The pipeline on a real cluster: a standalone master, two workers, and programs that are given to them."""

from __future__ import annotations

import json
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from pointsman.table.tools.messages_file import read_messages
from tests.pipeline.cluster import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"
FILES, LINES = 4, 30
PACKED = f"""#!/bin/sh
touch "${{0%/*}}/used"
exec '{sys.executable}' "$@"
"""
"""Stands for the Python of a packed environment, and leaves a file where it was used."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster; none of its processes is left when the tests are done, nor any that they have started."""
    with Cluster.started(tmp_path_factory.mktemp("cluster")) as cluster:
        assert any("deploy.master.Master" in command for command in cluster.left().values())
        _write_messages(cluster.folder / "in")
        yield cluster
    assert cluster.left() == {}


def test_a_batch_is_routed_by_both_workers_as_decide_does(cluster: Cluster) -> None:
    """Each fetches the packed Python and takes tasks; the outcome is that of ``decide``."""
    packed = _pack(cluster.folder)
    command = ["route", str(SHOP), "--messages", "in", "--out", "out", "--out-format", "json", "--master", cluster.url]
    settings = {"PYSPARK_PYTHON": "environment/bin/python", "PYSPARK_SUBMIT_ARGS": f"--archives {packed} pyspark-shell"}
    program = cluster.run(["pointsman", *command, "--json"], **settings)
    assert program.returncode == 0, program.stderr
    assert json.loads(program.stdout)["messages"]["read"] == FILES * LINES
    out = cluster.folder / "out"
    expected = _decided(cluster.folder / "in")
    # Balances give each destination its share, and which message it gets is not promised.
    assert _without_turns(_delivered(out / "deliveries")) == _without_turns(expected["delivered"].elements())
    assert {row["id"] for row in _rows(out / "quarantine")} == set(expected["refused"])
    assert {row["id"] for row in _rows(out / "unrouted")} == set(expected["unrouted"])
    executors = cluster.executors()
    assert len(executors) == 2
    for folder in executors.values():
        assert (folder / "environment" / "bin" / "used").exists()
    assert set(_tasks(cluster.folder / "events" / next(iter(executors.values())).parent.name)) == set(executors)


def test_a_folder_that_workers_do_not_share_is_refused(cluster: Cluster) -> None:
    """Of a path that means another folder in each process, Spark itself would make an empty folder and say nothing."""
    pipeline = {
        "table": str(SHOP),
        "source": {"path": "in"},
        "out": "/proc/self/cwd/elsewhere",
        "master": cluster.url,
        # Nothing of this package is needed to ask the workers, and the other module imports all of it.
        "spark": {"spark.python.daemon.module": "pyspark.daemon"},
    }
    (cluster.folder / "pipeline.yaml").write_text(json.dumps(pipeline))
    program = cluster.run(["pointsman", "run", "pipeline.yaml"])
    assert program.returncode == 2
    assert "error[folder-elsewhere]" in program.stderr
    assert "it does not see what the driver has written there" in program.stderr
    assert len(cluster.executors()) == 2
    assert list((cluster.folder / "elsewhere").iterdir()) == []


def _pack(folder: Path) -> str:
    """An archive with an environment, as Spark is given one, and the folder that it is to be unpacked in."""
    (folder / "python").write_text(PACKED)
    (folder / "python").chmod(0o755)
    with tarfile.open(folder / "packed.tar.gz", "w:gz") as archive:
        archive.add(folder / "python", "bin/python")
    return f"{folder / 'packed.tar.gz'}#environment"


def _write_messages(folder: Path) -> None:
    """Messages for every strategy of the shop, some refused and some for nobody, in files of a task each."""
    kinds: list[dict[str, Any]] = [
        {"subject": "orders.eu.laptops", "body": {"amount": 1500}, "principal": "shop"},
        {"subject": "orders.eu.books", "body": {"amount": 15}, "principal": "shop"},
        {"subject": "mail.welcome", "principal": "shop"},
        {"subject": "newsletters.weekly", "metadata": {"customer": "c1"}, "principal": "shop"},
        {"subject": "alerts.critical.fire"},
        {"subject": "payments.card.declined", "metadata": {"country": "FR", "attempts": "3"}},
        {"subject": "prices.ask", "correlation_id": "p"},
        {"subject": "orders.returned", "principal": "shop"},
        {"subject": "internal.graph.events.node_added"},
        {"subject": "a..b"},
    ]
    folder.mkdir()
    for file in range(FILES):
        lines = [{"id": f"{file}-{line}"} | kinds[(file + line) % len(kinds)] for line in range(LINES)]
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _decided(folder: Path) -> dict[str, Any]:
    """What ``decide`` makes of the messages, file by file and line by line."""
    table, state = RoutingTable.load(SHOP), State()
    delivered: Counter[tuple[str, ...]] = Counter()
    refused, unrouted = [], []
    for file in sorted(folder.iterdir()):
        for line in read_messages(file, received=True):
            decision = table.decide(line.message, state, principal=line.principal)
            state = decision.state
            delivered.update(
                (line.message.id, each.route, each.destination, each.subject) for each in decision.deliveries
            )
            if decision.refused:
                refused.append(line.message.id)
            elif not decision.deliveries:
                unrouted.append(line.message.id)
    assert len(delivered) > FILES * LINES
    assert refused
    return {"delivered": delivered, "refused": refused, "unrouted": unrouted}


def _without_turns(deliveries: Iterable[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """The deliveries, those of balances that count without their destinations."""
    return Counter((id, route, "" if route == "mail" else name, subject) for id, route, name, subject in deliveries)


def _delivered(folder: Path) -> Iterator[tuple[str, ...]]:
    for destination in folder.glob("destination=*"):
        for row in _rows(destination):
            yield row["id"], row["route"], destination.name.removeprefix("destination="), row["subject"]


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in folder.glob("*.json"):
        for line in file.read_text().splitlines():
            yield json.loads(line)


def _tasks(log: Path) -> Counter[str]:
    """How many tasks each executor has done, by Spark's own log."""
    events = (json.loads(line) for line in log.read_text().splitlines())
    return Counter(event["Task Info"]["Executor ID"] for event in events if event["Event"] == "SparkListenerTaskEnd")
