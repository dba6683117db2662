"""The benchmark of the queue: its contenders are queues, and its numbers are about what they claim to be."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from pointsman.bench import queue as bench
from pointsman.bench import queue_data, queue_disk, queue_fan_out, queue_group, queue_patterns
from pointsman.bench.queue_cells import ALL_CELLS, CellPlan, Run, can
from pointsman.bench.queue_contenders import OURS, OURS_NEXT, Contender, Pointsman, PointsmanNext
from pointsman.bench.queue_fan_out import FanOutPlan
from pointsman.bench.queue_group import GroupPlan
from pointsman.bench.queue_patterns import AD_HOC, DURABLE, INDEX, PatternPlan
from pointsman.bench.queue_peers import DiskCache, Huey, LiteQueue, PersistQueue, check_packages
from pointsman.bench.queue_plot import draw_queue
from pointsman.bench.queue_processes import Failed, running
from pointsman.bench.queue_raw import RAW, RawSame
from pointsman.bench.queue_required import required
from pointsman.bench.queue_rows import DISTINCT, POP, POP_ACK, PUT, Cell, FanOutRow, PatternRow, Row
from pointsman.bench.queue_worker import APART, CONTENDERS, Worker
from pointsman.cli import bench as command
from pointsman.cli import bench_tables
from pointsman.cli.bench_queue_tables import tables
from pointsman.errors import InputError, MissingExtraError
from pointsman.patterns import Pattern
from pointsman.store.queue import Queue
from pointsman.store.statements import CONTROL_READ, COUNT_UNLISTED

CELLS = (Cell(PUT, 1, "normal"), Cell(PUT, 100), Cell(POP, 100, "normal"), Cell(POP_ACK, 1, processes=2))
TINY = bench.Plan(
    CellPlan(CELLS, rounds=2, seconds=0.02, warm=0.02, single=100, batched=300),
    GroupPlan((1, 3), rounds=1, seconds=0.02),
    PatternPlan(3_000, 10),
    FanOutPlan(30, batches=1, rounds=1),
)
TABLES = ("message", "key", "ready", "leased", "finished", "pending", "delayed")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[Any]]:
    """Of a tiny run."""
    return bench.run_plan(TINY, tmp_path_factory.mktemp("bench"))


def items_of(contender: Contender, count: int) -> list[Any]:
    """Messages as the contender takes them."""
    return [contender.item(body, key) for body, key in queue_data.messages(0, count, distinct=False)]


@pytest.mark.parametrize("durability", ["full", "normal"])
@pytest.mark.parametrize("kind", CONTENDERS)
def test_a_contender_gives_what_was_put_in_its_order_and_once(
    kind: Callable[[Path, str], Contender], durability: str, tmp_path: Path
) -> None:
    """And waits for the disk as it was told to, before and after it was filled."""
    contender = kind(tmp_path, durability)
    contender.know(queue_data.KEYS)
    assert contender.durability() == durability
    contender.fill(items_of(contender, 30))
    taken = []
    while (message := contender.pop()) is not None:
        taken.append(int(contender.body(message)))
        contender.ack(message)
    assert taken == list(range(30))
    contender.put(contender.item(queue_data.body(77), "a.b"))
    assert int(contender.body(contender.pop())) == 77
    assert contender.durability() == durability
    contender.close()


@pytest.mark.parametrize("kind", [kind for kind in CONTENDERS if kind.pops_batches])
def test_a_contender_pops_in_batches_what_was_put_in_batches(
    kind: Callable[[Path, str], Contender], tmp_path: Path
) -> None:
    """The last batch is what is left."""
    contender = kind(tmp_path, "normal")
    contender.put_many(items_of(contender, 25))
    taken = []
    while batch := contender.pop_many(10):
        taken.append([int(contender.body(each)) for each in batch])
        contender.ack_many(batch)
    assert taken == [[*range(10)], [*range(10, 20)], [*range(20, 25)]]
    contender.close()


def test_what_is_written_by_hand_is_what_the_queue_writes(tmp_path: Path) -> None:
    """As many rows in the same tables, with bodies of the same size, at each step."""
    ours, raw = Pointsman(tmp_path, "full"), RawSame(tmp_path, "full")

    def rows(file: str) -> dict[str, int]:
        connection = apsw.Connection(str(tmp_path / file), flags=apsw.SQLITE_OPEN_READONLY)
        counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}  # noqa: S608
        # The first message of a key is listed at once, and any other put alone by who needs it.
        counts["ready"] += connection.execute(COUNT_UNLISTED).fetchone()[0]
        size = "SELECT sum(length(body)), sum(length(CAST(time AS TEXT))) FROM message"
        commits, sequence, _, _, unfinished, *_ = connection.execute(CONTROL_READ).fetchone()
        found = [*connection.execute(size), (commits, sequence, unfinished)]
        connection.close()
        return counts | {"sizes": found}  # type: ignore[dict-item]

    def both(step: Callable[[Contender], object]) -> dict[str, int]:
        step(ours)
        step(raw)
        ours_rows, raw_rows = rows("pointsman.db"), rows("raw.db")
        assert ours_rows == raw_rows
        return raw_rows

    both(lambda each: each.put(each.item(queue_data.body(1), "a.b")))
    both(lambda each: each.put_many(items_of(each, 20)))
    taken = both(lambda each: each.pop())
    assert (taken["ready"], taken["leased"]) == (20, 1)
    ended = both(lambda each: each.ack_many(each.pop_many(5)))
    assert (ended["ready"], ended["leased"], ended["finished"]) == (15, 1, 5)
    ours.close()
    raw.close()


def test_the_next_pop_acknowledges_the_message_before_it(tmp_path: Path) -> None:
    """In the contender that uses ack_and_pop."""
    contender = PointsmanNext(tmp_path, "normal")
    contender.fill(items_of(contender, 3))
    contender.ack(contender.pop())
    assert contender.queue.size().done == 0
    contender.pop()
    assert (contender.queue.size().done, contender.queue.size().leased) == (1, 1)
    contender.close()


@pytest.mark.parametrize("kind", CONTENDERS)
def test_a_checkpoint_moves_what_was_put_to_the_file(kind: Callable[[Path, str], Contender], tmp_path: Path) -> None:
    """Nothing is left of it in the write-ahead log for the pops to pay."""
    contender = kind(tmp_path, "normal")
    contender.fill(items_of(contender, 30))
    contender.checkpoint()
    _, written, moved = next(iter(contender.connections()[0]("PRAGMA wal_checkpoint(PASSIVE)")))
    assert written == moved > 0
    contender.close()


def test_those_whose_pop_deletes_say_so() -> None:
    """They promise less, and are marked."""
    assert [kind.acknowledges for kind in (LiteQueue, PersistQueue, Huey, DiskCache)] == [True, True, False, False]


def test_messages_are_of_200_bytes_and_their_keys_repeat_or_do_not() -> None:
    """The first key comes about ten times as often as the tenth."""
    zipf = [*queue_data.messages(5, 20_000, distinct=False)]
    assert {len(body) for body, _ in zipf} == {200}
    assert [int(body) for body, _ in zipf[:3]] == [5, 6, 7]
    keys = [key for _, key in zipf]
    assert len(set(keys)) <= 1000
    assert 6 < keys.count(queue_data.KEYS[0]) / keys.count(queue_data.KEYS[9]) < 15
    assert len({key for _, key in queue_data.messages(5, 20_000, distinct=True)}) == 20_000


def test_all_that_was_asked_for_is_measured() -> None:
    """One and two processes, both durabilities, and distinct keys once."""
    assert len(set(ALL_CELLS)) == len(ALL_CELLS) == 29
    assert {(cell.durability, cell.processes) for cell in ALL_CELLS} == {
        (durability, processes) for durability in ("full", "normal") for processes in (1, 2)
    }
    assert [str(cell) for cell in ALL_CELLS if cell.keys == DISTINCT] == ["put x1000, full, 1 process, distinct keys"]


def test_a_run_has_a_row_for_every_contender_and_cell(measured: dict[str, Sequence[Any]]) -> None:
    """A speed where it can do that, and otherwise none."""
    rows: Sequence[Row] = measured["rows"]
    assert [(row.cell, row.contender) for row in rows] == [(cell, kind.name) for cell in CELLS for kind in CONTENDERS]
    kinds = {kind.name: kind for kind in CONTENDERS}
    for row in rows:
        able = can(kinds[row.contender], row.cell)
        assert (row.messages_per_second is not None) == able, row
        assert row.real_durability == (row.durability if able else None)
        assert row.problem is None
    assert all(row.ratio_to_raw == 1.0 for row in rows if row.contender == RAW)
    assert [row.contender for row in rows if row.duplicates and row.contender != "persist-queue"] == []


def test_a_process_counts_what_it_did(tmp_path: Path) -> None:
    """Messages that it put are there, and those that it popped are the ones it names."""
    worker = Worker(3)
    assert worker.open(OURS, str(tmp_path), "normal", DISTINCT) == "normal"
    worker.prepare(OURS, 40, 10)
    count, seconds = worker.run(OURS, PUT, 10, 60.0)
    assert count == 40
    assert seconds > 0
    assert worker.run(OURS, POP, 10, 0.0)[0] == 0
    assert worker.run(OURS, POP_ACK, 1, 60.0)[0] == 40
    assert worker.taken(OURS) == [*range(3 * APART, 3 * APART + 40)]
    worker.close(OURS)
    with Queue(tmp_path / "pointsman.db") as queue:
        assert queue.size().done == 40


def test_a_peer_that_fails_is_said_to_have_failed_and_how(tmp_path: Path) -> None:
    """Others go on; if the project's queue fails, so does the benchmark."""
    cell, plan = Cell(PUT, 1), TINY.cells
    with running(1) as processes:
        run = Run("litequeue", cell, plan, processes, str(tmp_path))
        other = sqlite3.connect(tmp_path / "litequeue.db")
        other.execute("DROP TABLE Queue")
        other.close()
        run.round()
        run.round()
        row = run.end(Row("litequeue", *cell))
        assert row.messages_per_second is None
        assert "no such table" in (row.problem or "")
        ours = Run(OURS, cell, plan, processes, str(tmp_path))
        own = apsw.Connection(str(tmp_path / "pointsman.db"))
        own.execute("DROP TABLE ready")
        own.close()
        with pytest.raises(Failed, match="StoreError"):
            ours.round()


def test_threads_put_as_much_as_is_counted(tmp_path: Path) -> None:
    """By group commit and under a lock."""
    with Queue(tmp_path / "queue.db") as queue:
        rate = queue_group.put_together(lambda item: queue.put(*item), 4, 0.05)
        assert rate > 0
        assert queue.size().ready >= 4


def test_the_group_rows_name_both_and_all_numbers_of_threads(measured: dict[str, Sequence[Any]]) -> None:
    """In pairs."""
    found = [(row.threads, row.contender) for row in measured["group"]]
    assert found == [(threads, name) for threads in (1, 3) for name in (OURS, queue_group.LOCKED)]


def test_pops_by_pattern_find_what_matches(measured: dict[str, Sequence[Any]]) -> None:
    """Every shape in both ways, and nothing where nothing matches."""
    rows: Sequence[PatternRow] = measured["patterns"]
    shapes = ["exact", *queue_patterns.SHAPES]
    assert [(row.how, row.shape) for row in rows[1:]] == [(how, shape) for how in (DURABLE, AD_HOC) for shape in shapes]
    assert (rows[0].shape, rows[0].found) == (INDEX, 0)
    for row in rows[1:]:
        assert (row.found == 0) == (row.shape == "no match"), row
        assert row.cpu_p50 <= row.cpu_p99 <= row.cpu_max
        assert row.wall_p50 <= row.wall_p99 <= row.wall_max


def test_enough_messages_match_each_pattern_of_a_quick_run() -> None:
    """Otherwise the later pops would find nothing, and be quick about it."""
    plan = queue_patterns.QUICK
    keys = queue_patterns.make_keys(plan.messages)
    stored = Counter(keys)
    exact = queue_patterns.exact_keys(keys, plan.pops + 1)
    assert exact[0] != exact[1]
    for shape, patterns in ({"exact": exact} | queue_patterns.SHAPES).items():
        for text in patterns:
            pattern = Pattern(text, "amqp")
            matching = sum(count for key, count in stored.items() if pattern.matches(key))
            assert matching == 0 if shape == "no match" else matching > plan.pops, text


def test_as_many_subscriptions_match_as_is_said(tmp_path: Path) -> None:
    """Each message goes to those, and to the queue itself."""
    with Queue(tmp_path / "queue.db") as queue:
        queue_fan_out.subscribe(queue, 200)
        assert len(queue.subscriptions()) == 200
        queue.put_many(queue_data.messages(0, 3, distinct=True))
        assert queue.size().ready == 3 * (len(queue_fan_out.MATCHING) + 1)


def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    """And unknown where the system does not say."""
    folder = tmp_path / "a b" / "c"
    folder.mkdir(parents=True)
    mounts = tmp_path / "mounts"
    place = str(tmp_path / "a b").replace(" ", "\\040")
    mounts.write_text(f"one / ext4 rw 0 0\ntwo {place} xfs rw 0 0\n")
    assert queue_disk.file_system(folder, mounts) == "xfs"
    assert queue_disk.file_system(tmp_path, mounts) == "ext4"
    assert queue_disk.file_system(tmp_path, tmp_path / "none") == "unknown"
    assert queue_disk.look(folder, mounts).fdatasync_milliseconds > 0


def speeds(cell: Cell, **by_name: float) -> list[Row]:
    """Rows of a cell, in which the raw one does a thousand a second."""
    rows = [Row(OURS, *cell, cell.durability, messages_per_second=by_name[OURS], ratio_to_raw=by_name[OURS] / 1000)]
    peers = [(name, speed) for name, speed in by_name.items() if name != OURS]
    return rows + [
        Row(name, *cell, cell.durability, name not in ("huey", "diskcache"), messages_per_second=speed)
        for name, speed in peers
    ]


def judge(rows: Sequence[Row], patterns: Sequence[Any] = (), fan_out: Sequence[Any] = ()) -> list[tuple[float, bool]]:
    """What is required of these rows: the limits, and whether they are held."""
    found = required({"rows": rows, "patterns": patterns, "fan_out": fan_out})
    return [(each.limit, each.held) for each in found]


def test_the_share_of_the_raw_speed_is_required_one_by_one_and_in_thousands() -> None:
    """And not for other sizes, for which nothing was promised."""
    for operation in (PUT, POP):
        assert judge(speeds(Cell(operation, 1), pointsman=700)) == [(0.7, True)]
        assert judge(speeds(Cell(operation, 1), pointsman=699)) == [(0.7, False)]
        assert judge(speeds(Cell(operation, 1000), pointsman=600)) == [(0.6, True)]
        assert judge(speeds(Cell(operation, 100), pointsman=100)) == []
    assert judge(speeds(Cell(POP_ACK, 1), pointsman=100)) == []


def test_the_fastest_peer_that_promises_as_much_is_the_one_to_beat() -> None:
    """Not one that waits less for the disk, nor one without an ack where acks are measured."""
    cell = Cell(PUT, 100)
    rows = speeds(cell, pointsman=500, litequeue=400, huey=600)
    assert judge(rows) == [(1.0, False)]
    assert "huey" in required({"rows": rows, "patterns": (), "fan_out": ()})[0].what
    less = [replace(row, real_durability="normal") if row.contender == "huey" else row for row in rows]
    assert judge(less) == [(1.0, True)]
    assert judge(speeds(Cell(POP_ACK, 100), pointsman=500, huey=600)) == []
    assert judge(speeds(Cell(POP, 100), pointsman=500, huey=600)) == [(1.0, False)]
    doubled = [
        replace(row, duplicates=3) if row.contender == "litequeue" else row for row in rows if row.contender != "huey"
    ]
    assert "litequeue, which gave some out twice" in required({"rows": doubled, "patterns": (), "fan_out": ()})[0].what


def test_patterns_are_judged_by_cpu_time_and_subscriptions_by_their_ratio() -> None:
    """A millisecond through a subscription, twenty without, and three times the cost."""
    wall = (0.1, 99.0, 99.0)
    patterns = [
        PatternRow(AD_HOC, INDEX, "a", 10, 1, 0, 900.0, 900.0, 900.0, 900.0, *wall),
        PatternRow(DURABLE, "exact", "a", 10, 5, 5, 30.0, 0.1, 1.0, 5.0, *wall),
        PatternRow(AD_HOC, "exact", "b", 10, 5, 5, 30.0, 0.1, 20.1, 50.0, *wall),
    ]
    fan_out = [FanOutRow("Zipf", 10, 10, 40.0, 1.0), FanOutRow("Zipf", 10_000, 10, 130.0, 3.25)]
    assert judge((), patterns, fan_out) == [(1.0, True), (20.0, False), (3.0, False)]


def test_the_json_of_a_run_holds_all_of_it(
    measured: dict[str, Sequence[Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the names of the fields; the directory is handed on."""
    asked: list[Path | None] = []

    def run(_quick: bool, directory: Path | None, _progress: object) -> dict[str, Sequence[Any]]:
        asked.append(directory)
        return measured

    monkeypatch.setattr(bench, "run", run)
    command.queue(quick=True, json=True, directory=Path("there"))
    printed = json.loads(capsys.readouterr().out)
    assert asked == [Path("there")]
    assert set(printed) == {"disk", "rows", "group", "patterns", "fan_out", "required"}
    assert printed["rows"] == [row.as_dict() for row in measured["rows"]]
    assert set(printed["required"][0]) == {"what", "measured", "limit", "at_least", "held"}


def test_the_tables_of_a_run_say_what_a_reader_must_know(
    measured: dict[str, Sequence[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be done, what deletes, what failed, what was given out twice, and what it was on."""
    rows = [
        replace(row, problem="gone") if row.contender == "litequeue" else
        replace(row, duplicates=4) if row.contender == "persist-queue" and row.operation == POP_ACK else row
        for row in measured["rows"]
    ]  # fmt: skip
    bench_tables.show_queue(measured | {"rows": rows})
    printed = capsys.readouterr().out
    assert f"File system: {measured['disk'][0].file_system}" in printed
    lines = [line for line in printed.splitlines() if line.startswith("│")]
    found = {cells[0]: cells for cells in ([each.strip() for each in line.split("│")[1:-1]] for line in lines)}
    assert found["put x1"][4] == "failed"
    assert found["put x100"][5:7] == ["-", "-"]
    assert found["pop x100"][7].endswith("*")
    assert not found["put x1"][7].endswith("*")
    assert found["pop and ack x1"][5].endswith("(4 twice)")
    assert found["ack_and_pop x1"][2:8] == [""] * 6
    for title in ("durability normal, 1 process (", "durability full, 2 processes at the same time ("):
        assert title in printed
    assert not any("…" in line for line in lines)


def test_every_line_of_a_table_has_a_text_for_each_heading(measured: dict[str, Sequence[Any]]) -> None:
    """Otherwise numbers would stand under the wrong one."""
    for table in tables(measured):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headings)}, table.title


def test_a_plot_of_the_queue_is_a_png_file(measured: dict[str, Sequence[Any]], tmp_path: Path) -> None:
    """With bars for cells and patterns."""
    file = tmp_path / "queue.png"
    full = [replace(row, durability="full", processes=1) for row in measured["rows"]]
    draw_queue(measured | {"rows": full}, file)
    assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("module", ["litequeue", "persistqueue", "huey.storage", "diskcache"])
def test_a_peer_that_is_not_installed_is_named_with_its_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is measured."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pointsman\[bench\]"):
        check_packages()
    with pytest.raises(MissingExtraError):
        bench.run(True)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Before anything is measured."""
    with pytest.raises(InputError, match="no such directory"):
        bench.run(True, tmp_path / "none")


def test_the_contender_that_acknowledges_with_the_next_pop_is_in_its_cell_only() -> None:
    """It is the same queue otherwise."""
    assert {(cell.operation, cell.batch) for cell in ALL_CELLS if can(PointsmanNext, cell)} == {(POP_ACK, 1)}
    assert PointsmanNext.name == OURS_NEXT
