"""The crash test of the pipeline notices what it is there to notice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from pointsman.store.message import Sizes
from tests.crash.pipeline_found import Delivery, Followed, Found, Watched
from tests.crash.pipeline_story import LATER, SOURCES, TURNS, Story, amount_of, is_sale
from tests.crash.pipeline_verdict import broken_promises
from tests.pipeline.correlation.reference import Sent, threaded

STORY = Story.make(1, 64)
SALES = [message.id for message in STORY.messages if is_sale(message.subject)]
FIRST, SECOND = "first", "second"
VERSIONS = {FIRST: False, SECOND: True}
BATCH = 20
NOTHING = Sizes(0, 0, 0, 0, 0, 0)


def good() -> Found:
    """What is there when all went well: batches of twenty, of which those from the third on have the new version."""
    found = Found()
    numbers = count()
    for id, events in STORY.orders().items():
        for each in threaded(events, STORY.end):
            if isinstance(each, Sent):
                given = each.id or f"timeout-{next(numbers)}"
                found.followed.append(Followed("command", id, each.cause, id=given, subject=each.subject))
            else:
                found.followed.append(Followed("move", id, each.cause, each.outcome, each.path))
    amounts = {message.id: amount_of(message.body) for message in STORY.messages}
    for number, message in enumerate(STORY.messages):
        found.archive.append(Delivery(message.id, message.subject, amounts[message.id], number // BATCH))
    for each in found.followed:
        if each.kind == "command":
            found.archive.append(Delivery(str(each.id), str(each.subject), amounts.get(each.cause or "", 0), -1))
    found.ledger = [each._replace(batch=0) for each in found.archive]
    found.turns = {name: SALES[number::2] for number, name in enumerate(TURNS)}
    found.committed = {each.batch for each in found.archive if each.batch >= 0}
    found.versions = {batch: FIRST if batch < 2 else SECOND for batch in found.committed}
    for each in found.archive:
        if each.id in SALES and each.batch >= 2:
            found.extra.setdefault(each.batch, []).append(each.id)
    _watch(found)
    found.sizes = dict.fromkeys(SOURCES, NOTHING)
    return found


def _watch(found: Found) -> None:
    """Adds what wildcard subscriptions got."""
    found.subscribed = found.versions.copy()
    for each in found.archive:
        if each.batch < 0:
            found.watched_commands.append(Watched(each.id, "desk", ("commands",), 0))
        elif each.id in SALES:
            north = each.subject.startswith("sales.north.")
            found.watched.append(Watched(each.id, "sales", ("north", "sales") if north else ("sales",), each.batch))
            if each.batch >= 2:
                found.watched.append(Watched(each.id, LATER, ("late",), each.batch))


def test_a_run_in_which_all_went_well_is_called_good() -> None:
    """Nothing is said of it; and there are sales, orders of every end, timeouts and both versions in it."""
    found = good()
    assert broken_promises(STORY, found, VERSIONS) == []
    assert {each.outcome for each in found.followed} >= {"moved", "completed", "compensated", "ignored"}
    assert any(each.kind == "command" and each.cause is None for each in found.followed)
    assert set(found.versions.values()) == {FIRST, SECOND}


def _lose_a_file(found: Found) -> None:
    del found.archive[0]


def _lose_from_the_queue(found: Found) -> None:
    del found.ledger[5]


def _lose_a_command(found: Found) -> None:
    found.ledger.pop()


def _double_in_the_files(found: Found) -> None:
    found.archive.append(found.archive[3])


def _double_in_the_queue(found: Found) -> None:
    found.ledger.append(found.ledger[-1])


def _change_an_amount(found: Found) -> None:
    found.ledger[0] = found.ledger[0]._replace(amount=found.ledger[0].amount + 1)


def _mix_up_subjects(found: Found) -> None:
    found.archive[0] = found.archive[0]._replace(subject="sales.elsewhere.1")


def _invent(found: Found) -> None:
    found.archive.append(Delivery("sale-x", "sales.north.1", 0))


def _deliver_to_both(found: Found) -> None:
    found.turns["left"].append(found.turns["right"][0])


def _do_not_take_turns(found: Found) -> None:
    found.turns = {"left": SALES, "right": []}


def _end_twice(found: Found) -> None:
    found.followed.append(next(each for each in found.followed if each.outcome == "completed"))


def _never_end(found: Found) -> None:
    found.followed.remove(next(each for each in found.followed if each.outcome == "compensated"))


def _end_otherwise(found: Found) -> None:
    number = next(number for number, each in enumerate(found.followed) if each.outcome == "completed")
    found.followed[number] = found.followed[number]._replace(outcome="compensated")


def _send_twice(found: Found) -> None:
    found.followed.append(next(each for each in found.followed if each.kind == "command"))


def _invent_an_order(found: Found) -> None:
    found.followed.append(Followed("move", "order-x", None, "moved"))


def _forget_a_version(found: Found) -> None:
    del found.versions[1]


def _take_an_unknown_version(found: Found) -> None:
    found.versions[1] = "third"


def _repeat_by_another_version(found: Found) -> None:
    found.versions[0] = SECOND


def _leave_some_unacknowledged(found: Found) -> None:
    found.sizes["shop-follow"] = NOTHING._replace(leased=3)


def _bury(found: Found) -> None:
    found.undelivered.append("out/dead/ledger/batch=1/part-0")


def _lose_what_is_watched(found: Found) -> None:
    found.watched.remove(next(each for each in found.watched if each.owner == "sales"))


def _deliver_overlapping_ones_twice(found: Found) -> None:
    found.watched.append(next(each for each in found.watched if len(each.matched) == 2))


def _forget_which_matched(found: Found) -> None:
    number = next(number for number, each in enumerate(found.watched) if len(each.matched) == 2)
    found.watched[number] = found.watched[number]._replace(matched=("sales",))


def _lose_a_watched_command(found: Found) -> None:
    found.watched_commands.pop()


def _repeat_by_other_subscriptions(found: Found) -> None:
    found.subscribed[0] = SECOND


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_lose_a_file, "the archive has lost"),
        (_lose_from_the_queue, "the ledger has lost"),
        (_lose_a_command, "the ledger has lost"),
        (_double_in_the_files, "2 times"),
        (_double_in_the_queue, "2 times"),
        (_change_an_amount, "the ledger adds up to"),
        (_mix_up_subjects, " for sales."),
        (_invent, "which nobody sent there"),
        (_deliver_to_both, "the balanced route has"),
        (_do_not_take_turns, "did not take turns"),
        (_end_twice, "has ended 2 times"),
        (_never_end, "has ended 0 times"),
        (_end_otherwise, "too much is"),
        (_send_twice, "was sent 2 times"),
        (_invent_an_order, "nobody ordered"),
        (_forget_a_version, "no version is recorded"),
        (_take_an_unknown_version, "no version of the table"),
        (_repeat_by_another_version, "the route of the later version, in batch 0, has lost"),
        (_lose_what_is_watched, "who subscribes to sales has lost"),
        (_deliver_overlapping_ones_twice, "2 times"),
        (_forget_which_matched, "was matched by ('sales',), and should be by ('north', 'sales')"),
        (_lose_a_watched_command, "who subscribes to commands has lost"),
        (_repeat_by_other_subscriptions, "the later subscription, in batch 0, has lost"),
        (_leave_some_unacknowledged, "is not acknowledged to its end"),
        (_bury, "was not delivered"),
    ],
)
def test_each_broken_promise_is_noticed(harm: Callable[[Found], None], said: str) -> None:
    """For each promise there is an outcome that shows it broken."""
    found = good()
    harm(found)
    assert any(said in wrong for wrong in broken_promises(STORY, found, VERSIONS))
