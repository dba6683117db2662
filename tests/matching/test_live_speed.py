"""How fast the live index is, beside something else in the same run; the bounds are wide, for machines are busy."""

from __future__ import annotations

import random
from functools import partial

import pytest

from pointsman.bench.timing import microseconds
from pointsman.matching.live import SubjectIndex

SIZES = (20, 60, 120, 300, 600, 1_000, 1_000)


def name(chance: random.Random) -> list[str]:
    """Three to seven levels; the first names of a level are the most frequent."""
    count = chance.randint(3, 7)
    return [f"{'abcdefg'[level]}{int(SIZES[level] ** chance.random()) - 1}" for level in range(count)]


def mqtt_pattern(chance: random.Random) -> str:
    """Exact, with one or two wildcards, with a tail, or with both."""
    levels, kind = name(chance), chance.random()
    if 0.4 <= kind < 0.75 or kind >= 0.95:
        for place in chance.sample(range(len(levels)), chance.randint(1, 2)):
            levels[place] = "+"
    if kind >= 0.75:
        levels = [*levels[: chance.randint(2, len(levels))], "#"]
    return "/".join(levels)


def test_a_hit_costs_little_more_than_a_function_that_looks_into_a_dict() -> None:
    """With the order of use, the check of the version and a list of its own for the caller."""
    index: SubjectIndex[int] = SubjectIndex("mqtt")
    for value in range(5):
        index.add("a/+/c/#", value)
    subject = "a/b/c/d"
    plain = {subject: index.match(subject)}

    def look_up(text: str) -> list[int]:
        return plain[text]

    assert microseconds(partial(index.match, subject)) < 6 * microseconds(partial(look_up, subject))


def test_a_miss_is_not_slower_than_the_matcher_of_paho() -> None:
    """The same patterns and subjects, and the same answers."""
    matcher = pytest.importorskip("paho.mqtt.matcher").MQTTMatcher()
    chance = random.Random(1)
    index: SubjectIndex[int] = SubjectIndex("mqtt", cache_size=0)
    for number, text in enumerate({mqtt_pattern(chance): None for _ in range(10_000)}):
        index.add(text, number)
        matcher[text] = number
    texts = ["/".join(name(chance)) for _ in range(300)]
    assert [sorted(index.match(text)) for text in texts] == [sorted(matcher.iter_match(text)) for text in texts]

    def ours() -> None:
        for text in texts:
            index.match(text)

    def theirs() -> None:
        for text in texts:
            list(matcher.iter_match(text))

    assert microseconds(ours) < microseconds(theirs)


def test_hostile_patterns_cost_in_proportion_to_their_number() -> None:
    """Eight times the many-wildcards in eight times the patterns take far from all combinations of them."""
    subject = ".".join(["a"] * 120)

    def cost(count: int) -> float:
        index: SubjectIndex[int] = SubjectIndex("amqp", cache_size=0)
        for number in range(1, count + 1):
            index.add(".".join(["#", "a"] * number + ["#", "b"]), number)
        return microseconds(partial(index.match, subject))

    assert cost(56) < 40 * cost(7)
