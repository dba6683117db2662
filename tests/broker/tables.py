"""Generated tables with every strategy in them, the messages that are sent to them, and the state to begin with."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

from pointsman.message import Message
from pointsman.routing.breaker import BreakerState, Phase
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State
from pointsman.testing import Clock

SAGA = {
    "starts": [{"on": "ev.a", "to": "one"}],
    "states": {
        "one": {
            "edges": [{"on": "ev.b", "to": "two", "send": ["cmd.b", "cmd.c"], "undo": ["cmd.a"]}],
            "timeout": {"after": 86400, "to": "end"},
        },
        "two": {
            "edges": [{"on": "ev.c", "to": "end", "compensate": "all"}, {"on": "ev.*", "to": "one", "send": ["cmd.d"]}],
            "timeout": {"after": 86400, "to": "end"},
        },
        "end": {"final": True},
    },
}
DESTINATIONS = ["d0", "d1", "d2", "d3"]
TOKENS = st.sampled_from(["a", "b", "ev", "cmd", "*"])
PATTERNS = st.lists(TOKENS, min_size=1, max_size=2).map(".".join) | st.sampled_from([">", "ev.>", "a.>", "*.*"])
STRATEGIES = ["pattern", "direct", "priority", "content", "balanced", "scatter-gather"]
BALANCES = ["round-robin", "random", "least-connections", "weighted", "sticky"]


class Sent(NamedTuple):
    """A message, who sends it, and how many seconds after the one before."""

    message: Message
    principal: str | None
    after: int


@st.composite
def routes(draw: st.DrawFn, number: int) -> dict[str, Any]:
    """A route of any strategy."""
    strategy = draw(st.sampled_from(STRATEGIES))
    names = draw(st.lists(st.sampled_from(DESTINATIONS), min_size=1, max_size=3, unique=True))
    route: dict[str, Any] = {
        "name": f"r{number}",
        "pattern": draw(PATTERNS),
        "strategy": strategy,
        "destinations": names,
        "group": draw(st.sampled_from(["", "g"])),
    }
    if strategy == "direct":
        route |= {"pattern": draw(st.sampled_from(["a", "ev.a", "a.b"])), "destinations": names[:1]}
    elif strategy == "priority":
        route["priority"] = draw(st.integers(0, 2))
    elif strategy == "content" or draw(st.integers(0, 4)) == 0:
        route["when"] = f"body.size >= {draw(st.integers(0, 2))}"
    if strategy == "balanced":
        route["balance"] = draw(st.sampled_from(BALANCES))
        if route["balance"] == "sticky":
            route["key"] = "metadata['k']"
        if route["balance"] == "weighted":
            route["destinations"] = [{"name": name, "weight": draw(st.integers(1, 3))} for name in names]
    if strategy == "scatter-gather":
        route["gather"] = {"timeout": "1d", "answers": draw(st.sampled_from(["b", "a.b"])), "target": "metadata['k']"}
    return route


@st.composite
def tables(draw: st.DrawFn) -> RoutingTable:
    """A table with breakers, translations, access and a saga."""
    broken = draw(st.lists(st.sampled_from(DESTINATIONS[:2]), unique=True))
    breaker = {"failures": 1, "reset": "1h", **({"fallback": "d3"} if draw(st.booleans()) else {})}
    table: dict[str, Any] = {
        "dialect": "nats",
        "destinations": {name: {"breaker": breaker} if name in broken else {} for name in DESTINATIONS},
        "routes": [draw(routes(number)) for number in range(draw(st.integers(0, 6)))],
    }
    if draw(st.booleans()):
        table["translations"] = [{"name": "t", "from": "cmd.*", "to": draw(st.sampled_from(["a.$1", "ev.$1"]))}]
    if draw(st.booleans()):
        table["access"] = {"p": {"publish": ["a.>", "ev.*"], "deny": {"publish": ["ev.c"]}}}
    if draw(st.booleans()):
        table["sagas"] = {"s": SAGA}
    return RoutingTable.parse(json.dumps(table))


@st.composite
def sent(draw: st.DrawFn, number: int) -> Sent:
    """A message; now and then one that was sent before, or that is none."""
    first = st.sampled_from(["a", "b", "ev.a", "ev.a", "ev.b", "ev.b", "ev.c", "a.b", "cmd.a", "cmd.b", "a..b"])
    message = Message(
        draw(first),
        json.dumps({"size": draw(st.integers(0, 2))}).encode(),
        id=f"m{draw(st.integers(0, number))}" if draw(st.integers(0, 5)) == 0 else f"m{number}",
        metadata={"k": draw(st.sampled_from(DESTINATIONS))},
        correlation_id=draw(st.sampled_from(["c1", "c1", "c2"])),
    )
    return Sent(message, draw(st.sampled_from([None, None, "p", "q"])), draw(st.integers(0, 2)))


@st.composite
def histories(draw: st.DrawFn) -> list[Sent]:
    """Messages, one after the other."""
    return [draw(sent(number)) for number in range(draw(st.integers(1, 8)))]


@st.composite
def states(draw: st.DrawFn) -> State:
    """Breakers that are open, some long enough for a probe."""
    now = Clock().now
    opened = {
        Key("breaker", name): BreakerState(Phase.OPEN, 0, 1, now - draw(st.sampled_from([1.0, 3601.0])))
        for name in draw(st.lists(st.sampled_from(DESTINATIONS[:2]), unique=True))
    }
    return State(opened)
