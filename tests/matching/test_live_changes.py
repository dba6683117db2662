"""The live index while it changes: any sequence of calls, and several threads at once."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pointsman.errors import SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.matching.live_changes import ChangeLog
from pointsman.matching.live_prefixes import MOST
from pointsman.patterns import Pattern
from tests.matching.behaviour import is_subject
from tests.patterns.strategies import NAMES, patterns, subjects

SOME_PATTERNS = st.sampled_from(NAMES).flatmap(patterns)
SOME_TEXTS = st.sampled_from(NAMES).flatmap(subjects).map(str)


class IndexMachine(RuleBasedStateMachine):
    """An index with room for three results and two changes, beside a plain list of its pairs."""

    cache_size = 3

    def __init__(self) -> None:
        super().__init__()
        self.index: SubjectIndex[int] = SubjectIndex("nats", cache_size=self.cache_size)
        self.index._log = ChangeLog(2)
        self.pairs: list[tuple[Pattern, int]] = []
        self.asked: list[str] = []

    def place(self, pattern: Pattern, value: int) -> int | None:
        """Where the pair stands in the list."""
        for place, (each, other) in enumerate(self.pairs):
            if (each.dialect, each.nodes, other) == (pattern.dialect, pattern.nodes, value):
                return place
        return None

    @rule(pattern=SOME_PATTERNS, value=st.integers(0, 2))
    def add(self, pattern: Pattern, value: int) -> None:
        """A pair comes, new or not."""
        place = self.place(pattern, value)
        assert self.index.add(pattern, value) == (place is None)
        if place is None:
            self.pairs.append((pattern, value))

    @rule(pattern=SOME_PATTERNS, value=st.integers(0, 2))
    def remove_any(self, pattern: Pattern, value: int) -> None:
        """A pair is to go that most likely is not there."""
        place = self.place(pattern, value)
        assert self.index.remove(pattern, value) == (place is not None)
        if place is not None:
            del self.pairs[place]

    @precondition(lambda self: self.pairs)
    @rule(data=st.data())
    def remove_one_that_is_there(self, data: st.DataObject) -> None:
        """A pair goes."""
        pattern, value = self.pairs.pop(data.draw(st.integers(0, len(self.pairs) - 1)))
        assert self.index.remove(pattern, value)

    @rule(text=SOME_TEXTS)
    def match(self, text: str) -> None:
        """A subject is matched, and remembered to be asked again."""
        self.asked = [*self.asked[-4:], text]
        self.check(text)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def match_again(self, data: st.DataObject) -> None:
        """A subject is matched that may be in the cache."""
        self.check(data.draw(st.sampled_from(self.asked)))

    def check(self, text: str) -> None:
        """The index gives what the list gives."""
        names = {"nats", *(pattern.dialect.name for pattern, _ in self.pairs)}
        valid = {name for name in names if is_subject(text, name)}
        if not valid:
            with pytest.raises(SubjectError):
                self.index.match(text)
            return
        wanted = [v for pattern, v in self.pairs if pattern.dialect.name in valid and pattern.matches(text)]
        assert sorted(self.index.match(text)) == sorted(wanted)

    @invariant()
    def the_numbers_fit(self) -> None:
        """Pairs and patterns are counted, and the cache is within its bound."""
        stats = self.index.stats()
        assert len(self.index) == stats.pairs == len(self.pairs)
        assert stats.patterns == len({(pattern.dialect.name, pattern.nodes) for pattern, _ in self.pairs})
        assert stats.cache_entries <= self.cache_size


class MachineWithoutCache(IndexMachine):
    """Every match walks the trie, where only the beginnings of subjects are remembered."""

    cache_size = 0


TestAnySequenceOfCalls = IndexMachine.TestCase
TestAnySequenceWithoutCache = MachineWithoutCache.TestCase
for case in (TestAnySequenceOfCalls, TestAnySequenceWithoutCache):
    case.settings = settings(max_examples=settings.default.max_examples // 4, stateful_step_count=30)


FAMILY = ("a.b.*", "a.b.*.d", "a.b.#", "a.*", "a.*.c.*", "a.*.#", "*.b.c.d", "#", "a.b.c.d.*.f", "a.b.c.d.#")
"""Patterns that begin alike, so that one goes on where another ends."""


@pytest.mark.parametrize("seed", range(20))
def test_patterns_that_begin_alike_come_and_go_in_any_order(seed: int) -> None:
    """Each with few or many values; what is remembered of the beginning of a subject is never what held before."""
    chance = random.Random(seed)
    index: SubjectIndex[tuple[str, int]] = SubjectIndex("amqp", cache_size=0)
    there: set[tuple[str, tuple[str, int]]] = set()
    texts = ["a", "a.b", "a.b.c", "a.b.c.d", "a.b.c.d.e", "a.b.c.d.e.f", "a.b.c.d.e.f.g"]
    before = index.stats().nodes
    for _ in range(300):
        pattern = chance.choice(FAMILY)
        pair = pattern, (pattern, chance.choice((1, chance.randrange(20))))
        if pair in there:
            there.remove(pair)
            assert index.remove(*pair)
        else:
            there.add(pair)
            assert index.add(*pair)
        text = chance.choice(texts)
        assert sorted(index.match(text)) == sorted(
            value for each, value in there if Pattern(each, "amqp").matches(text)
        )
    for pair in there:
        index.remove(*pair)
    assert index.stats().nodes == before


def test_beginnings_are_remembered_in_bounds() -> None:
    """Neither many of them nor large ones take more than their share of memory."""
    index: SubjectIndex[int] = SubjectIndex(cache_size=0)
    for number in range(100):
        index.add("wide.>", number)
    index.add("*.b.*", -1)
    prefixes = index._shelves[0]._prefixes
    for number in range(2 * MOST):
        assert index.match(f"{number}.b.c") == [-1]
        assert len(prefixes._known) <= MOST
    assert len(index.match("wide.b.c")) == 101
    assert ("wide", "b") not in prefixes._known


@pytest.fixture
def _threads_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*tasks: Callable[[Callable[[], bool]], None], seconds: float) -> None:
    """Runs the tasks at the same time until the time is over or one fails; each asks whether to go on."""
    failures: list[BaseException] = []
    end = time.monotonic() + seconds

    def go_on() -> bool:
        return not failures and time.monotonic() < end

    def run(task: Callable[[Callable[[], bool]], None]) -> None:
        try:
            task(go_on)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


SHAPES = ("t.{}.x", "t.{}.*", "t.{}.#", "#.{}.x", "t.*.x", "t.#.{}.#.x", "#")
"""Patterns of every way to be kept that match ``t.N.x``."""


@pytest.mark.usefixtures("_threads_change_often")
@pytest.mark.parametrize("cache_size", [0, 3, 100])
def test_readers_see_what_was_added_while_a_writer_goes_on(cache_size: int) -> None:
    """A stable pair is always found, once; a pair whose add has returned is found until its removal begins."""
    index: SubjectIndex[object] = SubjectIndex("amqp", cache_size)
    for shape in SHAPES:
        for name in range(3):
            index.add(shape.format(name), f"stable {shape}")
    added, leaving, matched = [-1], [-1], [0]
    kept_for = 20

    def pattern(number: int) -> str:
        return SHAPES[number % len(SHAPES)].format(number % 3)

    def write(go_on: Callable[[], bool]) -> None:
        number = 0
        while go_on():
            assert index.add(pattern(number), number)
            added[0] = number
            if number >= kept_for:
                leaving[0] = number - kept_for
                assert index.remove(pattern(number - kept_for), number - kept_for)
            number += 1

    def read(go_on: Callable[[], bool]) -> None:
        while go_on():
            number = added[0]
            found = index.match(f"t.{number % 3}.x")
            matched[0] += 1
            for shape in SHAPES:
                assert found.count(f"stable {shape}") == 1
            if number >= 0:
                assert number in found or leaving[0] >= number

    together(write, read, read, seconds=0.6)
    assert added[0] > kept_for
    assert matched[0] > 100
    assert index.stats().cache_entries <= cache_size


@pytest.mark.usefixtures("_threads_change_often")
def test_several_writers_do_not_lose_each_other_s_changes() -> None:
    """Branches that one prunes are the ones that another builds on."""
    index: SubjectIndex[str] = SubjectIndex("amqp", cache_size=2)
    deep = ("a.b.c.*", "a.b.*", "a.#.c.*.e", "a.b.c.*.e.#", "#.c")

    def write(name: str) -> Callable[[Callable[[], bool]], None]:
        def task(go_on: Callable[[], bool]) -> None:
            while go_on():
                for text in deep:
                    assert index.add(text, name)
                    assert (text, name) in index
                assert index.match("a.b.c.d").count(name) == 1
                for text in deep:
                    assert index.remove(text, name)
                assert name not in index.match("a.b.c.d")

        return task

    index.add("x.*", "stays")
    before = index.stats().nodes
    together(write("one"), write("two"), write("three"), seconds=0.6)
    assert [(str(pattern), value) for pattern, value in index] == [("x.*", "stays")]
    assert index.stats().nodes == before


@pytest.mark.usefixtures("_threads_change_often")
def test_a_dialect_may_come_and_go_while_others_read() -> None:
    """The patterns of the other dialects are always found."""
    index: SubjectIndex[str] = SubjectIndex("nats", cache_size=2)
    index.add("a.*", "stays")

    def write(go_on: Callable[[], bool]) -> None:
        while go_on():
            index.add(Pattern("A**b", "zato"), "comes and goes")
            assert len(index.match("a.b")) == 2
            index.remove(Pattern("a**B", "zato"), "comes and goes")
            assert index.match("a.b") == ["stays"]

    def read(go_on: Callable[[], bool]) -> None:
        while go_on():
            assert "stays" in index.match("a.b")
            with pytest.raises(SubjectError):
                index.match("a#.")

    together(write, read, seconds=0.4)
