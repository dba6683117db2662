"""A stream takes each delivery once, ends it once, and skips none, whenever it becomes ready."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman import Queue
from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import release, sql
from pointsman.pipeline.queue_source.stream import ALL, PAGE, Progress, Stream, bounds
from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.subscriptions import MAIN
from pointsman.testing import Clock


@pytest.fixture
def clock() -> Clock:
    """The clock of the queue."""
    return Clock(1_800_000_000.0)


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[Queue]:
    """A queue of today."""
    with Queue(tmp_path / "queue.db", clock=clock) as opened:
        yield opened


def taken(queue: Queue, after: int, through: int, subscription: int = MAIN) -> list[str]:
    """The bodies at these positions."""
    with queue.store.read() as connection:
        rows = connection.execute(sql.TAKEN, bounds(after, through, subscription))
        return [row[5].decode() for row in rows]


def take(queue: Queue, stream: str, position: int, most: int | None = None, last: int = ALL) -> int:
    """Takes for the queue itself."""
    return Stream(queue.store, MAIN).take(stream, position, most, last)


def acknowledge(queue: Queue, stream: str, position: int) -> None:
    """Acknowledges for the queue itself."""
    Stream(queue.store, MAIN).end(stream, position)


def begin(queue: Queue) -> Progress:
    """A new stream of the queue itself."""
    return Stream(queue.store, MAIN).begin()


def test_deliveries_are_taken_in_the_order_of_pop(queue: Queue) -> None:
    """Those of a high priority come first, and then those that were put first."""
    for number, priority in enumerate([5, 5, 1, 9, 1]):
        queue.put(f"{number}", "a", priority=priority)
    stream = begin(queue).stream
    assert take(queue, stream, 0, most=3) == 3
    assert taken(queue, 0, 3) == ["2", "4", "0"]
    assert take(queue, stream, 3) == 5
    assert taken(queue, 3, 5) == ["1", "3"]


def test_asking_again_takes_no_more_than_was_asked_for(queue: Queue) -> None:
    """A batch that was planned and not begun is planned again as it was."""
    queue.put_many([(b"x", "a")] * 10)
    stream = begin(queue).stream
    assert [take(queue, stream, 0, most=4), take(queue, stream, 0, most=4)] == [4, 4]
    assert queue.size("")[:3] == (6, 0, 4)


def test_what_was_delayed_comes_when_it_is_due(queue: Queue, clock: Clock) -> None:
    """It is neither skipped because others came before it, nor does it hold them up."""
    queue.put("late", "a", delay=60)
    queue.put("early", "a")
    stream = begin(queue).stream
    assert take(queue, stream, 0) == 1
    acknowledge(queue, stream, 1)
    assert take(queue, stream, 1) == 1
    clock.advance(61)
    assert take(queue, stream, 1) == 2
    assert taken(queue, 1, 2) == ["late"]


def test_what_becomes_ready_during_a_batch_is_not_acknowledged_with_it(queue: Queue, clock: Clock) -> None:
    """A delay that ends between the planning of a batch and its end waits for the next batch."""
    queue.put("late", "a", delay=60)
    queue.put("early", "a")
    stream = begin(queue).stream
    take(queue, stream, 0)
    clock.advance(61)
    assert queue.pop() is not None, "the end of the delay is noticed by a pop"
    assert taken(queue, 0, 1) == ["early"]
    acknowledge(queue, stream, 1)
    assert queue.size("")[:3] == (0, 0, 1)


def test_what_expired_becomes_a_dead_letter(queue: Queue, clock: Clock) -> None:
    """It is in no batch; what was taken in time is delivered though it expires afterwards."""
    queue.put("gone", "a", expires=10)
    clock.advance(11)
    queue.put("soon gone", "a", expires=10)
    stream = begin(queue).stream
    end = take(queue, stream, 0)
    clock.advance(11)
    assert taken(queue, 0, end) == ["soon gone"]
    assert [letter.reason for letter in queue.dead_letters()] == ["it expired before anybody took it"]


def test_dead_letters_and_done_messages_come_again_at_the_end(queue: Queue) -> None:
    """What is brought back has a new position."""
    queue.put("one", "a")
    stream = begin(queue).stream
    acknowledge(queue, stream, take(queue, stream, 0))
    assert queue.replay() == 1
    assert take(queue, stream, 1) == 2
    assert taken(queue, 1, 2) == ["one"]


def test_ending_is_done_once(queue: Queue) -> None:
    """What was acknowledged is done, the rest is not, and to acknowledge it again changes nothing."""
    queue.put_many([(b"x", "a")] * 10)
    stream = begin(queue).stream
    take(queue, stream, 0)
    for _ in range(2):
        acknowledge(queue, stream, 4)
        assert queue.size("") == (0, 0, 6, 0, 4, 0)
    acknowledge(queue, stream, 10)
    assert queue.unfinished == 0


def test_more_than_one_transaction_is_used_for_many(queue: Queue) -> None:
    """Nobody who writes has to wait for all of them."""
    count = 2 * PAGE + 1
    queue.put_many([(b"x", "a")] * count)
    stream = begin(queue).stream
    assert take(queue, stream, 0) == count
    acknowledge(queue, stream, count)
    assert queue.size("") == (0, 0, 0, 0, count, 0)


def test_the_copies_of_a_subscription_are_its_own(queue: Queue) -> None:
    """A message is done when the stream and the queue itself are done with it."""
    number = queue.subscribe("stream", "a.#").id
    queue.put("one", "a.b", id="one")
    stream = Stream(queue.store, number).begin().stream
    end = Stream(queue.store, number).take(stream, 0, None)
    assert taken(queue, 0, end, number) == ["one"]
    Stream(queue.store, number).end(stream, end)
    assert queue.status("one") == "ready"
    queue.ack_many(queue.pop_many(1))
    assert queue.status("one") == "done"


def test_a_new_stream_begins_with_what_was_not_acknowledged(queue: Queue) -> None:
    """A checkpoint that was lost loses no message; the stream before it is told that it is over."""
    queue.put_many([(f"{number}", "a") for number in range(5)])
    old = begin(queue).stream
    take(queue, old, 0)
    acknowledge(queue, old, 2)
    progress = begin(queue)
    assert take(queue, progress.stream, progress.ended, most=2) == 4
    assert taken(queue, progress.ended, 5) == ["2", "3", "4"]
    with pytest.raises(StoreError) as ended:
        take(queue, old, 2)
    with pytest.raises(StoreError) as acknowledged:
        acknowledge(queue, old, 5)
    assert {ended.value.code, acknowledged.value.code} == {"stream-taken"}


def test_a_stream_that_will_not_go_on_gives_back_what_it_has(queue: Queue) -> None:
    """What it acknowledged stays done; the rest can be popped, and a later stream gets it with new positions."""
    queue.put_many([(f"{number}", "a") for number in range(5)])
    old = begin(queue).stream
    take(queue, old, 0)
    acknowledge(queue, old, 2)
    assert [release(queue.store.path), release(queue.store.path)] == [3, 0]
    popped = queue.pop()
    assert popped is not None
    assert (popped.body, popped.attempts) == (b"2", 2)
    with pytest.raises(StoreError) as over:
        take(queue, old, 2)
    assert over.value.code == "stream-taken"
    progress = begin(queue)
    assert taken(queue, progress.ended, take(queue, progress.stream, progress.ended)) == ["3", "4"]
    with pytest.raises(StoreError, match="no subscription 'nobody'"):
        release(queue.store.path, "nobody")


def test_an_old_checkpoint_is_refused(queue: Queue) -> None:
    """What it would read again is acknowledged, and would be missing without a word."""
    queue.put_many([(b"x", "a")] * 3)
    stream = begin(queue).stream
    acknowledge(queue, stream, take(queue, stream, 0))
    with pytest.raises(StoreError) as refused:
        Stream(queue.store, MAIN).check(stream, 1)
    assert refused.value.code == "stream-behind"


def test_a_stream_goes_on_after_a_purge(queue: Queue) -> None:
    """Its positions go on as well."""
    queue.put_many([(b"x", "a")] * 3)
    stream = begin(queue).stream
    take(queue, stream, 0)
    queue.purge()
    queue.put("new", "a")
    acknowledge(queue, stream, 3)
    assert take(queue, stream, 3) == 4
    assert taken(queue, 3, 4) == ["new"]


def test_nothing_newer_is_taken_than_was_asked_for(queue: Queue) -> None:
    """A query that reads what is available now ends, though more comes all the time."""
    queue.put_many([(f"{number}", "a") for number in range(3)])
    queue.put("newer", "a", priority=1)
    stream = begin(queue).stream
    assert take(queue, stream, 0, last=3) == 3
    assert taken(queue, 0, 3) == ["0", "1", "2"]


def test_a_message_that_came_by_several_routes_is_done_when_all_are(queue: Queue) -> None:
    """Each of its deliveries has a position of its own."""
    from pointsman.store.message import Draft
    from pointsman.store.put import Target

    def put(transaction: object) -> None:
        putter = queue.store.putter(transaction)  # type: ignore[arg-type]
        putter.put(Draft("one", "a", id="one"), [Target(MAIN, 1), Target(MAIN, 2)])
        putter.finish()

    queue.store.write(put)
    stream = begin(queue).stream
    assert take(queue, stream, 0) == 2
    acknowledge(queue, stream, 1)
    assert queue.status("one") == "leased"
    acknowledge(queue, stream, 2)
    assert queue.status("one") == "done"


def test_the_doctor_finds_nothing_wrong(tmp_path: Path) -> None:
    """Deliveries that a stream has taken are leased like others."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put_many([(b"x", "a")] * 3)
        stream = begin(queue).stream
        take(queue, stream, 0)
        acknowledge(queue, stream, 1)
    assert diagnose(path).findings == ()


STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from([None, 5, 50]), st.sampled_from([1, 5, 9])),
    st.tuples(st.just("wait"), st.sampled_from([1, 10, 100]), st.none()),
    st.tuples(st.just("take"), st.sampled_from([None, 1, 3]), st.none()),
    st.tuples(st.just("end"), st.none(), st.none()),
    st.tuples(st.just("new"), st.none(), st.none()),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(STEPS, max_size=30))
def test_every_message_is_in_one_acknowledged_batch(steps: list[tuple[str, int | None, int | None]]) -> None:
    """Whatever is put, delayed, taken, acknowledged and begun anew, in any order."""
    clock = Clock(1_800_000_000.0)
    with tempfile.TemporaryDirectory() as folder, Queue(Path(folder) / "queue.db", clock=clock) as queue:
        stream, start, end, count = begin(queue).stream, 0, 0, 0
        finished: list[str] = []
        for name, number, priority in [*steps, ("end", None, None), ("wait", 1000, None), ("take", None, None)]:
            if name == "put":
                queue.put(f"{count}", "a", delay=number, priority=priority or 5)
                count += 1
            elif name == "wait":
                clock.advance(number or 0)
            elif name == "take":
                end = take(queue, stream, start, number) if end == start else end
            elif name == "new":
                progress = begin(queue)
                stream, start, end = progress.stream, progress.ended, progress.ended
            else:
                finished += taken(queue, start, end)
                acknowledge(queue, stream, end)
                start = end
        finished += taken(queue, start, end)
        acknowledge(queue, stream, end)
        assert sorted(finished, key=int) == [str(number) for number in range(count)]
        assert queue.unfinished == 0
