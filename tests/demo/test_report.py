"""What the demo prints at its end."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.demo.check import Checked
from pointsman.demo.counts import Counts, Flow, Followed, Refusal
from pointsman.demo.folder import DemoFolder
from pointsman.demo.report import show
from pointsman.table.routing_table import RoutingTable
from tests.demo.conftest import Hour

FOLDER = DemoFolder(Path("demo"))
ALL_AGREE = Checked(30_000, 0, [])


@pytest.fixture(scope="module")
def counts(hour: Hour) -> Counts:
    """Counts with something of every kind; the sagas are those of the hour."""
    return Counts(
        messages=1_240,
        routed=1_200,
        deliveries=Counter(
            {
                Flow("mail", "mail", "mailer-1"): 500,
                Flow("mail", "mail", "mailer-2"): 300,
                Flow("tills", "usual-orders", "standard-desk"): 1_100,
                Flow("orders", "usual-orders", "standard-desk"): 20,
            }
        ),
        quarantined=Counter(
            {
                Refusal("tills", "authorize", "publish-refused", "there is no principal …"): 20,
                Refusal("", "receive", "bad-message", "the subject is missing"): 10,
            }
        ),
        unrouted=Counter({"users": 10}),
        carried=Counter({("commands", "services"): 7}),
        followed=hour.run.log.result(),
    )


def shown(counts: Counts, width: int = 170, checked: Checked = ALL_AGREE) -> str:
    """The report as text."""
    console = Console(file=StringIO(), width=width)
    table = RoutingTable.load(TABLE, ENVIRONMENT)
    show(console, counts, table, checked, files=FOLDER.contents(), commands=FOLDER.next_commands("pointsman"))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def cells_of(text: str) -> set[tuple[str, ...]]:
    """The lines, split where there are two spaces or more."""
    return {tuple(part.strip() for part in line.split("  ") if part.strip()) for line in text.splitlines()}


def test_every_count_is_shown(counts: Counts) -> None:
    """By route, by destination, by what was quarantined, by how sagas and gatherings ended."""
    text = shown(counts)
    lines = cells_of(text)
    assert "1,240 messages: 1,200 routed, 30 quarantined, 10 that no route takes.\nThey gave 1,920 deliveries." in text
    assert ("usual-orders", "content", "1,120", "standard-desk 1,120") in lines
    assert ("mail", "balanced, weighted", "800", "mailer-1 500, mailer-2 300") in lines
    cells = {pair for line in lines for pair in pairwise(line)}
    assert {("mailer-1", "500"), ("mailer-2", "300"), ("standard-desk", "1,120")} <= cells
    assert ("authorize", "publish-refused", "20", "there is no principal …") in lines
    assert ("receive", "bad-message", "10", "the subject is missing") in lines
    followed = counts.followed
    for (route, reason), count in followed.gatherings.items():
        assert (route, reason, f"{count:,}") in lines
    for ending, count in followed.sagas.items():
        assert f"{count:,} {ending}" in text
    assert f"They sent {followed.commands.total():,} commands, which gave 7 deliveries" in text


@pytest.mark.parametrize("ending", ["finished", "compensated", "timed out"])
def test_a_saga_is_told_step_by_step(counts: Counts, ending: str) -> None:
    """Times, events and commands, in their order."""
    [tale] = (tale for tale in counts.followed.tales if tale.ending == ending)
    _, _, told = shown(counts).partition(f"{tale.correlation_id} ({ending})")
    lines = told.splitlines()[2 : 2 + len(tale.steps)]
    assert len(tale.steps) >= 4
    for step, line in zip(tale.steps, lines, strict=True):
        assert line.startswith("09:")
        assert (step.event or "(timeout)") in line
        assert all(part in line for part in (*step.states, *step.commands))


def test_a_narrow_terminal_loses_nothing_of_a_saga(counts: Counts) -> None:
    """Each step takes some lines there, and nothing is cut."""
    text = shown(counts, width=80)
    assert max(map(len, text.partition("Checked")[0].splitlines())) <= 80
    [tale] = (tale for tale in counts.followed.tales if tale.ending == "compensated")
    _, _, told = text.partition(f"{tale.correlation_id} (compensated)")
    for step in tale.steps:
        line, _, told = told.partition(f"  {step.event or '(timeout)'}\n")
        assert line.strip().rpartition("\n")[2].startswith("09:")
        assert told.startswith(f"{' ' * 14}into {' → '.join(step.states)}\n")
        assert not step.commands or f"sends {', '.join(step.commands)}" in told


def test_counts_that_do_not_add_up_are_called_so(counts: Counts) -> None:
    """And those that do are not."""
    assert "does not add up" not in shown(counts)
    assert "does not add up" in shown(replace(counts, messages=counts.messages + 1))


def test_what_a_breaker_turned_aside_is_shown(counts: Counts) -> None:
    """With what failed before it did."""
    more = replace(counts, fallbacks=Counter({("warehouse", "parking"): 7}), failed=Counter({"warehouse": 3}))
    text = shown(more)
    assert "Turned aside by a breaker: 7 to parking instead of warehouse." in text
    assert "Failed, and kept as dead letters: 3 to warehouse." in text


def test_names_are_shown_as_they_are() -> None:
    """A name may look like markup, and a run may have nothing but deliveries."""
    flows = Counter({Flow("a", "[red]route[/]", "[bold]there"): 2})
    refusals = Counter({Refusal("a", "resolve", "[/]", "[blink]why"): 1})
    text = shown(Counts(3, 2, flows, refusals))
    assert "[red]route[/]" in text
    assert "[bold]there" in text
    assert "[blink]why" in text
    assert "Sagas" not in text


def test_how_many_messages_decide_was_asked_about_is_said(counts: Counts) -> None:
    """And how many disagreed, with what is not the same."""
    asked = "Checked: RoutingTable.decide was asked about 30,000 of the messages, one after the other"
    assert f"{asked}; 0 disagreed.\n" in shown(counts)
    text = shown(counts, checked=Checked(30_000, 2, ["m-1: this, not that", "m-2: that, not this"]))
    assert f"{asked}; 2 disagreed:\n  m-1: this, not that\n  m-2: that, not this\n" in text
    assert "0 disagreed:\n  sagas: other" in shown(counts, checked=Checked(30_000, 0, ["sagas: other"]))


def test_for_machines_there_is_every_count(counts: Counts) -> None:
    """As values that JSON can hold."""
    data = json.loads(json.dumps(counts.as_data()))
    assert data["messages"] == data["routed"] + data["unrouted"] + sum(each["messages"] for each in data["quarantined"])
    assert sum(data["by_route"].values()) == sum(data["by_destination"].values()) == 1_920
    assert {"family": "mail", "route": "mail", "destination": "mailer-1", "deliveries": 500} in data["deliveries"]
    assert {tale["ending"] for tale in data["tales"]} == data["sagas"].keys()
    assert data["tales"][0]["steps"][0].keys() == {"time", "event", "states", "commands"}
    assert Counts(0, 0, Counter(), Counter(), followed=Followed()).as_data()["tales"] == []
