"""The benchmark of memory: it sees the right processes, and judges what it has seen."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pointsman.bench import pipeline_memory as memory
from pointsman.bench.pipeline_memory import Look, MemoryRow, Seconds, look_at, required, tenths
from pointsman.bench.processes import Process
from pointsman.cli import bench as command

PAGES = 1_000_000


def test_java_the_driver_and_the_workers_are_told_apart() -> None:
    """The daemon that starts the workers is none of them."""
    found = [
        Process(1, 0, "python", 0, 1 * PAGES),
        Process(2, 1, "java", 0, 2 * PAGES),
        Process(3, 2, "python", 0, 3 * PAGES),
        Process(4, 3, "python", 0, 4 * PAGES),
        Process(5, 3, "python", 0, 5 * PAGES),
    ]
    sizes = [process.megabytes for process in found]
    assert look_at(found, 7) == Look(7, sizes[1], sizes[0], (sizes[3], sizes[4]))
    assert look_at([], 7) == Look(7, 0, 0, ())


def test_there_is_a_row_for_each_tenth_with_the_most_that_was_held() -> None:
    """Tenths in which nobody looked are left out; the end belongs to the last one."""
    looks = [
        Look(0, 5, 1, ()),
        Look(50, 9, 2, (3, 4)),
        Look(99, 8, 3, (2,)),
        Look(500, 7, 1, (6,)),
        Look(1_000, 1, 1, ()),
    ]
    assert tenths(looks, 1_000) == [
        MemoryRow(0, 9, 3, 4, 2),
        MemoryRow(500, 7, 1, 6, 1),
        MemoryRow(900, 1, 1, 0, 0),
    ]


def test_all_messages_are_written_in_ten_batches_or_more(tmp_path: Path) -> None:
    """None is left out, and no id comes twice."""
    memory.write_messages(tmp_path / "source", 1_003, lambda _: None)
    files = sorted((tmp_path / "source").iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [101] * 9 + [94]
    assert len(set(pq.read_table(tmp_path / "source")["id"].to_pylist())) == 1_003


def test_workers_that_grow_are_not_flat() -> None:
    """What they held before the first message was delivered does not count."""
    looks = [Look(0, 0, 0, (99,)), Look(100, 0, 0, (10, 4)), Look(900, 0, 0, (12.5, 1)), Look(1_000, 0, 0, ())]
    [held] = required(looks)
    assert (held.measured, held.held) == (1.25, True)
    [grown] = required([*looks, Look(1_000, 0, 0, (13,))])
    assert not grown.held
    assert required(looks[:1]) == []


def test_the_results_are_shown_and_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table and as JSON, of as many messages as were asked for."""
    asked: list[int] = []

    def run(messages: int, _progress: object) -> dict[str, object]:
        asked.append(messages)
        rows = [MemoryRow(0, 1_500.4, 200, 90, 4)]
        looks = [Look(1, 0, 0, (4.0,)), Look(10, 0, 0, (8.0,))]
        return {"rows": rows, "required": required(looks), "seconds": [Seconds(messages, 12.3, "2g")]}

    monkeypatch.setattr(memory, "run", run)
    command.memory(messages=5_000)
    shown = capsys.readouterr().out
    assert "5,000 messages in 12 s" in shown
    assert "1,500" in shown
    assert "not held" in shown
    command.memory(quick=True, json=True)
    assert json.loads(capsys.readouterr().out)["rows"][0]["largest_worker"] == 90
    assert asked == [5_000, memory.QUICK]
