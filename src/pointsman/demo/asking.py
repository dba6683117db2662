"""Questions to several at once, and their answers: prices from suppliers, quotes from carriers.

All ask for five seconds. Answers come well within that time or well after it, so that what becomes of a question does
not depend on how exactly a runtime's timers go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from pointsman.demo.catalogue import Shoppers
from pointsman.demo.event import MINUTE, SECOND, Event, event

LAST_QUESTION = 59 * MINUTE
FOREIGN = "supplier-9"
"""Somebody who answers without having been asked."""


class Fate(NamedTuple):
    """What becomes of a question: how many of those asked answer in time, late, twice, and whether a stranger does."""

    share: int
    """Of a hundred questions."""
    in_time: int
    late: int = 0
    twice: int = 0
    foreign: int = 0


class Question(NamedTuple):
    """A kind of question."""

    family: str
    route: str
    target: str
    """How those asked are called, but for the number."""
    asked: int
    needed: int
    """How many answers complete it."""
    principal: str
    """Who answers."""
    rate: float
    """Questions for each order."""
    fates: tuple[Fate, ...]


QUESTIONS = (
    Question(
        "prices",
        "best-price",
        "supplier",
        asked=4,
        needed=4,
        principal="supplier",
        rate=0.25,
        fates=(Fate(80, 4), Fate(10, 3), Fate(5, 3, late=1), Fate(3, 3, twice=1, late=1), Fate(2, 2, foreign=1)),
    ),
    Question(
        "quotes",
        "first-quotes",
        "carrier",
        asked=3,
        needed=2,
        principal="courier",
        rate=0.2,
        fates=(Fate(60, 3), Fate(30, 2), Fate(6, 1, late=1), Fate(4, 0)),
    ),
)


class Answered:
    """What must become of the questions, counted while they are made."""

    def __init__(self) -> None:
        self.gatherings: Counter[tuple[str, str]] = Counter()
        """By route and what completes them: ``all``, ``quorum`` or ``timeout``."""
        self.dropped: Counter[tuple[str, str]] = Counter()
        """Answers that do not count, by route and reason: ``late``, ``duplicate`` or ``foreign``."""

    def add(self, question: Question, fate: Fate) -> None:
        """Counts one question."""
        enough = "all" if question.needed == question.asked else "quorum"
        self.gatherings[question.route, enough if fate.in_time >= question.needed else "timeout"] += 1
        surplus = max(0, fate.in_time - question.needed)
        for why, count in (("late", fate.late + surplus), ("duplicate", fate.twice), ("foreign", fate.foreign)):
            if count:
                self.dropped[question.route, why] += count


def asked_events(shoppers: Shoppers, orders: int, answered: Answered) -> Iterator[Event]:
    """Questions and answers besides so many orders, in no order; each fate at least once."""
    for question in QUESTIONS:
        shares = [*accumulate(fate.share for fate in question.fates)]
        for number in range(max(len(question.fates), round(orders * question.rate))):
            [drawn] = shoppers.random.choices(question.fates, cum_weights=shares)
            fate = question.fates[number] if number < len(question.fates) else drawn
            answered.add(question, fate)
            yield from _dialogue(question, fate, f"{question.family}-{number + 1:05}", shoppers)


def _dialogue(question: Question, fate: Fate, correlation: str, shoppers: Shoppers) -> Iterator[Event]:
    random = shoppers.random
    at = shoppers.moment() * LAST_QUESTION // (60 * MINUTE)
    category = shoppers.category()
    price = shoppers.price(category)
    yield event(at, f"{question.family}.ask", {"category": category}, correlation)

    def answer(target: str, shortest: float, longest: float) -> Event:
        body = {"price": round(price * random.uniform(0.8, 1.3), 2)}
        when = at + int(random.uniform(shortest, longest) * SECOND)
        subject = f"{question.family}.answer"
        return event(when, subject, body, correlation, {"target": target}, principal=question.principal)

    targets = [f"{question.target}-{number + 1}" for number in range(question.asked)]
    random.shuffle(targets)
    for target in targets[: fate.in_time]:
        yield answer(target, 0.1, 3.0)
    for target in targets[fate.in_time : fate.in_time + fate.late]:
        yield answer(target, 7.0, 20.0)
    for target in targets[: fate.twice]:
        yield answer(target, 3.1, 4.0)
    for _ in range(fate.foreign):
        yield answer(FOREIGN, 0.1, 3.0)
