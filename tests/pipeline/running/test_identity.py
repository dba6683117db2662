"""A run has an identity: what another run has written is neither replaced nor taken for its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pointsman.errors import InputError
from pointsman.pipeline import deliver
from pointsman.pipeline.state import batches
from pointsman.pipeline.versions import identity_of
from pointsman.store.queue import Queue
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
destinations: {archive: {type: queue, options: {path: archive.db}}, audit: , desk: }
routes:
  - {name: all, pattern: "orders.*", destinations: [archive]}
  - {name: checks, pattern: "checks.*", destinations: [audit, desk]}
"""
PIPELINE = """
table: table.yaml
source: {path: in}
destinations: {audit: {path: audit}}
"""


@pytest.fixture
def case(tmp_path: Path, spark: SparkSession) -> Case:
    """A pipeline of its own."""
    made = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    return made


def put(case: Case, number: int, domain: str = "orders") -> None:
    """Adds a message, and runs the pipeline."""
    case.add(f"{number}.json", {"subject": f"{domain}.x", "id": str(number)})
    case.run()


def test_what_is_new_reaches_the_queue_after_the_progress_was_removed(case: Case) -> None:
    """Batch 0 of a new run is not the batch 0 that the queue remembers."""
    put(case, 1)
    for name in ("offsets", "commits"):
        shutil.rmtree(case.folder / "checkpoint" / "route" / name)
    put(case, 2)
    shutil.rmtree(case.folder / "checkpoint")
    put(case, 3)
    with Queue(case.folder / "archive.db") as queue:
        assert sorted(message.id for message in queue.messages()) == [f"{each}/all/archive" for each in (1, 2, 3)]


def test_folders_with_batches_of_another_run_are_refused_and_left_as_they_are(case: Case) -> None:
    """A new run goes on once each folder that it writes to is another one, or removed."""
    put(case, 1, "checks")
    shutil.rmtree(case.folder / "checkpoint")
    shutil.rmtree(case.folder / "in")
    (case.folder / "in").mkdir()
    for folder in ("out", "audit"):
        before = {path: path.read_bytes() for path in case.folder.rglob("*.json")}
        with pytest.raises(InputError, match=f"{folder!r} holds (batch=0|routed) of another run") as caught:
            put(case, 2, "checks")
        assert (caught.value.code, Path(str(caught.value.file)).name) == ("folder-taken", folder)
        assert before.items() <= {path: path.read_bytes() for path in case.folder.rglob("*.json")}.items()
        shutil.rmtree(case.folder / folder)
    put(case, 3, "checks")
    assert sorted(row["id"] for row in case.read("deliveries")) == ["2", "3"]


def test_what_was_kept_of_the_batches_cannot_be_removed_in_silence(case: Case) -> None:
    """Turns of balances would begin anew; the error comes before anything is read."""
    put(case, 1)
    shutil.rmtree(case.folder / "checkpoint" / "pointsman")
    for _ in range(2):
        with pytest.raises(InputError, match="what was kept of it is gone") as caught:
            put(case, 2)
        assert caught.value.code == "checkpoint-incomplete"
    with Queue(case.folder / "archive.db") as queue:
        assert [message.id for message in queue.messages()] == ["1/all/archive"]


def test_two_queries_that_deliver_do_not_share_a_folder(tmp_path: Path, spark: SparkSession) -> None:
    """Their batches have the same numbers."""
    table = RoutingTable.parse("routes: [{name: all, pattern: '>', destinations: [desk]}]")
    row: dict[str, Any] = {
        "id": "1",
        "subject": "a",
        "route": "all",
        "destination": "desk",
        "delivery_id": "1/all/desk",
    }
    made = spark.createDataFrame([row])
    deliver(made, table, tmp_path / "out", query="first")
    with pytest.raises(InputError, match="of another run") as caught:
        deliver(made, table, tmp_path / "out", query="second")
    assert caught.value.code == "folder-taken"
    deliver(made, table, tmp_path / "out", query="first")


def made_checkpoint(folder: Path, query: str, kept: Path, *, count: int = 2) -> str:
    """A checkpoint of which a query has committed so many batches; gives its identity."""
    identity = identity_of(folder)
    for batch in range(count):
        for name in ("offsets", "commits"):
            path = folder / query / name / str(batch)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("v1")
        batches.begin(kept, batch, {"table": "t"})
        batches.record(kept, batch, State(), {"table": "t"})
    return identity


@pytest.mark.parametrize(("query", "kept"), [("route", "."), ("follow", "commands")])
def test_the_identity_is_new_when_progress_was_removed_and_only_then(tmp_path: Path, query: str, kept: str) -> None:
    """Also if the last batches alone were; then what was kept of these is forgotten."""
    first = made_checkpoint(tmp_path, query, tmp_path / kept)
    (tmp_path / query / "commits" / "1").unlink()
    assert identity_of(tmp_path) == first
    (tmp_path / query / "offsets" / "1").unlink()
    second = identity_of(tmp_path)
    assert second != first
    assert identity_of(tmp_path) == second
    assert [batches.recorded(tmp_path / kept, batch) is None for batch in (0, 1)] == [False, True]


@pytest.mark.parametrize(
    ("query", "kept", "gone"),
    [
        ("route", ".", "pointsman"),
        ("route", ".", "pointsman/run.json"),
        ("route", ".", "pointsman/state"),
        ("route", ".", "route/offsets"),
        ("follow", "commands", "commands/pointsman"),
        ("follow", "commands", "commands"),
    ],
)
def test_a_checkpoint_of_which_a_part_is_gone_is_refused(tmp_path: Path, query: str, kept: str, gone: str) -> None:
    """It would go on with something else than it stopped with."""
    made_checkpoint(tmp_path, query, tmp_path / kept)
    path = tmp_path / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            identity_of(tmp_path)
        assert caught.value.code == "checkpoint-incomplete"


def test_a_file_that_holds_no_identity_is_refused(tmp_path: Path) -> None:
    """A damaged one is not replaced by a new identity."""
    identity_of(tmp_path)
    (tmp_path / "pointsman" / "run.json").write_text(json.dumps(["something else"]))
    with pytest.raises(InputError, match="no identity") as caught:
        identity_of(tmp_path)
    assert caught.value.code == "bad-state"
