"""The README opens with what the demo prints and draws."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pointsman.cli.demo import FOLDER, WIDTH
from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.demo.picture import draw_flow
from pointsman.demo.place import Place
from pointsman.demo.play import expect, prepare_hour
from pointsman.demo.report import show
from pointsman.demo.trying import next_commands
from pointsman.table.routing_table import RoutingTable
from tests.docs.test_snippets import ROOT, blocks_of, is_as_written, steps_of


def test_the_readme_shows_the_usual_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counts and its picture, as ``decide`` comes to them; that Spark comes to the same is tested elsewhere."""
    monkeypatch.chdir(tmp_path)
    hour, _ = prepare_hour(FOLDER)
    table = RoutingTable.load(TABLE, ENVIRONMENT)
    counts = expect(hour, table)
    told = tuple(
        tale._replace(steps=tuple(step._replace(compensations=()) for step in tale.steps)) for tale in counts.tales
    )
    draw_flow(counts, hour.picture)
    assert hour.picture.read_bytes() == (ROOT / "docs" / "demo-flow.svg").read_bytes()
    console = Console(file=StringIO(), width=WIDTH)
    commands = next_commands(Place(FOLDER), ".venv/bin/pointsman")
    show(console, replace(counts, tales=told), table, differences=[], files=hour.what_is_where(), commands=commands)
    [shown] = (steps_of(block)[0] for block in blocks_of(ROOT / "README.md") if block.lines[0] == "$ make demo")
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    assert is_as_written(printed, shown.output), printed
