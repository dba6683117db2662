"""Metadata conditions: what they mean, and that the indexes find exactly that."""

from __future__ import annotations

import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.bench.terms import dict_and_re, only_re
from pointsman.bench.terms_data import make_matchers, make_messages, repeated
from pointsman.errors import InputError, MessageError, PatternError
from pointsman.matching.storage import open_arrays, save_arrays
from pointsman.matching.terms import ConditionIndex, Group, GroupIndex, Matcher, Subscription, TermIndex
from pointsman.matching.terms import hits as hits_module
from pointsman.matching.terms import metadata as metadata_module
from pointsman.matching.terms import terms as terms_module
from pointsman.matching.terms.glob import glob_matches
from pointsman.matching.terms.kernels.anchor import LONGEST
from pointsman.matching.terms.kernels.compiled import frozen
from pointsman.matching.terms.kernels.glob import glob, glob_by_bits
from pointsman.matching.terms.kernels.lexeme import next_lexeme
from pointsman.matching.terms.kernels.text import BASE, hash_text
from pointsman.matching.terms.lexemes import lexeme_places, lexemes
from pointsman.matching.terms.model import SUBSCRIPTION, enough

METADATA = pa.map_(pa.string(), pa.string())
CASES = json.loads((Path(__file__).parents[1] / "conformance" / "conditions.json").read_text())

# Few characters, so that patterns and values meet; of one to four bytes, a combining mark, and both wildcards.
CHARACTERS = "abbé日😀\u0301 *?"
KEYS = ["k", "l", "", "schlüssel"]
values = st.text(CHARACTERS, max_size=12) | st.sampled_from(
    ["a" * 40, "abab" * 9 + "é", "a b ab b.a 1,2 é", "don't a_b"]
)
patterns = st.lists(
    st.sampled_from(["a", "b", "ab", "é", "日", "😀", "\u0301", " ", "?", "*", "*", "abab" * 3]), max_size=7
)
matchers = st.builds(Matcher, st.sampled_from([*KEYS[:3], None]), patterns.map("".join), st.booleans())
messages = st.none() | st.dictionaries(st.sampled_from(KEYS), st.none() | values, max_size=4)
groups = st.builds(Group, st.booleans(), st.lists(matchers, max_size=4).map(tuple))
subscriptions = st.builds(Subscription, groups.filter(lambda group: bool(group.matchers)), groups)


@cache
def by_definition(pattern: str, text: str) -> bool:
    """The meaning of a pattern, tried in every way."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return by_definition(pattern[1:], text) or (bool(text) and by_definition(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and by_definition(pattern[1:], text[1:])


def holds(matcher: Matcher, message: dict[str, str | None] | None) -> bool:
    """The meaning of a matcher."""
    for key, value in (message or {}).items():
        if value is not None and matcher.key in (None, key):
            texts = lexemes(value) if matcher.partial else [value]
            if any(by_definition(matcher.pattern, text) for text in texts):
                return True
    return False


def reaches(subscription: Subscription, message: dict[str, str | None] | None) -> bool:
    """The meaning of a subscription."""

    def group_holds(group: Group) -> bool:
        answers = [holds(matcher, message) for matcher in set(group.matchers)]
        return bool(answers) and (all(answers) if group.all else any(answers))

    return group_holds(subscription.includes) and not group_holds(subscription.excludes)


def column(rows: list[Any]) -> Any:
    """Messages as an Arrow column of maps."""
    return pa.array([row if row is None else list(row.items()) for row in rows], METADATA)


def pairs(table: Any) -> list[tuple[int, int]]:
    """The pairs of a table or record batch."""
    return list(zip(*(each.to_pylist() for each in table.columns), strict=True))


def in_bytes(call: Any, pattern: str, text: str) -> bool:
    """A compiled matcher on a pattern and a text that stand within other bytes."""
    first, second = (np.frombuffer(b"*a" + each.encode() + b"?b", np.uint8) for each in (pattern, text))
    return bool(call(first, 2, first.size - 2, second, 2, second.size - 2))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_conformance_cases_hold(case: dict[str, Any]) -> None:
    """What the conformance file expects of lexemes, matchers and groups."""
    if case["kind"] == "lexemes":
        assert lexemes(case["input"]) == case["lexemes"]
    elif case["kind"] == "matcher":
        matcher = Matcher(case["key"], case["pattern"], case["partial"])
        message = {case["key"] or "anything": case["value"]}
        assert matcher.holds(message) is case["expected"]
        assert bool(TermIndex.build([matcher]).match(column([message])).num_rows) is case["expected"]
    else:
        held = [enough(side["all"], side["matched"], side["total"]) for side in (case["includes"], case["excludes"])]
        assert (held[0] and not held[1]) is case["expected"]


@given(patterns.map("".join), values.filter(lambda text: len(text) < 15))
def test_a_pattern_means_what_its_definition_says(pattern: str, text: str) -> None:
    """The reference, and both ways of the compiled matcher, agree with trying everything."""
    expected = by_definition(pattern, text)
    assert glob_matches(pattern, text) is expected
    assert in_bytes(glob, pattern, text) is expected
    assert in_bytes(glob_by_bits, pattern, text) is expected


@given(st.text("ab", max_size=200), st.text("ab?*", min_size=60, max_size=150))
def test_long_patterns_are_matched_alike_by_bits_and_greedily(text: str, pattern: str) -> None:
    """Patterns of more states than a machine word has."""
    assert in_bytes(glob, pattern, text) is in_bytes(glob_by_bits, pattern, text) is glob_matches(pattern, text)


@given(st.text("ab1_.:,;'\" \r\n-*\x00", max_size=12) | st.text(st.characters(max_codepoint=127)))
def test_ascii_lexemes_are_those_of_unicode(text: str) -> None:
    """The compiled segmentation of ASCII finds what the Unicode one finds."""
    data = np.frombuffer(text.encode() + b"x", np.uint8)
    found, place = [], 0
    while (span := next_lexeme(data, place, len(text)))[0] < len(text):
        found.append(text[span[0] : span[1]])
        place = span[1]
    assert found == lexemes(text)


@given(st.text(), st.integers(0, 5))
def test_places_of_lexemes_point_at_their_bytes(text: str, begin: int) -> None:
    """Begin and end count bytes of UTF-8, from where the text begins."""
    text = text.encode("utf-8", "ignore").decode()
    data, places = b"-" * begin + text.encode(), lexeme_places(text, begin)
    found = [data[start:stop].decode() for start, stop in zip(places[::2], places[1::2], strict=True)]
    assert found == lexemes(text)


@given(st.lists(matchers, max_size=12), st.lists(messages, max_size=6), st.integers(1, 5))
def test_the_index_finds_exactly_the_matchers_that_hold(
    given_matchers: list[Matcher], rows: list[Any], max_pairs: int
) -> None:
    """All of them, once each, ascending, in batches that keep to their size."""
    expected = [
        (row, position)
        for row, message in enumerate(rows)
        for position, matcher in enumerate(given_matchers)
        if holds(matcher, message)
    ]
    index = TermIndex.build(given_matchers)
    assert pairs(index.match(column(rows))) == expected
    batches = list(index.match_batches(column(rows), max_pairs))
    assert [pair for batch in batches for pair in pairs(batch)] == expected
    assert all(1 <= batch.num_rows <= max_pairs for batch in batches)


def test_every_short_pattern_finds_every_short_value() -> None:
    """All patterns and all values of up to four characters, under a key and under any key."""
    signs = [each for size in range(5) for each in product("a?*", repeat=size)]
    texts = ["".join(each) for size in range(5) for each in product("aé", repeat=size)]
    given_matchers = [Matcher(key, "".join(each)) for key in ("k", None) for each in signs]
    expected = [
        (row, position)
        for row, text in enumerate(texts)
        for position, matcher in enumerate(given_matchers)
        if by_definition(matcher.pattern, text)
    ]
    assert pairs(TermIndex.build(given_matchers).match(column([{"k": text} for text in texts]))) == expected


@pytest.mark.parametrize("size", [*range(1, 40), 47, 48, 49, 127, 700, LONGEST - 2])
def test_literals_of_every_size_are_found_at_every_place(size: int) -> None:
    """At the beginning, at the end and between wildcards; and not where the first or last character differs."""
    literal = "".join(map(str, range(500)))[-size:]
    given_matchers = [Matcher("k", each) for each in (f"{literal}*", f"*{literal}", f"*{literal}*", f"?{literal}?")]
    rows = [f"{literal}-", f"-{literal}", f"-{literal}-", f"{literal[:-1]}-", f"-{literal[1:]}"]
    index = TermIndex.build(given_matchers)
    found = pairs(index.match(column([{"k": row} for row in rows])))
    assert found == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 2), (2, 3)]


@given(st.lists(subscriptions, max_size=8), st.lists(messages, max_size=6), st.integers(1, 5))
def test_the_index_finds_exactly_the_subscriptions_that_match(
    given_subscriptions: list[Subscription], rows: list[Any], max_pairs: int
) -> None:
    """Includes and excludes, all and any, and matchers that several subscriptions share."""
    expected = [
        (row, position)
        for row, message in enumerate(rows)
        for position, subscription in enumerate(given_subscriptions)
        if reaches(subscription, message)
    ]
    index = ConditionIndex.build(given_subscriptions)
    batches = list(index.match_batches(column(rows), max_pairs))
    assert [pair for batch in batches for pair in pairs(batch)] == expected == pairs(index.match(column(rows)))
    counts = np.bincount([row for row, _ in expected], minlength=len(rows))
    assert index.count(column(rows)).to_pylist() == counts.tolist()


@given(subscriptions, st.dictionaries(st.sampled_from(KEYS), values, max_size=4))
def test_one_subscription_says_itself_whether_it_matches(subscription: Subscription, message: dict[str, str]) -> None:
    """The reference classes agree with the definition."""
    assert subscription.matches(message) is reaches(subscription, message)


@given(st.lists(matchers, max_size=8), st.lists(messages, max_size=8), st.data())
def test_slices_chunks_and_other_types_of_text_change_nothing(
    given_matchers: list[Matcher], rows: list[Any], data: st.DataObject
) -> None:
    """Rows are numbered over all chunks, from the beginning of the slice."""
    index = TermIndex.build(given_matchers)
    expected = pairs(index.match(column(rows)))
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    whole = column([{"k": "ab"}, *rows, {"k": "ab"}]).slice(1, len(rows))
    chunked = pa.chunked_array([whole[:first], whole[first:second], whole[second:]], METADATA)
    assert pairs(index.match(whole)) == pairs(index.match(chunked)) == expected
    part = [(row - first, matcher) for row, matcher in expected if first <= row < second]
    assert pairs(index.match(whole[first:second])) == part
    assert pairs(index.match(whole.cast(pa.map_(pa.large_string(), pa.string_view())))) == expected
    assert pairs(TermIndex.build(matcher_table(given_matchers)).match(whole)) == expected


def matcher_table(given_matchers: list[Matcher]) -> Any:
    """Matchers as a table of columns, in another order and with another type of text."""
    return pa.table(
        {
            "partial": pa.array([matcher.partial for matcher in given_matchers], pa.bool_()),
            "pattern": pa.array([matcher.pattern for matcher in given_matchers], pa.large_string()),
            "key": pa.array([matcher.key for matcher in given_matchers], pa.string()),
        }
    )


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for next to nothing, so that every way out of it is taken."""
    monkeypatch.setattr(terms_module, "FOUND", 5)
    monkeypatch.setattr(terms_module, "BLOCK_ROWS", 4)
    monkeypatch.setattr(hits_module, "ROOM", 3)
    monkeypatch.setattr(metadata_module, "BLOCK_BYTES", 16)


@pytest.mark.usefixtures("narrow")
def test_answers_do_not_depend_on_how_much_room_there_is() -> None:
    """Blocks that find too much are halved, and single rows are gathered without repetition."""

    @given(st.lists(subscriptions, max_size=8), st.lists(messages, max_size=9))
    def check(given_subscriptions: list[Subscription], rows: list[Any]) -> None:
        expected = [
            (row, position)
            for row, message in enumerate(rows)
            for position, subscription in enumerate(given_subscriptions)
            if reaches(subscription, message)
        ]
        assert pairs(ConditionIndex.build(given_subscriptions).match(column(rows))) == expected
        used = [
            matcher for each in given_subscriptions for matcher in (*each.includes.matchers, *each.excludes.matchers)
        ]
        held = [(row, at) for row, message in enumerate(rows) for at, each in enumerate(used) if holds(each, message)]
        assert pairs(TermIndex.build(used).match(column(rows))) == held

    check()


@pytest.mark.usefixtures("narrow")
def test_a_block_that_finds_too_much_is_halved_until_it_fits() -> None:
    """Four rows with three terms each, where there is room for five; then a row with eight."""
    index = TermIndex.build([Matcher("k", "*"), Matcher("k", "?"), Matcher("k", "*?")])
    assert index.match(column([{"k": letter} for letter in "abcd"])).num_rows == 12
    index = TermIndex.build([Matcher(None, "?" * number + "*") for number in range(8)])
    assert index.match(column([{"k": "a" * 7, "l": "b" * 8}, {"k": "a"}])).num_rows == 8 + 2


@given(st.lists(matchers, max_size=12), st.lists(messages, max_size=4))
def test_the_sieve_only_saves_time(given_matchers: list[Matcher], rows: list[Any]) -> None:
    """An index whose sieve lets everything through gives the same answers."""
    index = TermIndex.build(given_matchers)
    arrays = index.to_arrays()
    arrays["sieve"] = np.full_like(arrays["sieve"], 2**64 - 1)
    assert TermIndex.from_arrays(arrays).match(column(rows)) == index.match(column(rows))


def test_texts_of_equal_hash_are_told_apart_by_their_bytes() -> None:
    """The Thue-Morse word and its opposite collide in every polynomial hash of 64 bits."""
    word = "".join("ab"[number.bit_count() % 2] for number in range(2048))
    opposite = word.translate({ord("a"): "b", ord("b"): "a"})
    hashes = {int(hash_text(np.frombuffer(text.encode(), np.uint8), 0, 2048, BASE)) for text in (word, opposite)}
    assert len(hashes) == 1
    index = TermIndex.build([Matcher("k", word), Matcher("k", opposite), Matcher("l", word)])
    assert len(index.terms) == 3
    assert pairs(index.match(column([{"k": opposite}, {"k": word, "l": opposite}]))) == [(0, 1), (1, 0)]


@given(st.lists(subscriptions, max_size=6), st.lists(messages, max_size=6))
def test_groups_follow_from_the_pairs_of_matchers(given_subscriptions: list[Subscription], rows: list[Any]) -> None:
    """The group index alone, over numbers of matchers."""
    sides = [(each.includes, each.excludes) for each in given_subscriptions]
    used = list({matcher for pair in sides for group in pair for matcher in group.matchers})
    numbers = [
        {
            name: {"all": group.all, "matchers": [used.index(matcher) for matcher in group.matchers]}
            for name, group in zip(("includes", "excludes"), pair, strict=True)
        }
        for pair in sides
    ]
    group = pa.struct([("all", pa.bool_()), ("matchers", pa.list_(pa.int32()))])
    index = GroupIndex.build(pa.array(numbers, pa.struct([("includes", group), ("excludes", group)])), len(used))
    held = TermIndex.build(used).match(column(rows))
    found = [pair for batch in index.match_batches(held["row"], held["matcher"], 2) for pair in pairs(batch)]
    assert found == pairs(ConditionIndex.build(given_subscriptions).match(column(rows)))


def test_an_index_that_was_saved_answers_as_before(tmp_path: Path) -> None:
    """Through a file of arrays, mapped into memory."""
    index = ConditionIndex.build([Subscription(Group(True, (Matcher("k", "a*"), Matcher(None, "é?", True))))])
    rows = column([{"k": "ab éa"}, {"k": "ab"}, {"l": "éa"}])
    save_arrays(tmp_path / "index", "conditions", {}, index.to_arrays())
    reopened = ConditionIndex.from_arrays(open_arrays(tmp_path / "index", "conditions")[1])
    assert pairs(reopened.match(rows)) == pairs(index.match(rows)) == [(0, 0)]


def test_threads_may_share_an_index() -> None:
    """What a search writes on is its own."""
    index = TermIndex.build([Matcher("k", f"*{number % 7}*{number}*", number % 2 == 0) for number in range(500)])
    rows = [column([{"k": f"{row} {row * 7} {row * 31}"} for row in range(start, start + 300)]) for start in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(index.match, rows)) == [index.match(each) for each in rows]


def seconds(call: Any) -> float:
    """CPU time of a call, the best of three."""
    call()
    spent = []
    for _ in range(3):
        started = process_time()
        call()
        spent.append(process_time() - started)
    return min(spent)


HOSTILE = [
    "*" + "a" * 1000 + "b*",
    "*a" * 500 + "*b",
    "*" + "a?" * 500 + "b*",
    "?" * 1000 + "*b",
    "*" + "?a" * 400 + "*b" * 100,
]


@pytest.mark.parametrize("pattern", HOSTILE, ids=lambda pattern: pattern[:8])
def test_no_pattern_makes_the_work_grow_faster_than_the_value(pattern: str) -> None:
    """Four times the value takes about four times as long, and a long pattern is no thousand times a short one."""
    index = TermIndex.build([Matcher("k", pattern), Matcher("k", "*aab*")])
    small, large = (column([{"k": "a" * size + "c"}]) for size in (1 << 16, 1 << 18))
    text = frozen(np.full(1 << 16, ord("a"), np.uint8))
    words = [np.frombuffer(each.encode(), np.uint8) for each in (pattern, "*aab*")]
    hostile, simple = (seconds(lambda word=word: glob(word, 0, word.size, text, 0, text.size)) for word in words)
    assert hostile < 250 * simple
    assert index.match(small).num_rows == 0
    assert seconds(lambda: index.match(large)) < 16 * max(seconds(lambda: index.match(small)), 1e-3)


def test_a_part_that_comes_a_million_times_is_looked_at_once() -> None:
    """Patterns filed under it are compared with the value once, and not at each place."""
    index = TermIndex.build([Matcher("k", f"*aaaaaaaa*{number}*") for number in range(20)])
    small, large = (column([{"k": "a" * size}]) for size in (1 << 13, 1 << 16))
    assert seconds(lambda: index.match(large)) < 30 * seconds(lambda: index.match(small))
    found = index.match(column([{"k": "a" * (1 << 20) + "17"}]))
    assert found["matcher"].to_pylist() == [1, 7, 17]


def test_a_message_reaches_a_million_subscriptions_in_flat_memory() -> None:
    """Batch by batch; all pairs at once would take 120 MB."""
    count, rows = 1_000_000, 10
    matcher = pa.array(
        [{"key": None, "pattern": "*", "partial": False}] * count, SUBSCRIPTION[0].type["matchers"].type.value_type
    )
    lists = pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32), matcher)
    includes = pa.StructArray.from_arrays([pa.array(np.zeros(count, np.bool_)), lists], ["all", "matchers"])
    excludes = pa.nulls(count, SUBSCRIPTION[1].type)
    index = ConditionIndex.build(pa.StructArray.from_arrays([includes, excludes], ["includes", "excludes"]))
    metadata = column([{"k": str(row)} for row in range(rows)])
    total, before = 0, pa.total_allocated_bytes()
    next(index.match_batches(metadata))
    tracemalloc.start()
    try:
        for batch in index.match_batches(metadata, max_pairs=100_000):
            assert batch.num_rows <= 100_000
            assert batch["subscription"][0].as_py() == total % count
            total += batch.num_rows
            assert pa.total_allocated_bytes() - before < 4e6
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
    assert total == rows * count


def test_a_frequent_matcher_costs_nothing_where_a_rare_one_is_needed_too() -> None:
    """Subscriptions that need all their matchers are looked for under the one that is least used."""
    frequent = Matcher("language", "en")
    index = ConditionIndex.build(
        [Subscription(Group(True, (frequent, Matcher("title", f"w{n}", True)))) for n in range(50)]
    )
    assert index.groups.arrays.filed.size == 50
    longest = np.diff(index.groups.arrays.filed_offsets).max()
    assert longest == 1


def test_unusable_matchers_are_refused() -> None:
    """With an error that says what is wrong."""
    with pytest.raises(PatternError, match="1025") as error:
        TermIndex.build([Matcher("k", "a"), Matcher("k", "*" + "é" * (LONGEST // 2))])
    assert error.value.code == "too-long"
    assert len(TermIndex.build([Matcher("k", "*" + "a" * (LONGEST - 1)), Matcher("k", "a" * (LONGEST + 1))])) == 2
    with pytest.raises(PatternError, match="null"):
        TermIndex.build(pa.table({"key": ["k"], "pattern": pa.nulls(1, pa.string()), "partial": [False]}))
    for unfit in ([1], ["a"], 7, pa.array([1]), pa.table({"key": ["k"]}), [Matcher("k", "\ud800")]):
        with pytest.raises(InputError):
            TermIndex.build(unfit)


def test_unusable_subscriptions_are_refused() -> None:
    """One that includes nothing never comes into being, as an object or in a column."""
    with pytest.raises(PatternError, match="include something"):
        Subscription(Group())
    good, empty = (
        {"all": False, "matchers": [{"key": "k", "pattern": "a", "partial": False}]},
        {"all": True, "matchers": []},
    )
    for includes in (empty, None, {"all": True, "matchers": None}):
        rows = [{"includes": good, "excludes": None}, {"includes": includes, "excludes": good}]
        with pytest.raises(PatternError, match="subscription 1"):
            ConditionIndex.build(pa.array(rows, SUBSCRIPTION))
    group = pa.struct([("all", pa.bool_()), ("matchers", pa.list_(pa.int32()))])
    rows = [{"includes": {"all": True, "matchers": [3]}, "excludes": None}]
    with pytest.raises(InputError, match="outside"):
        GroupIndex.build(pa.array(rows, pa.struct([("includes", group), ("excludes", group)])), 3)


def test_unusable_metadata_is_refused() -> None:
    """Whatever is no column of maps of texts."""
    index = TermIndex.build([Matcher("k", "*")])
    for unfit in (pa.array(["a"]), pa.array([[("k", b"\xff")]], pa.map_(pa.string(), pa.binary())), [{"k": "v"}]):
        with pytest.raises(MessageError):
            index.match(unfit)
    with pytest.raises(InputError, match="at least one pair"):
        next(index.match_batches(column([{"k": "v"}]), 0))
    assert index.match(pa.chunked_array([], METADATA)).num_rows == 0


def test_the_benchmark_compares_like_with_like() -> None:
    """Its peers find as many pairs as the index does, on messages that match several matchers each."""
    given_matchers, texts = make_matchers(300)
    sent = list(make_messages(given_matchers, texts, 40))
    sent += repeated(sent, 20)
    found = TermIndex.build(given_matchers).match(pa.array(sent, METADATA)).num_rows
    assert only_re(given_matchers)(sent) == dict_and_re(given_matchers)(sent) == found > 3 * len(sent)
