"""Putting right what is wrong with messages and deliveries; nothing that was put is deleted."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from pointsman.errors import StoreError
from pointsman.store import statements
from pointsman.store.doctor import questions
from pointsman.store.doctor.catalogue import ILLNESSES, Severity
from pointsman.store.doctor.control import read_control
from pointsman.store.doctor.faults import Fault, Names, faults_of
from pointsman.store.doctor.finding import Action
from pointsman.store.doctor.names import read_names
from pointsman.store.doctor.standing import Delivery, Standing, Survey
from pointsman.store.lease import DAMAGED, MISSING
from pointsman.store.queue import Queue
from pointsman.store.subscriptions import MAIN
from pointsman.store.transaction import Transaction

REASONS = {
    "damaged-message": DAMAGED,
    "missing-message": MISSING,
    "unknown-route": "the route that it came by is not known",
}
ROUNDS = 8
"""To put one thing right can bring another to light; more rounds are never needed."""
BATCH = 1000
"""Messages that are put right in one transaction."""
ORDER = ("leased", "ready", "delayed", "dead")
"""Which of two deliveries that should be one is kept: the first."""


def mend(queue: Queue) -> list[Action]:
    """Puts right what can be, in transactions of a bounded size, and says what was done."""
    done: Counter[str] = Counter()
    for _ in range(ROUNDS):
        after, found = 0, 0
        while after >= 0:
            with queue.store.exclusive() as transaction:
                faults = _some_faults(transaction, after)
                for fault in faults:
                    Mender(queue, transaction).put_right(fault)
                    done[fault.code] += len(fault.deliveries) or 1
            found += len(faults)
            after = faults[-1].standing.sequence if len(faults) == BATCH else -1
        if not found:
            break
    done += _count_anew(queue)
    return [Action(code, ILLNESSES[code].repair, count) for code, count in done.items()]


def _some_faults(transaction: Transaction, after: int) -> list[Fault]:
    """The first fault of each message that has any, of so many messages at most."""
    control = read_control(transaction)
    if control is None:
        raise StoreError("store-damaged", "the row that each transaction begins with cannot be read")
    names = read_names(transaction, control)
    standings = Survey(transaction, control).standings(after)
    found = (fault for standing in standings if (fault := _first_fault(standing, names)) is not None)
    return list(islice(found, BATCH))


def _first_fault(standing: Standing, names: Names) -> Fault | None:
    faults = faults_of(standing, names)
    return next((fault for fault in faults if ILLNESSES[fault.code].severity is not Severity.NOTE), None)


def _count_anew(queue: Queue) -> Counter[str]:
    with queue.store.exclusive() as transaction:
        unfinished = transaction.first(questions.OPEN_MESSAGES)[0]
        wrong = Counter({"wrong-unfinished": abs(unfinished - transaction.unfinished)})
        transaction.unfinished = unfinished
    return wrong


class Mender:
    """Puts one fault right."""

    def __init__(self, queue: Queue, transaction: Transaction) -> None:
        self._store = queue.store
        self._transaction = transaction

    def put_right(self, fault: Fault) -> None:
        """Does what the catalogue says of the fault's code."""
        standing, deliveries = fault.standing, fault.deliveries
        match fault.code:
            case "damaged-message" | "missing-message" | "unknown-route":
                self._give_up(standing, deliveries, REASONS[fault.code])
            case "lost-deliveries" | "unknown-subscription":
                for each in deliveries:
                    self._take_out(each)
                self._deliver(standing)
            case "delivery-differs":
                self._make_like_message(standing, deliveries[0])
            case "odd-delivery":
                self._make_ready(deliveries[0])
            case "double-delivery":
                same = [each for each in standing.deliveries if each[1:3] == deliveries[0][1:3]]
                for each in sorted(same, key=lambda one: ORDER.index(one.place))[1:]:
                    self._take_out(each)
            case "ended-subscription":
                self._take_out(deliveries[0])
                left = tuple(each for each in standing.deliveries if each != deliveries[0])
                self._note(standing._replace(deliveries=left))
            case _:
                self._note(standing)

    def _note(self, standing: Standing) -> None:
        """Notes anew whether a message is finished, and how many of its deliveries are open."""
        transaction, sequence = self._transaction, standing.sequence
        transaction.execute(statements.PENDING_DELETE, (sequence,))
        if standing.deliveries:
            transaction.execute(statements.PENDING_SET, (sequence, len(standing.open)))
        if standing.open or standing.message is None:
            transaction.execute(statements.FINISHED_DELETE, (sequence,))
        elif not standing.deliveries and not standing.finished:
            transaction.execute(statements.FINISHED_ADD, (sequence, transaction.now, 0))

    def _make_like_message(self, standing: Standing, delivery: Delivery) -> None:
        if standing.message is not None:
            row = (standing.message.key, standing.message.priority, *delivery[:3])
            self._transaction.execute(questions.LIKE_MESSAGE[delivery.place], row)

    def _take_out(self, delivery: Delivery) -> tuple[str | None, str | None]:
        """Takes a delivery out of its table, and gives its note and error."""
        which = delivery.priority if delivery.place == "ready" else delivery.time
        place = (*delivery[:3], which)
        texts = self._transaction.first(questions.TEXTS_OF[delivery.place], place)
        self._transaction.execute(questions.TAKE_OUT[delivery.place], place)
        return (None, None) if texts is None else (texts[0], texts[1])

    def _give_up(self, standing: Standing, deliveries: tuple[Delivery, ...], reason: str) -> None:
        for each in deliveries:
            texts = self._take_out(each)
            row = (*each[:3], each.priority, each.key, each.attempts, *texts, reason, self._transaction.now)
            self._transaction.execute(statements.DEAD_ADD, row)
        if not deliveries:
            key = 0 if standing.message is None else standing.message.key or 0
            row = (standing.sequence, MAIN, 0, 5, key, 0, None, None, reason, self._transaction.now)
            self._transaction.execute(statements.DEAD_ADD, row)

    def _deliver(self, standing: Standing) -> None:
        """Makes a message ready for all who should get it and have no delivery of it."""
        message, subscriptions = standing.message, self._store.subscriptions
        if message is None or message.text is None:
            return
        subscriptions.refresh(self._transaction)
        having = {each.subscription for each in standing.deliveries}
        for number in {MAIN, *subscriptions.matching(message.text)} - having:
            row = (number, message.priority, standing.sequence, 0, message.key, 0, None, None)
            self._transaction.execute(questions.READY_PUT, row)
        self._transaction.returned += 1
        self._transaction.wake = True

    def _make_ready(self, delivery: Delivery) -> None:
        texts = self._take_out(delivery)
        row = (delivery.subscription, delivery.priority, delivery.sequence, delivery.via, delivery.key, 0, *texts)
        self._transaction.execute(questions.READY_PUT, row)
        self._transaction.returned += 1
        self._transaction.wake = True
