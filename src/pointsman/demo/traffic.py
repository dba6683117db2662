"""Everything else that happens in the shop: visits, stock, alerts; questions to several at once; faulty messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

from pointsman.demo.catalogue import MINUTE, SECOND, WEB_SHOP, Event, Shoppers
from pointsman.demo.orders import PAYMENT_RELEASED, PAYMENT_RESERVED


class Kind(NamedTuple):
    """Events of one kind: how many there are for each order, their subject, and the fields of their body."""

    rate: float
    subject: str
    body: tuple[str, ...]
    of_customer: bool = False
    principal: str | None = None


KINDS = (
    Kind(22, "users.{region}.searched", ("terms", "category"), of_customer=True),
    Kind(8, "users.{region}.viewed", ("category",), of_customer=True),
    Kind(1.5, "users.{region}.joined", ("newsletter",), of_customer=True),
    Kind(17, "newsletters.{list}", ("category",), of_customer=True),
    Kind(2.5, "inventory.{warehouse}.low", ("category", "left")),
    Kind(12, "inventory.{warehouse}.counted", ("category", "counted")),
    Kind(0.6, "orders.returned", ("category", "amount"), of_customer=True, principal="warehouse-service"),
    Kind(5, "alerts.{severity}.{service}", ("load",)),
    Kind(8, "internal.{graph}.events.{change}", ("node",)),
    Kind(15, "tills.{category}.{region}", ("amount",)),
)


def other_events(shoppers: Shoppers, orders: int) -> Iterator[Event]:
    """Yields what happens besides this many orders, in no order; at least one event of each kind."""
    for kind in KINDS:
        count = max(1, round(orders * kind.rate))
        named = [part.partition("}")[0] for part in kind.subject.split("{")[1:]]
        names = [*dict.fromkeys((*named, *kind.body))]
        columns = _columns(shoppers, names, count)
        customers = ({"customer": name} for name in shoppers.draw("customer", count))
        for at, customer, *values in zip(shoppers.moments(count), customers, *columns, strict=True):
            row = dict(zip(names, values, strict=True))
            body = {name: row[name] for name in kind.body}
            metadata = customer if kind.of_customer else {}
            yield Event(at, kind.subject.format_map(row), body, None, metadata, kind.principal)


def _columns(shoppers: Shoppers, names: list[str], count: int) -> Iterator[list[Any]]:
    """Yields a column of values for each name; an amount is the price of the row's category."""
    categories = shoppers.draw("category", count)
    for name in names:
        if name == "amount":
            yield shoppers.prices(categories)
        else:
            yield categories if name == "category" else shoppers.draw(name, count)


class Fate(NamedTuple):
    """How a question is answered: how many answer in time, late and twice, and how many who were not asked."""

    share: int
    """Of the questions, in percent."""
    in_time: int
    late: int = 0
    twice: int = 0
    foreign: int = 0


class Question(NamedTuple):
    """Questions of one kind, which wait five seconds for answers.

    Answers come well within that time or well after it, so that the result does not depend on how exactly a runtime's
    timers fire.
    """

    family: str
    route: str
    destination: str
    """The name of those asked, without the number."""
    asked: int
    needed: int
    """How many answers complete it."""
    principal: str
    """Who answers."""
    rate: float
    """Questions for each order."""
    fates: tuple[Fate, ...]


PRICES = (Fate(80, 4), Fate(10, 3), Fate(5, 3, late=1), Fate(3, 3, twice=1, late=1), Fate(2, 2, foreign=1))
QUOTES = (Fate(60, 3), Fate(30, 2), Fate(6, 1, late=1), Fate(4, 0))
QUESTIONS = (
    Question("prices", "best-price", "supplier", 4, 4, "supplier", 0.25, PRICES),
    Question("quotes", "first-quotes", "carrier", 3, 2, "courier", 0.2, QUOTES),
)
LAST_QUESTION = 59 * MINUTE
FOREIGN = "supplier-9"
"""Answers without having been asked."""


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
    """Yields questions and answers, in no order; each fate at least once."""
    for question in QUESTIONS:
        shares = [*accumulate(fate.share for fate in question.fates)]
        count = max(len(question.fates), round(orders * question.rate))
        fates = [*question.fates, *shoppers.random.choices(question.fates, cum_weights=shares, k=count)][:count]
        for number, (fate, moment) in enumerate(zip(fates, shoppers.moments(count), strict=True)):
            answered.add(question, fate)
            at = moment * LAST_QUESTION // (60 * MINUTE)
            yield from _dialogue(question, fate, f"{question.family}-{number + 1:05}", at, shoppers)


def _dialogue(question: Question, fate: Fate, correlation: str, at: int, shoppers: Shoppers) -> Iterator[Event]:
    random = shoppers.random
    [category] = shoppers.draw("category", 1)
    [price] = shoppers.prices([category])
    yield Event(at, f"{question.family}.ask", {"category": category}, correlation)
    asked = random.sample([f"{question.destination}-{number + 1}" for number in range(question.asked)], question.asked)
    answers = [(name, 0.1, 3.0) for name in (*asked[: fate.in_time], *[FOREIGN] * fate.foreign)]
    answers += [(name, 7.0, 20.0) for name in asked[fate.in_time : fate.in_time + fate.late]]
    answers += [(name, 3.1, 4.0) for name in asked[: fate.twice]]
    for name, shortest, longest in answers:
        body = {"price": round(price * random.uniform(0.8, 1.3), 2)}
        when = at + int(random.uniform(shortest, longest) * SECOND)
        yield Event(when, f"{question.family}.answer", body, correlation, {"target": name}, question.principal)


INVALID_SUBJECTS = ("orders..created", ".orders.eu.books", "orders.eu.", "orders.eu. books", "users.*.joined")
UNREADABLE_BODIES = ("amount=12.50;lines=1", '{"amount": 12.50, "lin', "<order><amount>12.50</amount></order>", "")
MALFORMED = {"cut line": 0.03, "missing subject": 0.06, "invalid subject": 0.09, "unreadable body": 0.12}
FORBIDDEN = {"unknown principal": 0.06, "no rule": 0.18, "denied": 0.06}
"""Faulty messages for each order, by what is wrong with them."""
ORPHANS = 0.005
"""Steps of unknown orders, for each order."""


class Faults:
    """How many messages of each kind of fault there are besides this many orders."""

    def __init__(self, orders: int) -> None:
        self.malformed = {kind: max(len(INVALID_SUBJECTS), round(orders * rate)) for kind, rate in MALFORMED.items()}
        self.forbidden = {kind: max(2, round(orders * rate)) for kind, rate in FORBIDDEN.items()}
        self.orphans = max(1, round(orders * ORPHANS))


def faulty_events(shoppers: Shoppers, orders: int, faults: Faults) -> Iterator[Event]:
    """Yields the faulty messages, in no order.

    Messages without a valid subject have no principal, as access could not be checked: they come from an importer.
    """
    for kind, count in (faults.malformed | faults.forbidden | {"orphan": faults.orphans}).items():
        drawn = (shoppers.draw(name, count) for name in ("region", "category", "customer"))
        for number, (at, *row) in enumerate(zip(shoppers.moments(count), *drawn, strict=True)):
            yield _faulty(kind, number, at, row, shoppers.random.randint(1, orders))


def _faulty(kind: str, number: int, at: int, row: list[str], order: int) -> Event:
    region, category, customer = row
    if kind in ("cut line", "missing subject"):
        return Event(at, None, {}, source="/importer", is_cut=kind == "cut line")
    if kind == "invalid subject":
        return Event(at, INVALID_SUBJECTS[number % len(INVALID_SUBJECTS)], {}, source="/importer")
    if kind == "unreadable body":
        body = UNREADABLE_BODIES[number % len(UNREADABLE_BODIES)]
        return Event(at, f"orders.{region}.{category}", body, None, {"customer": customer})
    if kind == "unknown principal":
        return Event(at, f"tills.{category}.{region}", {"amount": 9.99}, principal="old-till")
    if kind == "denied":
        return Event(at, "orders.returned", {"reason": "changed my mind"}, principal=WEB_SHOP)
    if kind == "orphan":
        return Event(at, PAYMENT_RESERVED, {"amount": 1.0}, f"lost-{number + 1:03}")
    if number % 2:
        return Event(at, "prices.ask", {"category": category}, principal="partner")
    # Would undo an order that is well if it came through.
    return Event(at, PAYMENT_RELEASED, {"order": f"order-{order:05}"}, f"order-{order:05}", principal="courier")
