"""What ``decide`` says about the hour, against what was put into it; and how the pipeline's files are compared."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.demo.check import SampleRun, check, differences, sample
from pointsman.demo.counts import Followed, SagaStep, Tale
from pointsman.demo.folder import DemoFolder
from pointsman.demo.written import Written
from pointsman.routing.saga.definition import SagaDefinition
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.messages_file import Received, read_received
from tests.demo.conftest import Hour, run_over


def texts_of(hour: Hour) -> Counter[str]:
    """How many messages have each outcome."""
    return Counter(text for outcome in hour.run.outcomes.values() for text in outcome)


def test_what_is_quarantined_is_what_was_put_in(hour: Hour) -> None:
    """By stage, and by the reason."""
    outcomes = texts_of(hour)
    malformed, forbidden = hour.summary.malformed, hour.summary.forbidden
    counted = Counter[str]()
    for text, count in outcomes.items():
        counted[text.partition(":")[0]] += count
    assert counted["authorize"] == sum(forbidden.values())
    assert counted["resolve"] == malformed["invalid subject"]
    assert outcomes["receive: bad-message, the subject is missing"] == malformed["missing subject"]
    assert outcomes["authorize: publish-refused, there is no principal 'old-till'"] == forbidden["unknown principal"]
    assert sum(count for text, count in outcomes.items() if "not JSON" in text) == malformed["cut line"]
    assert len(hour.run.outcomes) == hour.summary.messages
    assert outcomes["no route"] > 0


def test_an_unreadable_body_goes_to_the_repair_desk(hour: Hour) -> None:
    """It is no reason to refuse a message; the content routes see that there is no amount."""
    assert texts_of(hour)["unreadable-orders > repair-desk"] == hour.summary.malformed["unreadable body"]


def test_every_route_is_used(hour: Hour) -> None:
    """Except that of the commands, which sagas send."""
    used = {text.partition(" > ")[0] for text in texts_of(hour)}
    assert {route.name for route in hour.run.table.routes} - used == {"commands"}


def test_the_breaker_opens_after_the_first_batch(hour: Hour) -> None:
    """Deliveries go to the warehouse, which is away, and from the second batch on to the parking."""
    ends = [file.read_bytes().count(b"\n") for file in hour.summary.files]
    to: dict[bool, set[str]] = {True: set(), False: set()}
    for id, outcome in hour.run.outcomes.items():
        if any(text.startswith(("restocking", "returns")) for text in outcome):
            to[int(id.removeprefix("m-")) <= ends[0]] |= outcome
    assert to[True] == {"restocking > warehouse", "returns > warehouse"}
    assert to[False] == {"restocking > parking", "returns > parking"}


def test_sagas_and_gatherings_end_as_their_stories_do(hour: Hour) -> None:
    """Every ending occurs; steps of unknown orders move nothing; answers that do not count are counted."""
    followed = hour.run.log.result()
    assert followed.sagas == hour.summary.endings
    assert min(followed.sagas[ending] for ending in ("finished", "compensated", "timed out", "open")) > 0
    assert followed.unmoved["unknown"] == hour.summary.orphans
    assert {tale.ending for tale in followed.tales} == followed.sagas.keys()
    assert followed.gatherings == hour.summary.gatherings
    assert {reason for _, reason in followed.gatherings} == {"all", "quorum", "timeout"}
    assert followed.dropped == hour.summary.dropped
    assert {why for _, why in followed.dropped} == {"late", "duplicate", "foreign"}


def test_every_edge_of_the_saga_occurs(hour: Hour) -> None:
    """Events, timeouts and what leads on at once."""
    followed: set[tuple[str, str, str]] = set()
    for steps in hour.run.log.steps.values():
        state = ""
        for step in steps:
            for number, entered in enumerate(step.states):
                way = "then" if number else "timeout" if step.event is None else step.event
                followed.add((state, way, entered))
                state = entered
    assert followed == moves_of(hour.run.table.sagas["order"])


def test_late_timers_change_nothing(hour: Hour) -> None:
    """The hour keeps clear of its timeouts: fired once in a thousand messages, they come to the same."""

    class Late(SampleRun):
        def __init__(self, table: RoutingTable) -> None:
            super().__init__(table)
            self.added = 0

        def _expire(self) -> None:
            self.added += 1
            if self.added % 1000 == 0:
                super()._expire()

        def end_batch(self) -> None:
            super()._expire()
            super().end_batch()

    late = run_over(hour.summary, Late(hour.run.table)).log.result()
    found = differences(hour.run.log.result(), late)
    assert [text for text in found if not text.startswith(("tales", "sagas"))] == []


def test_a_sample_has_every_message_of_a_saga_or_gathering(hour: Hour) -> None:
    """And some of the others."""
    for file in hour.summary.files:
        lines = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
        correlated = {line["id"] for line in lines if "correlation_id" in line}
        some = {each.message.id for each in sample(file, 50) if isinstance(each, Received)}
        assert correlated < some
        assert len(some - correlated) <= len(lines) / 50 + 1


SMALL = """
destinations: {log: , left: , right: , one: , two: }
routes:
  - {name: log, pattern: "a.>", destinations: [log]}
  - {name: turn, pattern: a.b, strategy: balanced, balance: round-robin, destinations: [left, right]}
  - name: ask
    pattern: ask
    strategy: scatter-gather
    gather: {timeout: 5, answers: answer}
    destinations: [one, two]
access:
  known: {publish: [a.>, ask, answer, begin, end]}
sagas:
  trip:
    starts: [{on: begin, to: away, send: [pack], undo: [unpack]}]
    states:
      away:
        edges: [{on: end, to: home}]
        timeout: {after: 10, to: lost, send: [search]}
      lost: {then: {to: gone, compensate: all}}
      home: {final: true}
      gone: {final: true}
"""
BEGIN = 1_767_225_600.0
"""The year 2026, in seconds."""


def message(second: int, subject: str | None, principal: str | None = "known", **fields: object) -> bytes:
    """A line."""
    known = {"id": f"m{second}", "time": f"2026-01-01T00:00:{second:02}Z", "principal": principal, **fields}
    return json.dumps(known | ({} if subject is None else {"subject": subject})).encode()


TWENTY = [
    message(0, "a.b"),
    message(1, "a.b"),
    message(2, "a.c"),
    message(3, "a.b"),
    message(4, "begin", correlation_id="x"),
    message(5, "begin", correlation_id="y"),
    message(6, "end", correlation_id="x"),
    message(7, "end", correlation_id="nobody"),
    message(10, "ask", correlation_id="q"),
    message(11, "answer", correlation_id="q", metadata={"target": "one"}),
    message(12, "ask", correlation_id="r"),
    message(13, "answer", correlation_id="r", metadata={"target": "one"}),
    message(14, "answer", correlation_id="r", metadata={"target": "two"}),
    message(16, "answer", correlation_id="q", metadata={"target": "two"}),
    message(17, "end", correlation_id="y"),
    message(18, "b.c"),
    message(19, "a.b", "stranger"),
    message(20, "a..b", None),
    message(21, None, None),
    message(22, "b.c", None),
]
NO_SUBJECT = TWENTY[-2].decode()


def test_twenty_messages_come_to_what_was_worked_out_by_hand(tmp_path: Path) -> None:
    """A route in turn, a saga that finishes and one that times out, a gathering of all and one that ends by time."""
    run = SampleRun(RoutingTable.parse(SMALL))
    for line in TWENTY:
        (tmp_path / "line.jsonl").write_bytes(line + b"\n")
        [received] = sample(tmp_path / "line.jsonl", 1)
        run.add(received)
    run.end_batch()
    publish = "authorize: publish-refused,"
    assert {key: set(outcome) for key, outcome in run.outcomes.items() if outcome != {"no route"}} == {
        **{key: {"log > log", "turn"} for key in ("m0", "m1", "m3")},
        "m2": {"log > log"},
        **{key: {"ask > one", "ask > two"} for key in ("m10", "m12")},
        "m18": {f"{publish} 'known' may not publish to 'b.c': none of its 5 publish rules matches"},
        "m19": {f"{publish} there is no principal 'stranger'"},
        "m20": {"resolve: empty-token, token 2 of the nats subject is empty"},
        NO_SUBJECT: {"receive: bad-message, the subject is missing"},
    }
    assert len(run.outcomes) == 20
    assert run.log.result() == Followed(
        sagas=Counter({"finished": 1, "timed out": 1}),
        saga_states=Counter({"home": 1, "gone": 1}),
        commands=Counter({"pack": 2, "search": 1, "unpack": 1}),
        unmoved=Counter({"ignored": 1, "unknown": 1}),
        gatherings=Counter({("ask", "all"): 1, ("ask", "timeout"): 1}),
        dropped=Counter({("ask", "late"): 1}),
        tales=(
            Tale(
                "x",
                "finished",
                (SagaStep(BEGIN + 4, "begin", ("away",), ("pack",)), SagaStep(BEGIN + 6, "end", ("home",), ())),
            ),
            Tale(
                "y",
                "timed out",
                (
                    SagaStep(BEGIN + 5, "begin", ("away",), ("pack",)),
                    SagaStep(BEGIN + 15, None, ("lost", "gone"), ("search", "unpack")),
                    SagaStep(BEGIN + 17, "end", (), ()),
                ),
            ),
        ),
    )


@pytest.mark.parametrize("found", ["elsewhere", "delivered", "no reason", "lost", "twice"])
def test_a_message_that_the_pipeline_handled_otherwise_is_found(tmp_path: Path, found: str) -> None:
    """Delivered elsewhere, delivered though it is invalid, quarantined for no reason, lost, or delivered as well."""
    lines = [
        json.dumps({"id": name, "subject": subject, "principal": None})
        for name, subject in (("1", "inventory.lyon.counted"), ("2", "users.eu.viewed"), ("3", "a..b"))
    ]
    (tmp_path / "events.jsonl").write_text("\n".join([*lines, "{"]) + "\n")
    problem = {"stage": "resolve", "code": "empty-token", "reason": "token 2 of the nats subject is empty"}
    cut = {"stage": "receive", "code": "bad-json", "reason": why_not(b"{")}
    delivered = {"id": "1", "route": "stock-counts", "original_subject": "inventory.lyon.counted"}
    rows = {
        "delivered/destination=stock-book": [delivered],
        "unrouted/destination=none": [{"id": "2", "original_subject": "users.eu.viewed"}],
        "quarantined/destination=none": [{"id": "3", "problem": problem}, {"id": "x", "body": "{", "problem": cut}],
    }
    assert compare(tmp_path / "same", tmp_path / "events.jsonl", rows) == (4, 0, [])
    if found == "elsewhere":
        rows["delivered/destination=audit"] = rows.pop("delivered/destination=stock-book")
    elif found == "delivered":
        del rows["quarantined/destination=none"][0]
        rows["delivered/destination=audit"] = [{"id": "3", "route": "audit", "original_subject": "a..b"}]
    elif found == "no reason":
        rows["quarantined/destination=none"][1] = {"id": "x", "body": "{", "problem": cut | {"reason": ""}}
    elif found == "lost":
        del rows["unrouted/destination=none"]
    else:
        rows["delivered/destination=audit"] = [{"id": "2", "route": "audit", "original_subject": "users.eu.viewed"}]
    compared, disagreed, [text, *more] = compare(tmp_path / "other", tmp_path / "events.jsonl", rows)
    assert (compared, disagreed) == (4, 1)
    assert "decide says" in text
    count = {"lost": 3, "twice": 5}.get(found)
    assert more == ([] if count is None else [f"messages: 4 were made; the pipeline wrote {count}"])


def compare(folder: Path, events: Path, rows: dict[str, list[dict[str, object]]]) -> tuple[int, int, list[str]]:
    """What ``check`` finds if the pipeline wrote these rows."""
    for name, content in rows.items():
        place = folder / "out" / "routed" / "batch=0" / f"outcome={name}"
        place.mkdir(parents=True)
        (place / "part-0.json").write_text("".join(json.dumps(row) + "\n" for row in content))
    written = Written(DemoFolder(folder))
    return check([events], RoutingTable.load(TABLE, ENVIRONMENT), written, written.counts())


def why_not(line: bytes) -> str:
    """What is wrong with a line that is no message."""
    with pytest.raises(Exception, match="JSON") as caught:
        read_received(line, None)
    return str(getattr(caught.value, "problem"))  # noqa: B009 - the type is not said


def test_differences_of_sagas_are_said() -> None:
    """One sentence for each field; none if all are the same."""
    one, other = Followed(sagas=Counter({"finished": 2})), Followed(sagas=Counter({"finished": 1, "open": 1}))
    assert differences(one, one) == []
    [text] = differences(one, other)
    assert text.startswith("sagas: decide says Counter({'finished': 2}); the pipeline wrote")


def moves_of(saga: SagaDefinition) -> set[tuple[str, str, str]]:
    """All moves of a saga: from which state, by what, to which."""
    moves = {("", str(edge.trigger), edge.move.to) for edge in saga.starts}
    for name, state in saga.states.items():
        moves |= {(name, str(edge.trigger), edge.move.to) for edge in state.edges}
        if state.timeout is not None:
            moves.add((name, "timeout", state.timeout.move.to))
        if state.then is not None:
            moves.add((name, "then", state.then.to))
    return moves
