"""What the demo prints at its end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from pointsman.demo.as_data import as_data
from pointsman.demo.counts import Counts, Flow, Refusal
from pointsman.demo.place import Place
from pointsman.demo.report import show
from pointsman.demo.trying import next_commands, program_name
from tests.demo.conftest import Hour


def shown(counts: Counts, hour: Hour, width: int = 170, differences: Sequence[str] = ()) -> str:
    """The report as text."""
    console = Console(file=StringIO(), width=width)
    place = Place(hour.folder)
    files, commands = place.what_is_where(), next_commands(place, "pointsman")
    show(console, counts, hour.table, differences=differences, files=files, commands=commands)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def cells_of(text: str) -> set[tuple[str, ...]]:
    """The lines, split where there are two spaces or more."""
    return {tuple(part.strip() for part in line.split("  ") if part.strip()) for line in text.splitlines()}


def test_every_count_is_shown(hour: Hour) -> None:
    """By route, by destination, by what was quarantined, by how sagas and gatherings ended."""
    text = shown(hour.counts, hour)
    lines = cells_of(text)
    assert f"{hour.counts.messages:,} messages: {hour.counts.routed:,} routed" in text
    for name, count in hour.counts.by_route.items():
        assert any(line[:1] == (name,) and line[2:3] == (f"{count:,}",) for line in lines), name
    cells = {pair for line in lines for pair in pairwise(line)}
    for name, count in hour.counts.by_destination.items():
        assert (name, f"{count:,}") in cells
    for refusal in hour.counts.quarantined:
        assert any(line[:2] == (refusal.stage, refusal.code) and line[-1] == refusal.reason for line in lines)
    for (route, reason), count in hour.counts.gatherings.items():
        assert (route, reason, f"{count:,}") in lines
    for ending, count in hour.counts.sagas.items():
        assert f"{count:,} {ending}" in text


@pytest.mark.parametrize("ending", ["finished", "compensated", "timed out"])
def test_a_saga_is_told_step_by_step(hour: Hour, ending: str) -> None:
    """Times, events and commands, in their order."""
    [tale] = (tale for tale in hour.counts.tales if tale.ending == ending)
    text = shown(hour.counts, hour)
    _, _, told = text.partition(f"{tale.correlation_id} ({ending})")
    lines = told.splitlines()[2 : 2 + len(tale.steps)]
    assert len(tale.steps) >= 4
    for step, line in zip(tale.steps, lines, strict=True):
        assert line.startswith("09:")
        assert (step.event or "(timeout)") in line
        assert all(part in line for part in (*step.states, *step.commands))


def test_a_narrow_terminal_loses_nothing_of_a_saga(hour: Hour) -> None:
    """Each step takes some lines there, and nothing is cut."""
    text = shown(hour.counts, hour, width=80)
    assert max(map(len, text.partition("Where everything is")[0].splitlines())) <= 80
    [tale] = (tale for tale in hour.counts.tales if tale.ending == "compensated")
    _, _, told = text.partition(f"{tale.correlation_id} (compensated)")
    for step in tale.steps:
        line, _, told = told.partition(f"  {step.event or '(timeout)'}\n")
        assert line.strip().rpartition("\n")[2].startswith("09:")
        assert told.startswith(f"{' ' * 14}into {' → '.join(step.states)}\n")
        assert not step.commands or f"sends {', '.join(step.commands)}" in told


def test_counts_that_do_not_add_up_are_called_so(hour: Hour) -> None:
    """And those that do are not."""
    assert "does not add up" not in shown(hour.counts, hour)
    assert "does not add up" in shown(replace(hour.counts, messages=hour.counts.messages + 1), hour)


def test_what_a_breaker_turned_aside_is_shown(hour: Hour) -> None:
    """With what failed before it did."""
    counts = replace(hour.counts, fallbacks=Counter({("warehouse", "parking"): 7}), failed=Counter({"warehouse": 3}))
    text = shown(counts, hour)
    assert "Turned aside by a breaker: 7 to parking instead of warehouse." in text
    assert "Failed, and kept as dead letters: 3 to warehouse." in text


def test_names_are_shown_as_they_are(hour: Hour) -> None:
    """A name may look like markup, and a run may have nothing but deliveries."""
    flows = Counter({Flow("a", "[red]route[/]", "[bold]there"): 2})
    refusals = Counter({Refusal("a", "resolve", "[/]", "[blink]why"): 1})
    text = shown(Counts(3, 2, flows, refusals), hour)
    assert "[red]route[/]" in text
    assert "[bold]there" in text
    assert "[blink]why" in text


def test_whether_the_counts_are_those_of_decide_is_said(hour: Hour) -> None:
    """And each that is not."""
    assert "comes to the same in every count" in shown(hour.counts, hour)
    text = shown(hour.counts, hour, differences=["messages: 1, not [2]"])
    assert "comes to something else:\n  messages: 1, not [2]\n" in text


def test_for_machines_there_is_every_count(hour: Hour) -> None:
    """As values that JSON can hold."""
    data = json.loads(json.dumps(as_data(hour.counts)))
    assert data["messages"] == data["routed"] + data["unrouted"] + sum(each["messages"] for each in data["quarantined"])
    assert sum(data["by_route"].values()) == sum(data["by_destination"].values())
    assert sum(each["deliveries"] for each in data["deliveries"]) == hour.counts.deliveries.total()
    assert {tale["ending"] for tale in data["tales"]} == data["sagas"].keys()


def test_a_program_is_called_by_its_name_where_that_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And otherwise by its path, from here if it is below."""
    program = tmp_path / "my bin" / "pointsman"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert program_name(str(program)) == "pointsman"
    monkeypatch.setenv("PATH", "")
    assert program_name(str(program)) == f"'{program}'"
    monkeypatch.chdir(tmp_path)
    assert program_name(str(program)) == "'my bin/pointsman'"
    assert program_name("not/there") == "there"
