"""Deciding: who gets a message, what that changes, and why."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import MessageError, NamingError, RoutingError
from pointsman.message import Message
from pointsman.patterns import Pattern
from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerState
from pointsman.table.correlate import Gathering, SagaMove
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State
from tests.routing.order_saga import ORDER

SHOP = RoutingTable.load(Path(__file__).parents[2] / "examples" / "shop.yaml")


def message(subject: str, body: Any = None, **fields: Any) -> Message:
    """A message whose body is JSON."""
    return Message.from_dict({"subject": subject, "time": None, **({} if body is None else {"body": body}), **fields})


def reached(table: RoutingTable, sent: Message, **options: Any) -> list[str]:
    """The destinations of a message."""
    return [delivery.destination for delivery in table.decide(sent, **options).deliveries]


def test_content_routes_go_by_the_first_predicate_that_holds() -> None:
    """'Check Amount' of Content-Based Example: above 1000 premium, else standard."""
    assert reached(SHOP, message("orders.eu.laptops", {"amount": 1500})) == ["audit", "premium-desk"]
    assert reached(SHOP, message("orders.eu.laptops", {"amount": 1000})) == ["audit", "standard-desk"]
    assert reached(SHOP, message("orders.eu.laptops")) == ["audit", "standard-desk"]


def test_priority_routes_go_by_the_highest_priority() -> None:
    """The first match only."""
    assert reached(SHOP, message("alerts.critical.fire")) == ["audit", "on-call"]
    assert reached(SHOP, message("alerts.minor")) == ["audit", "audit"]


def test_a_direct_subject_has_one_handler() -> None:
    """The first route of a group in the table; another group has its own."""
    table = RoutingTable.parse(
        """
routes:
  - {name: first, pattern: a.b, strategy: direct, destinations: [first]}
  - {name: second, pattern: a.b, strategy: direct, destinations: [second]}
  - {name: elsewhere, pattern: a.c, strategy: direct, destinations: [elsewhere]}
  - {name: other, pattern: a.b, strategy: direct, group: other, destinations: [other]}
"""
    )
    assert reached(table, message("a.b")) == ["first", "other"]
    assert reached(table, message("a.c")) == ["elsewhere"]


def test_equal_priorities_go_by_the_order_of_the_table() -> None:
    """And groups do not compete with each other."""
    table = RoutingTable.parse(
        """
routes:
  - {name: low, pattern: ">", strategy: priority, priority: 1, destinations: [low]}
  - {name: first, pattern: "a.>", strategy: priority, priority: 5, destinations: [first]}
  - {name: second, pattern: "a.*", strategy: priority, priority: 5, destinations: [second]}
  - {name: other, pattern: "a.*", strategy: priority, group: other, destinations: [other]}
"""
    )
    assert reached(table, message("a.b")) == ["first", "other"]


def test_weights_of_5_3_and_2_give_exactly_these_of_every_ten() -> None:
    """The state is carried from one decision to the next, and survives being written down."""
    state = State()
    for _ in range(3):
        chosen = Counter[str]()
        for _ in range(10):
            decision = SHOP.decide(message("mail.welcome"), state)
            chosen.update(each.destination for each in decision.deliveries if each.route == "mail")
            state = State.from_data(json.loads(json.dumps(decision.state.as_data())))
        assert chosen == {"mailer-1": 5, "mailer-2": 3, "mailer-3": 2}


def test_sticky_messages_of_one_customer_go_to_one_destination() -> None:
    """And without a key to none."""
    for customer in ("ada", "bob", "eve"):
        sent = message("newsletters.weekly", metadata={"customer": customer})
        assert len({tuple(reached(SHOP, sent)) for _ in range(5)}) == 1
    assert reached(SHOP, message("newsletters.weekly")) == ["audit"]


def test_an_open_breaker_sends_to_the_fallback() -> None:
    """And says instead of which destination."""
    settings = SHOP.destinations["warehouse"].breaker
    assert settings is not None
    value = BreakerState()
    for _ in range(3):
        permit, value = breaker.ask(settings, value, 0.0)
        value = breaker.failed(settings, value, permit, 0.0)
    state = State({Key("breaker", "warehouse"): value})
    [_, delivery] = SHOP.decide(message("orders.returned"), state, now=1.0).deliveries[:2]
    assert (delivery.destination, delivery.instead_of) == ("parking", "warehouse")
    decision = SHOP.decide(message("orders.returned"), state, now=31.0)
    assert decision.deliveries[1].destination == "warehouse"
    assert SHOP.decide(message("orders.returned"), decision.state, now=31.0).deliveries[1].destination == "parking"


def test_answers_are_gathered_until_the_timeout() -> None:
    """'Best Price: $95 From: Supplier 2', with one supplier that does not answer within 5 s."""
    asked = SHOP.decide(message("prices.ask", id="q", correlation_id="123"), now=0.0)
    state = asked.state
    assert [each.destination for each in asked.deliveries if each.route == "best-price"] == [
        f"supplier-{number}" for number in (1, 2, 3, 4)
    ]
    for supplier, price in (("supplier-1", 100), ("supplier-2", 95), ("supplier-4", 110), ("supplier-4", 1)):
        answer = message("prices.answer", {"price": price}, correlation_id="123", metadata={"target": supplier})
        decision = SHOP.decide(answer, state, now=1.0)
        state = decision.state
        [moved] = decision.followed
        assert isinstance(moved, Gathering)
        assert moved.gathered is None
    assert SHOP.due(state) == 5.0
    assert SHOP.expire(state, 4.9).followed == ()
    [moved] = SHOP.expire(state, 5.0).followed
    assert isinstance(moved, Gathering)
    assert moved.gathered is not None
    assert (moved.gathered.result, moved.gathered.source) == ({"price": 95}, "supplier-2")
    assert moved.gathered.missing == ("supplier-3",)


def test_an_answer_that_nobody_asked_for_is_told_as_such() -> None:
    """And changes nothing."""
    decision = SHOP.decide(
        message("prices.answer", {"price": 1}, correlation_id="x", metadata={"target": "supplier-1"})
    )
    [moved] = decision.followed
    assert moved.problem == "nothing was asked for 'x'"
    assert not decision.changes


def follow(state: State, subject: str, number: int, now: float = 0.0) -> tuple[State, SagaMove]:
    """One event of the order."""
    decision = SHOP.decide(message(subject, id=str(number), correlation_id="order-1"), state, now=now)
    [moved] = decision.followed
    assert isinstance(moved, SagaMove)
    return decision.state, moved


def test_the_shipped_saga_is_the_one_that_is_tested_along_every_edge() -> None:
    """The example and the definition of tests/routing."""
    shipped = {**SHOP.written.sagas["order"], "name": "order"}
    assert shipped == ORDER


def test_a_saga_is_followed_through_decisions() -> None:
    """Commands go out, a message seen twice acts once, and what failed is undone in reverse order."""
    state, moved = follow(State(), "orders.events.order.created", 1)
    assert moved.outcome.path == ("order_created", "payment_processing")
    state, moved = follow(state, "payments.events.payment.reserved", 2)
    state, again = follow(state, "payments.events.payment.reserved", 2)
    assert again.outcome.ignored is not None
    assert not again.outcome.actions
    state, moved = follow(state, "inventory.events.stock.unavailable", 3)
    assert moved.outcome.path[-1] == "release_payment"
    state, moved = follow(state, "payments.events.payment.released", 4)
    assert moved.outcome.path == ("compensation_completed",)


def test_an_event_of_an_unknown_saga_is_a_problem() -> None:
    """It starts nothing."""
    decision = SHOP.decide(message("payments.events.payment.reserved", correlation_id="nobody"))
    [moved] = decision.followed
    assert moved.problem is not None
    assert not decision.changes


def test_the_timeout_of_a_saga_is_taken_by_the_time_alone() -> None:
    """30 s after the payment was asked for."""
    state, _ = follow(State(), "orders.events.order.created", 1)
    assert SHOP.due(state) == 30
    [moved] = SHOP.expire(state, 30.0).followed
    assert isinstance(moved, SagaMove)
    assert moved.outcome.path == ("payment_failed", "compensation_started", "compensation_completed")


def test_a_subject_is_translated_before_it_is_resolved() -> None:
    """By the first translation that matches; others stay as they are."""
    decision = SHOP.decide(message("internal.graph.events.node_added"))
    assert decision.subject == "public.graph.notifications.node_added"
    assert SHOP.decide(message("v1.workflow.commands.start")).subject == "v2.workflow.commands.start"
    assert SHOP.decide(message("v3.workflow")).subject == "v3.workflow"


def test_access_is_asked_before_anything_else() -> None:
    """With a principal; a refusal names its rule."""
    decision = SHOP.decide(message("orders.returned"), principal="shop")
    assert decision.refused is not None
    assert "deny publish 'orders.returned'" in decision.refused
    assert decision.deliveries == ()
    assert SHOP.decide(message("orders.new"), principal="nobody").refused == "there is no principal 'nobody'"


def test_an_invalid_subject_is_refused_and_not_an_error() -> None:
    """With what is wrong."""
    decision = SHOP.decide(message("orders..new"))
    assert decision.refused == "token 2 of the nats subject is empty"


def test_the_trace_says_why_each_other_route_was_not_taken() -> None:
    """Stage by stage."""
    decision = SHOP.decide(message("orders.eu", {"amount": 2000}), trace=True)
    assert [step.stage for step in decision.trace] == [
        "receive",
        "authorize",
        "translate",
        "resolve",
        "select",
        "deliver",
    ]
    said = {step.stage: step.what for step in decision.trace[4].inner}
    assert said["other-orders"] == "not taken: 'large-orders' comes first in the table, and its predicate holds"
    unmatched = {step.stage: step.what for step in decision.trace[3].inner}
    assert unmatched["mail"] == "does not match: mail.*"
    assert SHOP.decide(message("orders.eu")).trace == ()


def test_disabled_routes_take_nothing() -> None:
    """And the trace says so."""
    table = RoutingTable.parse("routes: [{name: a, pattern: x, destinations: [d], enabled: false}]")
    decision = table.decide(message("x"), trace=True)
    assert decision.deliveries == ()
    assert any(step.what == "not asked: it is disabled" for step in decision.trace[3].inner)


TOKENS = st.sampled_from(["a", "b", "*"])
PATTERNS = st.lists(TOKENS, min_size=1, max_size=3).map(".".join) | st.lists(TOKENS, max_size=2).map(
    lambda t: ".".join([*t, ">"])
)
ROUTES = st.lists(
    st.fixed_dictionaries(
        {
            "pattern": PATTERNS,
            "strategy": st.sampled_from(["pattern", "priority", "content"]),
            "priority": st.integers(0, 2),
            "group": st.sampled_from(["", "g"]),
            "size": st.integers(0, 2),
        }
    ),
    max_size=8,
)


def brute_force(routes: list[dict[str, Any]], subject: str, size: int) -> list[str]:
    """What the strategies mean, one route after the other."""
    taken = []
    best: dict[tuple[str, str], tuple[int, int]] = {}
    for number, route in enumerate(routes):
        if not Pattern(route["pattern"]).matches(subject) or (route["strategy"] == "content" and size < route["size"]):
            continue
        if route["strategy"] == "pattern":
            taken.append(number)
            continue
        rank = (-route["priority"] if route["strategy"] == "priority" else 0, number)
        competitors = route["strategy"], route["group"]
        best[competitors] = min(best.get(competitors, rank), rank)
    return [f"r{number}" for number in sorted([*taken, *(number for _, number in best.values())])]


@given(ROUTES, st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(".".join), st.integers(0, 2))
def test_routes_are_chosen_as_brute_force_says(routes: list[dict[str, Any]], subject: str, size: int) -> None:
    """For any mix of pattern, priority and content routes."""
    written = [
        {
            "name": f"r{number}",
            "pattern": route["pattern"],
            "strategy": route["strategy"],
            "priority": route["priority"],
            "group": route["group"],
            "destinations": [f"d{number}"],
            **({"when": f"body.size >= {route['size']}"} if route["strategy"] == "content" else {}),
        }
        for number, route in enumerate(routes)
    ]
    table = RoutingTable.parse(json.dumps({"routes": written}))
    decision = table.decide(message(subject, {"size": size}))
    assert [delivery.route for delivery in decision.deliveries] == brute_force(routes, subject, size)


@pytest.mark.parametrize("data", [None, [["balance", "x"]], [["nothing", "a", "", {}]], [["breaker", "a", "", {}]]])
def test_a_state_that_is_none_is_refused(data: object) -> None:
    """With a code."""
    with pytest.raises(ValueError, match="bad-state"):
        State.from_data(data)


TILLS = """
destinations: {tills: , orders: , one: , two: , three: }
translations: [{from: "tills.*", to: "orders.$1"}]
routes:
  - {name: by-old, pattern: ">", when: "original_subject LIKE 'tills.%'", destinations: [tills]}
  - {name: by-new, pattern: ">", when: "subject LIKE 'orders.%'", destinations: [orders]}
  - {name: keyed, pattern: ">", strategy: balanced, balance: sticky, key: subject, destinations: [one, two, three]}
"""


def test_predicates_and_keys_see_the_subject_after_translation_and_the_original_one() -> None:
    """``subject`` is the new one, ``original_subject`` the one that the message came with."""
    table = RoutingTable.parse(TILLS)
    translated, plain = reached(table, message("tills.eu")), reached(table, message("orders.eu"))
    assert translated[:2] == ["tills", "orders"]
    assert plain[0] == "orders"
    assert translated[-1] == plain[-1]
    by_old = RoutingTable.parse(TILLS.replace("key: subject", "key: original_subject"))
    others = [reached(by_old, message(f"tills.{number}"))[-1] for number in range(20)]
    assert others == [reached(by_old, message(f"tills.{number}", id="x"))[-1] for number in range(20)]
    assert others != [reached(table, message(f"tills.{number}"))[-1] for number in range(20)]


def test_chance_and_time_are_real_unless_they_are_given() -> None:
    """A balance of the kind random does not always choose the first, and a breaker recovers."""
    table = RoutingTable.parse(
        """
destinations: {one: {breaker: {failures: 1, reset: 60s}}, two: , three: }
routes:
  - {name: any, pattern: any, strategy: balanced, balance: random, destinations: [two, three]}
  - {name: guarded, pattern: guarded, destinations: [one]}
"""
    )
    assert {reached(table, message("any"))[0] for _ in range(200)} == {"two", "three"}
    (delivery,) = table.decide(message("guarded")).deliveries
    opened = table.failed(delivery, State()).state
    assert time.time() - opened[Key("breaker", "one")].since < 60
    assert table.decide(message("guarded"), opened).deliveries[0].permit.way is breaker.Way.FALLBACK
    assert table.decide(message("guarded"), opened, now=time.time() + 61).deliveries[0].permit.way is breaker.Way.PROBE


def test_a_table_is_told_what_became_of_its_deliveries() -> None:
    """Failures in a row open the breaker, a probe that succeeds closes it."""
    table = RoutingTable.parse(
        "destinations: {x: {breaker: {failures: 2, reset: 10s, fallback: y}}, y: }\n"
        "routes: [{name: r, pattern: a, destinations: [x]}]"
    )
    state = State()
    for now in (0.0, 1.0):
        decision = table.decide(message("a"), state, now=now)
        state = table.failed(decision.deliveries[0], decision.state, now=now).state
    assert reached(table, message("a"), state=state, now=2.0) == ["y"]
    probed = table.decide(message("a"), state, now=11.0)
    assert [each.destination for each in probed.deliveries] == ["x"]
    state = table.succeeded(probed.deliveries[0], probed.state, now=11.0).state
    assert state[Key("breaker", "x")].phase is breaker.Phase.CLOSED


def test_least_connections_goes_by_what_was_told_to_be_over() -> None:
    """A delivery that succeeded, or was given up, is in flight no more; one that failed is until then."""
    table = RoutingTable.parse(
        "destinations: {x: , y: }\n"
        "routes: [{name: r, pattern: a, strategy: balanced, balance: least-connections, destinations: [x, y]}]"
    )
    first = table.decide(message("a"))
    second = table.decide(message("a"), first.state)
    assert [each.deliveries[0].destination for each in (first, second)] == ["x", "y"]
    for tell in (table.succeeded, table.finished):
        over = tell(second.deliveries[0], second.state).state
        assert reached(table, message("a"), state=over) == ["y"]
    assert reached(table, message("a"), state=table.failed(second.deliveries[0], second.state).state) == ["x"]


@pytest.mark.parametrize("given", ["a.b", {"subject": "a.b"}, None])
def test_deciding_about_what_is_no_message_says_what_to_write(given: Any) -> None:
    """At once, and not from within."""
    with pytest.raises(MessageError, match=r"decide takes a Message, not .*Message\('orders.new'"):
        SHOP.decide(given)


def test_translations_may_be_applied_one_after_the_other() -> None:
    """Each on what the ones before it made; a plain list stands for the first that matches."""
    rules = '[{name: a, from: "old.*", to: "new.$1"}, {name: b, from: "new.*", to: "newest.$1"}, {from: x, to: y}]'
    in_turn = RoutingTable.parse(f"translations: {{apply: all, rules: {rules}}}")
    first = RoutingTable.parse(f"translations: {rules}")
    assert (in_turn.translate("old.1"), first.translate("old.1")) == ("newest.1", "new.1")
    assert in_turn.decide(message("old.1")).translated_by == ("a", "b")
    assert in_turn.translate("other") == "other"
    assert in_turn.hash != first.hash
    assert RoutingTable.from_plain(in_turn.plain).hash == in_turn.hash


def test_messages_outside_an_enforced_standard_are_refused_after_translation() -> None:
    """So that translations may bring other names into it."""
    table = RoutingTable.parse(
        'naming: {standard: cim, enforce: true}\ntranslations: [{from: "g.*", to: "graph.events.node.$1"}]\n'
        'destinations: {d: }\nroutes: [{name: all, pattern: ">", destinations: [d]}]'
    )
    assert reached(table, message("graph.events.node.added")) == ["d"]
    assert reached(table, message("g.added")) == ["d"]
    refused = table.decide(message("graph.event.node.added"), trace=True)
    assert refused.deliveries == ()
    assert isinstance(refused.error, NamingError)
    assert "did you mean 'events'" in (refused.refused or "")
    named = RoutingTable.parse("naming: cim")
    assert named.decide(message("anything")).refused is None


def test_unrouted_messages_go_to_their_destination_by_its_breaker() -> None:
    """A message that a route takes is none of them, also if the route cannot choose."""
    table = RoutingTable.parse(
        "destinations: {x: , lost: {breaker: {failures: 1, fallback: spare}}, spare: }\nunrouted: lost\n"
        "routes: [{name: r, pattern: a, strategy: balanced, balance: sticky, key: metadata.k, destinations: [x]}]"
    )
    (delivery,) = table.decide(message("other")).deliveries
    assert (delivery.route, delivery.destination) == ("unrouted", "lost")
    opened = table.failed(delivery, State(), now=0.0).state
    assert reached(table, message("other"), state=opened, now=1.0) == ["spare"]
    stuck = table.decide(message("a"))
    assert (stuck.deliveries, [(each.route, each.code) for each in stuck.problems]) == ((), [("r", "no-key")])


def test_functions_of_a_table_that_were_not_given_are_an_error_when_they_are_needed() -> None:
    """Without them the table can still be loaded to be checked."""
    text = "routes: [{name: r, pattern: a, when: {function: f}, destinations: [d]}]"
    table = RoutingTable.parse(text)
    assert table.decide(message("b")).deliveries == ()
    with pytest.raises(RoutingError, match=r"functions=\{'f'"):
        table.decide(message("a"))
    assert reached(RoutingTable.parse(text, functions={"f": lambda sent: sent.subject == "a"}), message("a")) == ["d"]
