"""Dead letters that are replayed, also after the replay itself was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.cli.main import main
from pointsman.errors import InputError
from pointsman.pipeline import deliver, route
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.replay import Replayed, Replayer
from pointsman.store.queue import Queue
from pointsman.table.routing_table import RoutingTable
from tests.pipeline.running.endpoint import endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
destinations:
  hook: {type: http, options: {url: "URL"}}
  archive: {type: queue, options: {path: wall/archive.db}}
  audit:
  files:
routes:
  - {name: all, pattern: ">", destinations: [hook, archive, audit, files]}
"""
PIPELINE = """
table: table.yaml
source: {path: in}
master: local[1]
destinations:
  audit: {format: parquet, path: wall/audit}
  hook: {format: http, options: {wait: 10ms, attempts: 1, concurrency: 2}}
spark: {spark.sql.shuffle.partitions: 1}
"""


def prepared(folder: Path, spark: SparkSession, url: str, count: int) -> Replayer:
    """A pipeline of which everything failed but the files, and the replayer of it."""
    (folder / "wall").write_text("where a folder should be")
    (folder / "table.yaml").write_text(TABLE.replace("URL", url))
    (folder / "pipeline.yaml").write_text(PIPELINE)
    file = PipelineFile.load(folder / "pipeline.yaml")
    table = RoutingTable.load(folder / "table.yaml")
    messages = spark.range(count).selectExpr("concat('m', id) AS id", "concat('orders.n', id) AS subject")
    sinks = {
        name: sink.model_copy(update={"path": sink.path and file.at(sink.path)})
        for name, sink in file.written.destinations.items()
    }
    placed = RoutingTable.parse(TABLE.replace("URL", url).replace("wall/archive.db", f"{folder}/wall/archive.db"))
    told = deliver(route(messages, table).deliveries, placed, folder / "out", sinks=sinks)
    assert {row.destination for row in told.where("failure IS NOT NULL").collect()} == {"hook", "archive", "audit"}
    return Replayer(spark, file, table, str(folder / "checkpoint"))


def by_name(done: list[Replayed]) -> dict[str, tuple[int, int, str]]:
    """How many there were, how many were delivered, and why the others were not."""
    return {each.destination: each[3:] for each in done}


def test_dead_letters_are_delivered_again_and_what_fails_again_stays_dead(tmp_path: Path, spark: SparkSession) -> None:
    """With the new reason and one attempt more; the next replay has only these."""
    with endpoint(lambda *_: 503) as hook:
        replayer = prepared(tmp_path, spark, hook.url, 4)
        looked = [replayer.look(folder) for folder in replayer.folders()]
        assert by_name(looked)["hook"] == (4, 0, "the answer is 503")
        (tmp_path / "wall").unlink()
        hook.answer = lambda key, _: 404 if key.startswith("m3/") else 200
        done = [replayer.replay(folder) for folder in replayer.folders()]
        assert by_name(done) == {
            "hook": (4, 3, "the answer is 404"),
            "archive": (4, 4, ""),
            "audit": (4, 4, ""),
        }
        dead = spark.read.parquet(str(tmp_path / "out/dead/hook")).collect()
        assert [(row.id, row.dead.reason, row.dead.attempts) for row in dead] == [("m3", "the answer is 404", 2)]
        hook.answer = lambda *_: 200
        assert [folder.destination for folder in replayer.folders()] == ["hook"]
        assert replayer.replay(replayer.folders("hook")[0])[3:] == (1, 1, "")
        assert replayer.folders() == []
        assert hook.taken == {f"m{n}/all/hook": 1 for n in range(4)}
    assert spark.read.parquet(str(tmp_path / "wall/audit")).count() == 4
    with Queue(tmp_path / "wall/archive.db") as queue:
        assert sorted(message.id for message in queue.messages()) == [f"m{n}/all/archive" for n in range(4)]
    with pytest.raises(InputError, match="no destination 'nowhere'"):
        replayer.folders("nowhere")


def test_a_replay_that_is_killed_is_gone_on_with(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is killed while it sends; nothing is lost, and nobody has anything twice who looks at the id."""
    with endpoint(lambda *_: 503) as hook:
        replayer = prepared(tmp_path, spark, hook.url, 6)
        (tmp_path / "wall").unlink()
        command = [
            sys.executable,
            "-m",
            "pointsman",
            "replay",
            str(tmp_path / "pipeline.yaml"),
            "--destination",
            "hook",
        ]
        before = hook.came.total()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def kill_at_the_third(*_: object) -> int:
            if hook.came.total() >= before + 3 and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            return 200

        hook.answer = kill_at_the_third
        try:
            assert process.wait(120) == -signal.SIGKILL
        finally:
            process.kill()
            process.wait()
        assert hook.taken.total() >= 1
        printed = {}
        for option, code in (("--dry-run", 1), ("--json", 0)):
            with pytest.raises(SystemExit) as ended:
                main(["replay", str(tmp_path / "pipeline.yaml"), option])
            assert ended.value.code == code
            printed[option] = capsys.readouterr().out
        assert [line.split()[:4] for line in printed["--dry-run"].splitlines() if "hook" in line] == [
            ["hook", "6", "0", "6"]
        ]
        assert "Nothing was delivered." in printed["--dry-run"]
        told = json.loads(printed["--json"])
        assert (told["letters"], told["delivered"], told["dead"]) == (18, 18, 0)
        assert {each["destination"]: each["delivered"] for each in told["batches"]} == dict.fromkeys(
            ("archive", "audit", "hook"), 6
        )
        assert set(hook.taken) == {f"m{n}/all/hook" for n in range(6)}
        assert replayer.folders() == []


def test_what_a_crash_left_between_two_steps_is_settled_first(tmp_path: Path, spark: SparkSession) -> None:
    """What is left takes its place once it is whole, is overlooked before, and is removed if there is nothing in it."""
    replayer = prepared_without_delivery(tmp_path, spark)
    parent = tmp_path / "out/dead/files"
    letters = spark.range(3).selectExpr("id", "'all' AS route", "named_struct('reason', 'r', 'attempts', 1) AS dead")
    for number in range(4):
        letters.coalesce(1).write.parquet(str(parent / f"batch={number}"))
    letters.where("id = 2").coalesce(1).write.parquet(str(parent / "_left-0"))
    letters.where("id = 2").coalesce(1).write.parquet(str(parent / "_left-1"))
    (parent / "_left-1/_SUCCESS").unlink()
    letters.where("id = 9").coalesce(1).write.parquet(str(parent / "_left-2"))
    (parent / "batch=3").rename(parent / "_left-3")
    folders = replayer.folders("files")
    assert [(folder.batch, replayer.look(folder).letters) for folder in folders] == [(0, 1), (1, 3), (3, 3)]
    assert not list(parent.glob("_left*"))
    (tmp_path / "checkpoint/route/commits").mkdir(parents=True)
    (tmp_path / "checkpoint/route/commits/1").write_text("")
    assert [folder.batch for folder in replayer.folders()] == [0, 1]


def prepared_without_delivery(folder: Path, spark: SparkSession) -> Replayer:
    """A pipeline that has delivered nothing."""
    (folder / "table.yaml").write_text(TABLE.replace("URL", "http://127.0.0.1:9/"))
    (folder / "pipeline.yaml").write_text(PIPELINE)
    file, table = PipelineFile.load(folder / "pipeline.yaml"), RoutingTable.load(folder / "table.yaml")
    return Replayer(spark, file, table, str(folder / "checkpoint"))
