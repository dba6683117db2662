"""The benchmark of matching: its data are what they claim to be, and its engines agree."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from pointsman.bench import engines, match, plot, startup
from pointsman.bench.match import BRUTE, COMPILED, DICT, LIVE, PAHO, STREAMS, Plan, run_plan
from pointsman.bench.match_rows import Row
from pointsman.bench.required import Required, required
from pointsman.bench.sizes import bytes_of
from pointsman.bench.subjects import patterns, streams
from pointsman.cli import bench as command
from pointsman.cli import bench_tables
from pointsman.errors import InputError, MissingExtraError
from pointsman.matching.compiled import CompiledIndex
from pointsman.patterns import Pattern

TINY = Plan(sizes=(200, 1_000), messages=2_000, piece=50, turns=2, rounds=2, weigh_up_to=200, brute_piece=5)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Of a tiny run."""
    return run_plan(TINY)


def kind_of(pattern: str) -> str:
    """Which share of the mix a pattern belongs to."""
    tokens = pattern.split("/")
    ones = {0: "none", 1: "one", 2: "one"}[tokens.count("+")]
    if tokens[-1] != "#":
        return ones
    return "both" if tokens.count("+") == 1 else "many"


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_the_patterns_are_mixed_as_promised_and_no_two_are_alike(count: int) -> None:
    """40 % without a wildcard, 35 % with one-wildcards, 20 % with a many-wildcard, 5 % with both; 3 to 7 tokens."""
    texts = patterns(count).to_pylist()
    assert len(set(texts)) == len(texts) == count
    shares = {kind: number / count for kind, number in Counter(map(kind_of, texts)).items()}
    assert shares == {"none": 0.4, "one": 0.35, "many": 0.2, "both": 0.05}
    exact = {text.count("/") + 1 for text in texts if kind_of(text) == "none"}
    assert exact == {3, 4, 5, 6, 7}
    assert all(Pattern(text, "mqtt").text == text for text in texts[:200])


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_five_to_fifteen_patterns_match_a_message(count: int) -> None:
    """In the streams that are to match; in the one that is to miss, nine messages of ten match nothing."""
    index = CompiledIndex.build(patterns(count), "mqtt")
    messages = streams(5_000)
    for stream in (messages.repeated, messages.distinct):
        assert 5 <= len(index.match(stream).values) / len(stream) <= 15
    misses = index.count(messages.missing).to_pylist().count(0)
    assert 0.85 < misses / len(messages.missing) < 0.95


def test_the_distinct_stream_has_no_subject_twice_and_the_repeated_one_many() -> None:
    """A million messages are a million subjects; the most frequent of the repeated ones are seen again and again."""
    messages = streams(1_000_000)
    assert len(messages.distinct.unique()) == len(messages.distinct) == 1_000_000
    assert len(messages.repeated.unique()) <= 50_000
    counts = sorted((each["counts"] for each in messages.repeated.value_counts().to_pylist()), reverse=True)
    # Zipf: the tenth subject comes a tenth as often as the first.
    assert 8 < counts[0] / counts[9] < 12


def test_the_data_are_the_same_at_every_run() -> None:
    """Unless another seed is asked for."""
    assert patterns(500).equals(patterns(500))
    assert not patterns(500).equals(patterns(500, seed=5))
    assert streams(500) == streams(500)


def test_more_patterns_than_there_are_is_refused() -> None:
    """The generator does not look for them for ever."""
    with pytest.raises(ValueError, match="there are not 2000000 patterns"):
        patterns(2_000_000)


def test_a_run_has_a_row_for_every_engine_size_and_stream(rows: list[Row]) -> None:
    """And those for hits, for the live index beside a dict."""
    found = {(row.engine, row.patterns, row.stream) for row in rows}
    assert len(found) == len(rows)
    for engine in (COMPILED, LIVE, match.UNCACHED, PAHO, match.PAHO_CACHED, BRUTE):
        assert {(engine, size, stream) for size in TINY.sizes for stream in STREAMS} <= found
    assert {(engine, 1_000, "hits") for engine in (LIVE, DICT, match.DICT_COPY)} <= found


def test_the_engines_of_a_run_report_the_same_matches(rows: list[Row]) -> None:
    """For the same stream and patterns; they were compared message by message."""
    for size in TINY.sizes:
        for stream in STREAMS:
            matches = [row.matches for row in rows if (row.patterns, row.stream) == (size, stream)]
            assert len(matches) == 6
            assert len(set(matches)) == 1


def test_the_numbers_of_a_row_fit_each_other(rows: list[Row]) -> None:
    """Matches a second are matches a message by the time of a message."""
    for row in rows:
        assert row.nanoseconds > 0
        assert row.matches_per_second == pytest.approx(row.matches / row.nanoseconds * 1e9)
    weighed = {(row.engine, row.patterns) for row in rows if row.bytes_per_pattern is not None}
    assert (PAHO, 200) in weighed
    assert (PAHO, 1_000) not in weighed
    assert (COMPILED, 1_000) in weighed


def test_a_wrong_engine_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fast wrong answer is no answer."""

    def wrong(texts: list[str]) -> engines.Engine:
        right = engines.brute_force(texts)
        return engines.Engine(lambda text: [*right.match(text), 0], right.held)  # type: ignore[misc]

    monkeypatch.setattr(engines, "paho", wrong)
    with pytest.raises(AssertionError, match="paho and CompiledIndex disagree about"):
        run_plan(TINY)


def test_an_expression_says_what_its_pattern_says() -> None:
    """The regular expressions of the brute force, on every pair of a few."""
    texts = ["a", "+", "a/+", "a/#", "+/b/#", "a/+/c", "a.c/#"]
    brute = engines.brute_force(texts)
    for subject in ("a", "a/", "a/b", "a/b/c", "abc", "ab/c", "a.c", "a.c/x/y", "axc"):
        expected = [number for number, text in enumerate(texts) if Pattern(text, "mqtt").matches(subject)]
        assert brute.match(subject) == expected


def test_what_must_hold_is_judged_from_the_rows(rows: list[Row]) -> None:
    """What a run did not measure is left out, and a limit counts as held."""
    assert required(rows) == []
    made = [
        Row(engine, 100_000, stream, 1, nanoseconds, 1.0, 1.0, 1.0, 1.0)
        for engine, nanoseconds in ((COMPILED, 100.0), (PAHO, 2_000.0))
        for stream in STREAMS
    ]
    assert [(each.limit, each.measured, each.held) for each in required(made)] == [(60, 20, False), (10, 20, True)]
    assert Required("", 3.0, 3.0, False).held
    assert Required("", 3.0, 3.0, True).held
    assert not Required("", 3.1, 3.0, False).held


def test_the_json_of_a_run_holds_the_rows_and_what_must_hold(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the names of the fields."""
    monkeypatch.setattr(match, "run", lambda quick, _: rows if quick else [])
    command.match(quick=True, json=True)
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"rows", "required"}
    assert printed["rows"] == [row.as_dict() for row in rows]
    assert set(printed["rows"][0]) >= {"engine", "patterns", "stream", "nanoseconds", "matches", "build_seconds"}
    assert Required("x", 1.0, 2.0, False).as_dict() == {
        "what": "x",
        "measured": 1.0,
        "limit": 2.0,
        "at_least": False,
        "held": True,
    }


def test_the_table_of_a_run_names_every_engine_and_what_must_hold(
    rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    """In a file it is not broken at the 80th column."""
    bench_tables.show_match({"rows": rows, "required": [Required("as fast as that", 1.0, 2.0, True)]})
    printed = capsys.readouterr().out
    assert [row.engine for row in rows if row.engine not in printed] == []
    assert "not held" in printed
    assert any(PAHO in line and "distinct" in line and "1,000" in line for line in printed.splitlines())


def test_a_plot_is_a_png_file(rows: list[Row], tmp_path: Path) -> None:
    """With the rows of this benchmark."""
    file = tmp_path / "match.png"
    lines = plot.match_lines(rows)
    assert {line.stream for line in lines} == set(STREAMS)
    assert all(line.points == sorted(line.points) for line in lines)
    plot.draw(lines, file, "A title", "patterns")
    assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(("name", "code"), [("plot.jpg", "bad-usage"), ("none/plot.png", "no-file")])
def test_a_file_that_cannot_be_drawn_to_is_refused_before_anything_is_measured(
    name: str, code: str, tmp_path: Path
) -> None:
    """Not a minute later."""
    with pytest.raises(InputError) as caught:
        command.match(plot=tmp_path / name)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("matplotlib", lambda: plot.check(Path("plot.png"))),
        ("paho.mqtt.matcher", lambda: engines.paho(["a"])),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module: str, call: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how to install it."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pointsman\[bench\]"):
        call()  # type: ignore[operator]


def test_objects_are_weighed_with_all_they_refer_to_and_each_once() -> None:
    """Keys of dicts count, classes do not."""
    text = "x" * 1_000
    alone = bytes_of(text)
    assert bytes_of([text, text]) == bytes_of([]) + 16 + alone
    assert bytes_of({text: int}) == bytes_of({"": int}) - bytes_of("") + alone


def test_a_new_process_is_measured_step_by_step() -> None:
    """The whole is at least as long as its parts."""
    steps = startup._process()
    assert [row.step for row in steps] == ["Python itself", "import", "build", "match", "all"]
    assert steps[-1].cpu == pytest.approx(sum(row.cpu for row in steps[:-1]))
    assert all(row.wall > 0 for row in steps)


def test_the_compiled_index_reads_the_streams_as_they_are() -> None:
    """Columns of strings, without nulls."""
    messages = streams(100)
    for stream in (messages.repeated, messages.distinct, messages.missing):
        assert stream.type == pa.string()
        assert stream.null_count == 0
