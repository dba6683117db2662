"""The compiled index: the behaviour of every engine, and what is its own."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, LimitError, PatternError
from pointsman.matching import compiled
from pointsman.matching.compiled import CompiledIndex
from pointsman.matching.invalid import InvalidPatternsError
from pointsman.patterns import DIALECTS, Pattern
from tests.matching.behaviour import Matches, MatchingBehaviour, Patterns, is_pattern


def build(some: Patterns) -> tuple[CompiledIndex, list[int]]:
    """The index, and for each of its positions the position in the list."""
    columns: dict[str, list[str]] = {}
    places: dict[str, list[int]] = {}
    for place, (text, dialect) in enumerate(some):
        columns.setdefault(dialect, []).append(text)
        places.setdefault(dialect, []).append(place)
    order = [place for dialect in columns for place in places[dialect]]
    return CompiledIndex.build(columns, ids=pa.array(order, pa.int32())), order


def ask(index: CompiledIndex, texts: Sequence[str]) -> Matches:
    """What matches; a text that Arrow cannot hold is no subject."""
    writable = [None if any("\ud800" <= character <= "\udfff" for character in text) else text for text in texts]
    answers = index.match(pa.array(writable, pa.string())).to_pylist()
    return [None if answer is None else sorted(answer) for answer in answers]


class TestCompiledIndex(MatchingBehaviour):
    """Freshly built."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Builds and asks."""
        return ask(build(some)[0], texts)


class TestReopenedIndex(MatchingBehaviour):
    """Saved, and opened from its file."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.file = tmp_path / "index"

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Saves, opens and asks."""
        build(some)[0].save(self.file)
        return ask(CompiledIndex.open(self.file), texts)


class TestOtherAnswers(MatchingBehaviour):
    """The batches of pairs, the counts and the best of all say what the lists say."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Asks in three other ways, which must agree."""
        index, order = build(some)
        answers = ask(index, texts)
        writable = [None if any("\ud800" <= character <= "\udfff" for character in text) else text for text in texts]
        column = pa.array(writable, pa.string())
        pairs: Matches = [[] for _ in texts]
        for batch in index.match_batches(column, max_pairs=2):
            assert 0 < batch.num_rows <= 2
            for row, number in zip(batch["row"].to_pylist(), batch["id"].to_pylist(), strict=True):
                pairs[row].append(number)  # type: ignore[union-attr]
        assert [sorted(pair) for pair in pairs if pair is not None] == [answer or [] for answer in answers]
        counts = index.count(column).to_pylist()
        assert counts == [None if answer is None else len(answer) for answer in answers]
        rank = np.array([-place for place in order])
        best = index.first(column, rank).to_pylist()
        assert best == [max(answer) if answer else None for answer in answers]
        return answers


@pytest.mark.parametrize("dialect", [*DIALECTS, None])
def test_a_pattern_is_invalid_exactly_when_pattern_says_so(dialect: str | None) -> None:
    """Whatever the text, also where no dialect was chosen; and the failures have the same error at their position."""
    signs = st.text("ab.*#>+/ \té\0ZatopskzATO", max_size=8)
    tokens = st.lists(st.sampled_from(["a", "*", "**", "***", "#", "+", "+#", ">", ".", "/", "", "é"]), max_size=6)

    @given(st.lists(signs | tokens.map(".".join) | tokens.map("".join) | tokens.map("/".join), max_size=6))
    def check(texts: list[str]) -> None:
        invalid = [place for place, text in enumerate(texts) if not is_pattern(text, dialect)]
        try:
            CompiledIndex.build(texts, dialect)
            failures = []
        except InvalidPatternsError as error:
            failures = error.failures
        assert [place for place, _ in failures] == invalid
        for place, failure in failures:
            with pytest.raises(PatternError) as caught:
                Pattern(texts[place], dialect)
            assert str(failure) == str(caught.value)

    check()


def test_every_invalid_pattern_is_reported_with_its_position() -> None:
    """Nulls too; and they can be skipped, the positions of the others staying what they are."""
    column = ["a..b", "a", None, "a.>.b", "b"]
    with pytest.raises(InvalidPatternsError, match=r"pattern 0: token 2 .* is empty \(and 2 more") as caught:
        CompiledIndex.build(column)
    assert [place for place, _ in caught.value.failures] == [0, 2, 3]
    assert CompiledIndex.build(column, skip_invalid=True).match(["b"]).to_pylist() == [[4]]


def test_a_wildcard_of_another_dialect_is_invalid_unless_the_dialect_was_chosen() -> None:
    """With its position; in several dialects it is the dialect None that nobody chose."""
    column = pa.array(["x", "orders.>", "orders.#", "plant/+", "a.**", "a.#1"]).slice(1)
    with pytest.raises(InvalidPatternsError, match=r"foreign-wildcard.*pattern 1: '#' is a wildcard in amqp") as caught:
        CompiledIndex.build(column)
    assert [(place, failure.code, failure.column) for place, failure in caught.value.failures] == [
        (1, "foreign-wildcard", 8),
        (2, "foreign-wildcard", 7),
        (3, "foreign-wildcard", 3),
    ]
    assert CompiledIndex.build(column, "nats").match(["orders.#"]).to_pylist() == [[0, 1]]
    assert CompiledIndex.build({"nats": column}).match(["orders.#"]).to_pylist() == [[0, 1]]
    assert CompiledIndex.build(column, skip_invalid=True).match(["orders.#", "a.**"]).to_pylist() == [[0], []]
    mixed = CompiledIndex.build({None: ["a.*"], "nats": ["a.#"]})
    assert mixed.match(["a.#", "a.b"]).to_pylist() == [[0, 1], [0]]
    with pytest.raises(InvalidPatternsError, match="pattern 1:"):
        CompiledIndex.build({"nats": ["a.#"], None: ["a.#"]})


def test_all_kinds_of_columns_of_text_are_read_alike() -> None:
    """Strings, large strings, dictionaries, chunks, slices, nulls, and a list of texts."""
    index = CompiledIndex.build(["a.*", "a.>", "b"])
    texts = ["a.x", None, "b", "a..", "a.x.y", "a.x"]
    wanted = [[0, 1], None, [2], None, [1], [0, 1]]
    for column in (
        texts,
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array(texts).dictionary_encode(),
        pa.array(texts, pa.large_string()).dictionary_encode(),
        pa.chunked_array([pa.array(texts[:2]), pa.array([], pa.string()), pa.array(texts[2:])]),
        pa.chunked_array([pa.array(texts[:2]), pa.array(texts[2:])]).dictionary_encode(),
        pa.array(["zz", *texts, "zz"]).slice(1, len(texts)),
        pa.array(["zz", *texts, "zz"]).dictionary_encode().slice(1, len(texts)),
    ):
        assert index.match(column).to_pylist() == wanted
        assert index.count(column).to_pylist() == [None if answer is None else len(answer) for answer in wanted]
    assert index.match(pa.array([], pa.string())).to_pylist() == []
    assert index.match(pa.chunked_array([], pa.string())).to_pylist() == []
    assert index.match(pa.nulls(2)).to_pylist() == [None, None]


def test_patterns_come_from_all_kinds_of_columns_too() -> None:
    """As subjects do."""
    texts = ["a.*", "a.>", "b"]
    for column in (
        texts,
        pa.array(texts, pa.large_string()),
        pa.array(texts).dictionary_encode(),
        pa.chunked_array([texts[:1], texts[1:]]),
    ):
        assert CompiledIndex.build(column).match(["a.x", "b"]).to_pylist() == [[0, 1], [2]]
    empty = CompiledIndex.build([])
    assert (len(empty), empty.match(["a", "a..b"]).to_pylist()) == (0, [[], None])


def test_what_is_no_column_of_text_is_refused() -> None:
    """With the project's error."""
    index = CompiledIndex.build(["a"])
    for column in (pa.array([1, 2]), [1, 2], ["a\ud800"], 7):
        with pytest.raises(InputError) as caught:
            index.match(column)
        assert caught.value.code == "not-text"


def test_ids_take_the_place_of_positions() -> None:
    """Of any type; one for each pattern."""
    index = CompiledIndex.build(["a", "*"], ids=["first", "second"])
    assert index.match(["a"]).to_pylist() == [["first", "second"]]
    assert index.first(["a", "b"], [2, 1]).to_pylist() == ["second", "second"]
    with pytest.raises(PatternError, match="2 patterns and 1 ids"):
        CompiledIndex.build(["a", "*"], ids=[1])
    with pytest.raises(PatternError, match="2 patterns and 1 ranks"):
        index.first(["a"], [1])


def test_of_equal_ranks_the_first_pattern_is_the_best() -> None:
    """Within one list of patterns that match together, and between several."""
    index = CompiledIndex.build(["*", "a", ">", "a", "*"])
    assert index.first(["a"], [1, 1, 1, 1, 1]).to_pylist() == [0]
    assert index.first(["a"], [2, 2, 2, 1, 1]).to_pylist() == [3]


def test_repeated_subjects_give_what_single_ones_do() -> None:
    """A long column is dictionary-encoded when its beginning repeats itself, and not when it does not."""
    source = random.Random(3)
    index = CompiledIndex.build(["a.*.c", "a.>", "*.b.*", "q", "*"])
    some = [".".join(source.choice("abcq") for _ in range(source.randint(1, 4))) for _ in range(200)]
    column = [source.choice([*some, None, "a..b"]) for _ in range(40_000)]
    answers = dict(zip(some, index.match(some).to_pylist(), strict=True)) | {None: None, "a..b": None}
    assert index.match(column).to_pylist() == [answers[text] for text in column]
    distinct = [f"a.{number}.c" for number in range(40_000)]
    assert index.match(distinct).to_pylist() == [[0, 1]] * 40_000


def test_subjects_and_tokens_may_be_of_any_length() -> None:
    """Deeper than any pattern, with tokens longer than 65,535 bytes, and patterns of a hundred thousand tokens."""
    long = "x" * 70_000
    deep = ".".join(["a"] * 100_000)
    index = CompiledIndex.build([f"{long}.*", "a.>", deep, "*", f"{deep}.>"])
    texts = [f"{long}.b", f"{long}y.b", deep, f"{deep}.a", long, f"{long}.{long}"]
    assert index.match(texts).to_pylist() == [[0], [], [1, 2], [1, 4], [3], [0]]


def test_hostile_wildcards_for_many_are_walked_without_trying_anything_twice() -> None:
    """Seven of them against thirty tokens, in an index of many such patterns."""
    hostile = [".".join(["#", "a"] * count + ["#", "b"]) for count in range(1, 60)]
    index = CompiledIndex.build(hostile, "amqp")
    subjects = [".".join(["a"] * 120), ".".join(["a"] * 60 + ["b"])]
    assert index.match(subjects).to_pylist() == [[], list(range(59))]


def test_the_index_says_what_it_weighs() -> None:
    """All arrays count; the file is hardly larger."""
    index = CompiledIndex.build([f"a.{number}.*" for number in range(10_000)])
    assert 20 * 10_000 < index.nbytes < 200 * 10_000


def test_explain_shows_each_dialect_of_the_index() -> None:
    """Whether the text is a subject there, its tokens, and what matches."""
    index = CompiledIndex.build({"nats": ["a.*"], "mqtt": ["#"]}, ids=["n", "m"])
    assert index.explain("a.b") == [
        {"dialect": "nats", "valid": True, "tokens": ["a", "b"], "ids": ["n"]},
        {"dialect": "mqtt", "valid": True, "tokens": ["a.b"], "ids": ["m"]},
    ]
    assert index.explain("a.*")[0] == {"dialect": "nats", "valid": False, "tokens": [], "ids": []}


def test_more_matches_than_one_array_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way out; the limit is lowered here, for nobody has that much memory."""
    monkeypatch.setattr(compiled, "MOST_VALUES", 5)
    index = CompiledIndex.build(["*"] * 3)
    with pytest.raises(LimitError) as caught:
        index.match(["a", "b"])
    assert "match_batches" in caught.value.help
    with pytest.raises(LimitError):
        index.match(pa.array(["a", "a"]).dictionary_encode())


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda data: data[:-1], "checksum"),
        (lambda data: data[:40], "checksum"),
        (lambda data: data[:10], "not an index"),
        (lambda _: b"", "cannot read"),
        (lambda data: b"X" + data[1:], "not an index"),
        (lambda data: data[:16] + b"\x63" + data[17:], "version 99"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "checksum"),
        (lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:], "checksum"),
        (lambda data: data + b"\0", "checksum"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, damage: object, problem: str) -> None:
    """Truncated, foreign, of another version, or with a flipped bit."""
    file = tmp_path / "index"
    CompiledIndex.build(["a.*", "b"]).save(file)
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    with pytest.raises(InputError, match=problem) as caught:
        CompiledIndex.open(file)
    assert caught.value.code == "bad-index"
    assert caught.value.file == str(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(InputError) as caught:
        CompiledIndex.open(tmp_path / "none")
    assert caught.value.code == "no-file"


def test_saving_puts_a_whole_file_in_place_or_leaves_the_old_one(tmp_path: Path) -> None:
    """And nothing else in the folder."""
    file = tmp_path / "index"
    CompiledIndex.build(["a"]).save(file)
    CompiledIndex.build(["b"]).save(file)
    assert CompiledIndex.open(file).match(["b"]).to_pylist() == [[0]]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    with pytest.raises(OSError, match="No such file"):
        CompiledIndex.build(["a"]).save(tmp_path / "no" / "index")


def test_memory_stays_flat_when_one_subject_matches_a_million_patterns() -> None:
    """A thousand such subjects in batches, in a process of its own, whose peak is read from the kernel."""
    script = """
import resource
from pointsman.matching.compiled import CompiledIndex
index = CompiledIndex.build(["a.*"] * 1_000_000)
next(index.match_batches(["a.b"]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pairs = sum(batch.num_rows for batch in index.match_batches(["a.b"] * 1_000))
assert pairs == 1_000_000_000, pairs
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300_000


def test_a_process_without_compiled_code_on_disk_says_what_it_is_doing(tmp_path: Path) -> None:
    """And one with it says nothing."""
    script = "from pointsman.matching.compilation import announce; announce()"
    new = {"PATH": "/usr/bin", "NUMBA_CACHE_DIR": str(tmp_path)}
    first = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=new)
    assert "compiling the matching code" in first.stderr
    CompiledIndex.build(["a"]).match(["a"])
    again = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert again.stderr == ""
