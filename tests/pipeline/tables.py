"""Random tables with every strategy in them, messages for them, and a state to begin with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from pointsman.errors import TableError, TemplateError
from pointsman.message import Message
from pointsman.patterns import DIALECTS
from pointsman.routing.breaker import BreakerState, Phase
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State

NAMES = ["a", "b", "ev", "A", "a-b"]
DESTINATIONS = ["d0", "d1", "d2", "d3", "dé"]
PRINCIPALS = ["p", "q", "nobody"]
BALANCES = ["round-robin", "random", "least-connections", "weighted", "sticky"]
STRATEGIES = ["pattern", "direct", "priority", "content", "balanced", "balanced", "scatter-gather"]
KEYS = [
    "metadata['k']",
    "metadata['k']",
    "body.size",
    "body.large",
    "subject",
    "original_subject",
    "body.list",
    "source",
    "correlation_id",
    "time",
    "id",
]
QUESTIONS = [
    "body.size >= 1",
    "body.size = 0 OR body.size IS NULL",
    "metadata.k = 'x' AND NOT source = 'till'",
    "metadata.n > 5",
    "metadata.n BETWEEN 1 AND 10 OR subject LIKE '%a'",
    "correlation_id IS NULL",
    "content_type ILIKE 'TEXT/%' OR causation_id IN ('m1', 'm2')",
    "time >= '2026-01-01T00:00:00Z'",
    "body.list[0] = 'x'",
    "subject LIKE 'ev%'",
    "original_subject LIKE '%a' AND NOT subject LIKE '%a'",
    "subject = 'a' OR original_subject IN ('b', 'ev')",
    "body.large = 9007199254740993",
    "body.large > 18446744073709551616 OR body.large IS NULL",
]
BODIES = [
    b"",
    b"no json",
    b'{"size": 0}',
    b'{"size": 1, "list": ["x"]}',
    b'{"size": "7"}',
    b"[1]",
    b'{"large": 9007199254740993}',
    b'{"large": 36893488147419103233, "size": 1.0}',
    b'{"large": 1' + b"0" * 400 + b"}",
    bytes(range(256)),
    b"\xff\xfe{}",
]
CONDITIONS: list[dict[str, Any]] = [
    {"key": "k", "pattern": "x"},
    {"or": [{"key": "k", "pattern": "?"}, {"key": "n", "number": {">": 5}}]},
    {"not": {"pattern": "x*"}},
    {"and": [{"key": "k", "pattern": "x"}, {"key": "n", "number": {"<=": 10}}]},
]
FIRST = datetime(2025, 12, 31, 23, 59, tzinfo=UTC)
NOW = 10_000.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A message and who sends it; without a message, only an id and no subject."""

    id: str
    message: Message | None
    principal: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """A table, the state it is in, and the messages that it gets, in their order."""

    plain: dict[str, Any]
    table: RoutingTable
    state: State
    sent: list[Sent]


def case_of(random: Random) -> Case:
    """A table of any strategies, and messages for it; one that cannot be is made anew."""
    while True:
        plain = plain_table(random)
        try:
            table = RoutingTable.from_plain(plain)
            sent = [sent_to(random, table, number) for number in range(random.randint(0, 40))]
            return Case(plain, table, state_of(random, table), sent)
        except TableError:
            continue


def plain_table(random: Random) -> dict[str, Any]:
    """What a table may say, in any dialect; a few have no routes."""
    dialect = random.choice(["nats", "nats", "amqp", "zato", "mqtt"])
    table: dict[str, Any] = {
        "dialect": dialect,
        "destinations": {name: {} for name in DESTINATIONS},
        "routes": [route_of(random, dialect, number) for number in range(random.randint(0, 8))],
    }
    if random.random() < 0.3:
        for name in random.sample(DESTINATIONS, 2):
            fallback = {"fallback": "d3"} if name != "d3" and random.random() < 0.5 else {}
            table["destinations"][name] = {"breaker": {"failures": 1, "reset": "1h", **fallback}}
    if random.random() < 0.5:
        rules = [translation_of(random, dialect) for _ in range(random.randint(1, 3))]
        table["translations"] = rules if random.random() < 0.7 else {"apply": "all", "rules": rules}
    if random.random() < 0.2:
        table["unrouted"] = random.choice(DESTINATIONS)
    if random.random() < 0.1:
        parts = [{"name": "first", "words": NAMES[:3]}, {"name": "second"}]
        table["standards"] = {"own": {"parts": parts[: random.randint(1, 2)]}}
        table["naming"] = {"standard": "own", "enforce": True}
    if random.random() < 0.4:
        rules = [[pattern_of(random, dialect) for _ in range(random.randint(0, 3))] for _ in range(4)]
        table["access"] = {
            "p": {"publish": rules[0], "deny": {"publish": rules[1]}},
            "q": {"publish": [DIALECTS[dialect].many], "deny": {"publish": rules[2]}},
        }
    return table


def route_of(random: Random, main: str, number: int) -> dict[str, Any]:
    """A route of any strategy, in another dialect now and then, and now and then disabled."""
    dialect = random.choice([main, main, main, "nats", "zato"])
    strategy = random.choice(STRATEGIES)
    names = random.sample(DESTINATIONS, random.randint(1, 3))
    route: dict[str, Any] = {
        "name": f"r{number}",
        "dialect": dialect,
        "pattern": pattern_of(random, dialect),
        "strategy": strategy,
        "destinations": names,
        "group": random.choice(["", "", "g"]),
        "enabled": random.random() < 0.9,
    }
    if strategy == "direct":
        route |= {"pattern": subject_of(random, dialect), "destinations": names[:1]}
    if strategy == "priority":
        route["priority"] = random.randint(-1, 2)
    if strategy == "content" or random.random() < 0.1:
        route["when"] = random.choice(QUESTIONS)
    if random.random() < 0.1:
        route["conditions"] = random.choice(CONDITIONS)
    if strategy == "balanced":
        route["balance"] = random.choice(BALANCES)
        route["destinations"] = [{"name": name, "weight": random.choice([0, 1, 1, 2, 3])} for name in names]
        if route["balance"] == "sticky":
            route["key"] = random.choice(KEYS)
    return route


def pattern_of(random: Random, dialect: str) -> str:
    """A pattern, often a wide one."""
    chosen = DIALECTS[dialect]
    tokens = [random.choice([*NAMES, chosen.one, chosen.one]) for _ in range(random.randint(1, 3))]
    return chosen.separator.join(tokens[:-1] + random.choice([tokens[-1:], [chosen.many]]))


def subject_of(random: Random, dialect: str) -> str:
    """A subject of few tokens."""
    return DIALECTS[dialect].separator.join(random.choice(NAMES) for _ in range(random.randint(1, 3)))


def translation_of(random: Random, dialect: str) -> dict[str, str]:
    """A translation; some call functions, and some make what is no subject."""
    chosen = DIALECTS[dialect]
    first, last = random.choice(NAMES), random.choice([chosen.one, chosen.one, "a"])
    use = "$1" if last == chosen.one else "b"
    called = "{{left(1,2)}}" if last == chosen.one else "b"
    target = random.choice([[use, "a"], ["ev", use], [use], ["a", called], [use, "x" * 250]])
    return {"from": chosen.separator.join([first, last]), "to": chosen.separator.join(target)}


def sent_to(random: Random, table: RoutingTable, number: int) -> Sent:
    """A message; a few have no subject, or one that is none, and many have no more than they need."""
    principal = random.choice([None, None, *PRINCIPALS])
    if random.random() < 0.03:
        return Sent(f"m{number}", None, principal)
    odd = random.choice(["", "a..b", "a b", "*", "a.*.b", "ev/#", "x" * 300, "é.ü", "a.\x00"])
    dialect = random.choice([table.dialect.name] * 3 + ["nats"])
    body = random.choice(BODIES)
    metadata = {
        key: value for key in ("k", "n") if (value := random.choice(["x", "y", "é", "7", "12", None])) is not None
    }
    message = Message(
        odd if random.random() < 0.05 else subject_of(random, dialect),
        body,
        id=f"m{number}",
        metadata=metadata,
        time=random.choice([None, FIRST + timedelta(minutes=random.randint(0, 3))]),
        source=random.choice(["shop", "till"]),
        correlation_id=random.choice([None, "c1", "c2"]),
        causation_id=random.choice([None, "m1"]),
        content_type=random.choice([None, "text/plain", "application/json"]),
    )
    return Sent(message.id, message, principal)


def state_of(random: Random, table: RoutingTable) -> State:
    """A new one, or the one that some messages have left; and breakers that are open, some long enough for a probe."""
    state = State()
    for number in range(random.choice([0, 0, 5])):
        sent = sent_to(random, table, number)
        try:
            state = (
                state
                if sent.message is None
                else table.decide(sent.message, state, now=NOW, random=random.random).state
            )
        except TemplateError:
            continue
    opened = {
        Key("breaker", name): BreakerState(Phase.OPEN, 0, 1, NOW - random.choice([1.0, 1.0, 3601.0]))
        for name, destination in table.destinations.items()
        if destination.breaker is not None and random.random() < 0.6
    }
    return state.updated(opened)


def shown(case: Case) -> str:
    """What is needed to look at it again."""
    return json.dumps(case.plain)
