"""The README opens with what the demo prints and draws."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pointsman.demo.events import make_events
from tests.docs.test_snippets import ROOT, blocks_of, steps_of


def test_the_readme_shows_the_usual_hour(tmp_path: Path) -> None:
    """Its sums are those of the events that are made, and those of the picture; that Spark comes to them is tested by
    ``test_command``.
    """
    summary = make_events(tmp_path)
    [shown] = (steps_of(block)[0] for block in blocks_of(ROOT / "README.md") if block.lines[0] == "$ make demo")
    text = "\n".join(shown.output)
    sums = re.search(r"([\d,]+) messages: ([\d,]+) routed, ([\d,]+) quarantined, ([\d,]+) that no route takes", text)
    assert sums is not None
    messages, routed, quarantined, unrouted = (int(each.replace(",", "")) for each in sums.groups())
    assert (messages, quarantined) == (summary.messages, summary.quarantined)
    assert messages == routed + quarantined + unrouted
    endings = ", ".join(f"{count:,} {ending}" for ending, count in Counter(summary.endings).most_common())
    assert f"3,000 orders: {endings}." in text
    deliveries = re.search(r"They gave ([\d,]+) deliveries", text)
    assert deliveries is not None
    title = (
        f"{messages:,} messages: {deliveries[1]} deliveries, {quarantined:,} quarantined, {unrouted:,} without a route"
    )
    assert title in (ROOT / "docs" / "demo-flow.svg").read_text("utf-8")
