"""The benchmark of the pipeline: its data are what they claim to be, and its stages do what they are measured for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pointsman.bench import processes
from pointsman.bench.pipeline_data import DIALECT, message_table, subscription_patterns, write_messages
from pointsman.bench.pipeline_plot import draw_pipeline
from pointsman.bench.pipeline_required import required
from pointsman.bench.pipeline_rows import (
    DISTINCT,
    GATHERINGS,
    NAIVE,
    REPEATED,
    RESOLVE,
    ROWS,
    SAGAS,
    Row,
    StateRow,
)
from pointsman.bench.pipeline_stages import STRATEGIES, five_strategies, regular_expression
from pointsman.bench.pipeline_state import works
from pointsman.bench.subjects import streams
from pointsman.cli import bench_tables
from pointsman.matching.compiled import CompiledIndex
from pointsman.message import Message
from pointsman.patterns import Pattern

if TYPE_CHECKING:
    pass


def test_messages_are_believable_and_none_is_like_another(tmp_path: Path) -> None:
    """Bodies of some 300 bytes of JSON, three metadata each, spread over the files."""
    subjects = streams(1_000).repeated
    write_messages(tmp_path / "messages", subjects, 3)
    files = sorted((tmp_path / "messages").iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [333, 333, 334]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert [row["subject"] for row in rows] == subjects.to_pylist()
    for name in ("id", "body", "time"):
        assert len({row[name] for row in rows}) == len(rows)
    assert all(270 < len(row["body"]) < 330 and "note" in json.loads(row["body"]) for row in rows)
    assert {len(row["metadata"]) for row in rows} == {3}
    with pytest.raises(ValueError, match="do not fill"):
        write_messages(tmp_path / "few", subjects.slice(0, 2), 3)


@pytest.mark.parametrize("count", [1_000, 10_000, 100_000])
def test_about_ten_subscriptions_match_a_message(count: int) -> None:
    """At every size, and there are as many as were asked for."""
    subjects = streams(5_000).repeated
    patterns = subscription_patterns(count, subjects)
    assert len(patterns) == count
    assert 9 < pc.mean(CompiledIndex.build(patterns, DIALECT).count(subjects)).as_py() < 12


def test_the_table_has_routes_of_all_five_strategies() -> None:
    """Each with messages that it takes."""
    messages = streams(2_000).repeated
    patterns = subscription_patterns(1_000, messages).to_pylist()
    table = five_strategies([*patterns, messages[0].as_py(), *patterns[:3], messages[1].as_py()])
    strategies = {route.name: route.strategy for route in table.routes}
    assert set(strategies.values()) == set(STRATEGIES)
    rows = message_table(messages, 0).to_pylist()
    taken = {
        strategies[delivery.route]
        for row in rows
        for delivery in table.decide(Message(row["subject"], row["body"], metadata=dict(row["metadata"]))).deliveries
    }
    assert taken >= set(STRATEGIES) - {"direct"}


def test_the_regular_expressions_say_what_the_patterns_say() -> None:
    """On the subjects of the benchmark."""
    subjects = streams(300).repeated.to_pylist()
    for text in subscription_patterns(300, streams(300).repeated).to_pylist():
        pattern, regex = Pattern(text, DIALECT), re.compile(regular_expression(text))
        for subject in subjects:
            assert pattern.matches(subject) == (regex.search(subject) is not None), (text, subject)


@pytest.mark.parametrize("what", [SAGAS, GATHERINGS])
def test_what_begins_ends(what: str) -> None:
    """By the table itself: the first message moves it, and after the last it is over."""
    work = works()[what]
    state: Any = {}
    for begun in (True, False):
        for number in (3, 4):
            for id, subject, correlation_id, metadata, body in (work.begin if begun else work.end)(number):
                message = Message(subject, body, id=id, correlation_id=correlation_id, metadata=metadata)
                decision = work.table.decide(message, state)
                assert begun or not decision.followed[0].problem
                state = decision.state
    ended = [getattr(value, "state", None) == "paid" or getattr(value, "complete", False) for value in state.values()]
    assert ended == [True, True]


def rows_of(**rates: float) -> dict[str, Sequence[Any]]:
    """Rows of these rates, in messages a second."""
    row = Row("", None, REPEATED, 1_000, 1_000, 1.0, None)
    stages = {
        "whole": row,
        "whole_distinct": replace(row, stream=DISTINCT),
        "few": replace(row, stage=RESOLVE, subscriptions=1_000),
        "some": replace(row, stage=RESOLVE, subscriptions=10_000),
        "many": replace(row, stage=RESOLVE, subscriptions=100_000),
        "many_distinct": replace(row, stage=RESOLVE, subscriptions=100_000, stream=DISTINCT),
        "most": replace(row, stage=RESOLVE, subscriptions=1_000_000),
        "naive": replace(row, stage=NAIVE, subscriptions=10_000),
    }
    made = {
        name: replace(stages[name], seconds=1_000 / rate, stage=stages[name].stage or ROWS)
        for name, rate in rates.items()
        if name in stages
    }
    naive = [made.pop("naive")] if "naive" in made else []
    state = [StateRow(SAGAS, 10, 10, 1, (1.0, 1.0), rates["keys"], None)] if "keys" in rates else []
    return {"rows": [*made.values()], "naive": naive, "state": state}


@pytest.mark.parametrize(
    ("good", "bad", "limit"),
    [
        ({"whole": 10, "many": 10}, {"whole": 10, "many": 9}, 1.0),
        ({"whole_distinct": 10, "many_distinct": 6}, {"whole_distinct": 10, "many_distinct": 5}, 0.6),
        ({"few": 16, "most": 10}, {"few": 17, "most": 10}, 1.6),
        ({"some": 100, "naive": 1}, {"some": 99, "naive": 1}, 100.0),
        ({"keys": 15_000}, {"keys": 14_999}, 15_000.0),
    ],
)
def test_what_must_hold_is_judged_from_the_rows(good: dict[str, float], bad: dict[str, float], limit: float) -> None:
    """Each from the rows it is about, and only where they were measured."""
    assert [(each.limit, each.held) for each in required(rows_of(**good))] == [(limit, True)]
    assert [(each.limit, each.held) for each in required(rows_of(**bad))] == [(limit, False)]
    assert required(rows_of(whole=1, naive=1)) == []


def test_the_processes_that_were_started_are_found_with_what_they_took(tmp_path: Path) -> None:
    """Those of this process and those that they started, and no others."""
    lines = {
        7: "7 (python) S 1 7 7 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 5 1000 50 0",
        8: "8 (java (x) y) S 7 7 7 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 5 1000 60 0",
        9: "9 (worker) S 8 7 7 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0 5 1000 70 0",
        10: "10 (other) S 1 7 7 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0 5 1000 70 0",
    }
    for number, line in lines.items():
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "stat").write_text(line)
    (tmp_path / "11").mkdir()
    found = processes.descendants(7, tmp_path)
    assert [(each.number, each.name, each.ticks, each.pages) for each in found] == [
        (7, "python", 37, 50),
        (8, "java (x) y", 100, 60),
        (9, "worker", 4, 70),
    ]
    assert found[0].megabytes == pytest.approx(50 * os.sysconf("SC_PAGE_SIZE") / 1e6)
    assert processes.descendants(12, tmp_path) == []
    assert processes.cpu_seconds(tmp_path / "none") is None


def test_the_tables_can_be_shown_when_nothing_is_known_of_cpu_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the system does not tell, that column is empty."""
    results = rows_of(whole=10, many=10, naive=1, keys=20_000)
    bench_tables.show_pipeline(results | {"streams": [], "required": required(results)})
    assert "not held" not in capsys.readouterr().out


def test_a_picture_is_drawn_of_rows_of_one_stream_alone(tmp_path: Path) -> None:
    """As when only some were measured."""
    draw_pipeline(rows_of(whole=10, many=10, naive=1, keys=20_000), tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1_000


def test_time_that_went_backwards_is_not_known() -> None:
    """A process has ended of which nobody took the time over."""
    assert processes.cpu_between(1.0, 3.0) == 2.0
    assert processes.cpu_between(3.0, 1.0) is None
    assert processes.cpu_between(None, 1.0) is None
