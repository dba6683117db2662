"""The demo, run as a newcomer runs it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.cli.main import main
from pointsman.demo import ENVIRONMENT
from pointsman.demo.check import check
from pointsman.demo.folder import DemoFolder
from pointsman.demo.written import Written
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.run import run
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAMS = Path(sys.executable).parent


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The finished command, in a shell that finds the program."""
    environment = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "160"}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_demo_plays_an_hour_checks_itself_and_says_what_to_try(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it wrote is what ``decide`` says about every message; what it says to try works as it stands.

    What needs Spark of that is tried in the session of the tests, which is there already.
    """
    result = shell("pointsman demo --orders 25", tmp_path)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    for text in (
        "of the messages, one after the other; 0 disagreed.",
        " messages a second, Spark still cold.",
        "The whole demo took ",
        "By route",
        "By destination",
        "there is no principal …",
        "not JSON: Unterminated string",
        "Turned aside by a breaker: ",
        " (finished)",
        " (compensated)",
        " (timed out)",
        "(timeout)",
        "best-price",
    ):
        assert text in result.stdout, result.stdout
    folder = DemoFolder(tmp_path / "pointsman-demo")
    for path in folder.contents().values():
        assert path.exists(), path
        assert str(path.relative_to(tmp_path)) in result.stdout
    written = Written(folder)
    found = written.counts()
    assert found.adds_up
    table = RoutingTable.load(folder.table, ENVIRONMENT)
    assert check(sorted(folder.events.glob("*.jsonl")), table, written, found) == (found.messages, 0, [])
    assert found.carried == {("commands", "services"): found.followed.commands.total()}
    # Balanced routes share as they say, to within two for each batch and partition.
    to, tolerance = found.by_destination, 2 * 3 * (os.cpu_count() or 1)
    for route, weights in (("mail", (5, 3, 2)), ("packing", (1, 1, 1)), ("searches", (1, 1, 1))):
        names = next(each for each in table.routes if each.name == route).destinations
        for name, weight in zip(names, weights, strict=True):
            share = found.by_route[route] * weight / sum(weights)
            assert abs(to[getattr(name, "name", name)] - share) <= tolerance, (route, name)

    explain, add_and_run, replay = map(str.strip, result.stdout.partition("To try next\n")[2].splitlines())
    tried = shell(explain, tmp_path)
    assert (tried.returncode, "premium-desk" in tried.stdout) == (0, True), tried.stderr
    monkeypatch.chdir(tmp_path)
    adding, running = add_and_run.split(" && ")
    assert shell(adding, tmp_path).returncode == 0
    assert running == "pointsman run pointsman-demo/pipeline.yaml"
    totals = run(PipelineFile.load(Path("pointsman-demo/pipeline.yaml")), lambda *_, **__: None, spark=spark)
    assert totals.deliveries == {("large-orders", "premium-desk"): 1}
    removing, replaying = replay.split(" && ")
    assert shell(removing, tmp_path).returncode == 0
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(replaying)[1:])
    assert ended.value.code == 0
    replayed = Written(folder).counts()
    assert replayed.by_destination["warehouse"] == found.failed["warehouse"] > 0
    assert replayed.failed == {}


def test_a_folder_that_is_no_demos_is_left_alone(tmp_path: Path) -> None:
    """It is said before Spark starts."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letters").touch()
    result = shell("pointsman demo --folder mine", tmp_path)
    assert (result.returncode, "error[folder-exists]" in result.stderr) == (2, True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letters"]
