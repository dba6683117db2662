"""The pytest plugin, in processes of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

TABLE = """
routes:
  - {name: one, pattern: "a.*", destinations: [x]}
  - {name: two, pattern: "b.*", destinations: [x]}
  - {name: three, pattern: "c.*", destinations: [x]}
translations: [{name: t, from: "d.*", to: "a.$1"}]
"""
TESTS = """
import pytest
from pointsman.message import Message
from pointsman.table.routing_table import RoutingTable

TABLE = RoutingTable.load("table.yaml")

@pytest.mark.parametrize("subject", ["a.1", "b.1", "b.2", "d.1"])
def test_something(subject, pointsman_coverage):
    decision = TABLE.decide(Message(subject))
    assert decision.deliveries
    pointsman_coverage.record(decision, subject)
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest with the plugin, in a folder with a table and tests."""
    (folder / "table.yaml").write_text(TABLE)
    (folder / "test_something.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    # Twice would be an error.
    known = any(entry.name == "pointsman" for entry in entry_points(group="pytest11"))
    plugin = [] if known else ["-p", "pointsman.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_does_nothing_unless_it_is_asked(tmp_path: Path) -> None:
    """The fixture is there, and counts nothing."""
    finished = run(tmp_path)
    assert finished.returncode == 0, finished.stdout
    assert "routes" not in finished.stdout
    assert "4 passed" in finished.stdout


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one", "several"])
def test_it_shows_what_was_covered(tmp_path: Path, processes: tuple[str, ...]) -> None:
    """Also when the tests ran in several processes."""
    finished = run(tmp_path, "--pointsman-coverage=table.yaml", "--pointsman-html=page.html", *processes)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "66.7% of the routes" in finished.stdout
    assert re.findall(r"(\w+) '(\w+)' is not covered", finished.stdout) == [("route", "three")]
    assert "table.yaml:5:5: route 'three'" in finished.stdout
    page = (tmp_path / "page.html").read_text()
    assert re.search(r"<td>two</td><td><code>b\.\*</code></td><td class=\"count\">2</td>", page)
    assert re.search(r"<td>t</td>.*<td class=\"count\">1</td>", page)


def test_too_little_coverage_fails(tmp_path: Path) -> None:
    """And enough does not."""
    wanted = "--pointsman-coverage=table.yaml"
    finished = run(tmp_path, wanted, "--pointsman-minimum=70")
    assert finished.returncode == 1
    assert "failed: fewer than 70% of the routes are covered" in finished.stdout
    assert run(tmp_path, wanted, "--pointsman-minimum=60").returncode == 0


def test_a_bad_table_is_a_wrong_use(tmp_path: Path) -> None:
    """Without a traceback."""
    for options in (["--pointsman-coverage=none.yaml"], ["--pointsman-coverage=table.yaml", "--pointsman-html=no/a"]):
        finished = run(tmp_path, *options)
        assert finished.returncode == 4
        assert "Traceback" not in finished.stderr
