"""What is wrong with where a message stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pointsman.store.doctor.standing import Delivery, Standing

MOST_ATTEMPTS = 1_000_000


class Names(NamedTuple):
    """What deliveries can refer to."""

    subscriptions: Mapping[int, bool]
    """Each number, and whether the subscription was ended."""
    routes: frozenset[int]
    latest: int
    """No delivery can be due after this, in microseconds."""


class Fault(NamedTuple):
    """Something wrong with one message."""

    code: str
    standing: Standing
    deliveries: tuple[Delivery, ...] = ()
    """Those that it is about."""


def faults_of(standing: Standing, names: Names) -> Iterator[Fault]:
    """All that is wrong with one message and its deliveries."""
    yield from _of_message(standing)
    yield from _of_deliveries(standing, names)
    yield from _of_notes(standing)


def _of_message(standing: Standing) -> Iterator[Fault]:
    message = standing.message
    if message is None:
        if standing.open and not standing.lost:
            yield Fault("missing-message", standing, standing.open)
        if standing.finished and not standing.lost:
            yield Fault("finished-without-message", standing)
    elif not message.whole:
        aside = not standing.open and (standing.finished or standing.deliveries)
        yield Fault("damaged-aside" if aside else "damaged-message", standing, standing.open)
    elif not standing.deliveries and not standing.finished:
        yield Fault("lost-deliveries", standing)


def _of_deliveries(standing: Standing, names: Names) -> Iterator[Fault]:
    seen: set[tuple[int, int]] = set()
    for each in standing.deliveries:
        if (each.subscription, each.via) in seen:
            yield Fault("double-delivery", standing, (each,))
        seen.add((each.subscription, each.via))
        message = standing.message
        if message is not None and message.whole and (each.key, each.priority) != (message.key, message.priority):
            yield Fault("delivery-differs", standing, (each,))
        if each.place == "dead":
            continue
        if each.subscription not in names.subscriptions:
            yield Fault("unknown-subscription", standing, (each,))
        elif names.subscriptions[each.subscription]:
            yield Fault("ended-subscription", standing, (each,))
        if each.via and each.via not in names.routes:
            yield Fault("unknown-route", standing, (each,))
        if not _is_number(each.attempts, MOST_ATTEMPTS) or not _is_number(each.time, names.latest):
            yield Fault("odd-delivery", standing, (each,))


def _of_notes(standing: Standing) -> Iterator[Fault]:
    count = len(standing.open)
    if standing.finished and count:
        yield Fault("finished-and-open", standing, standing.open)
    if standing.pending is None:
        wrong = count > 1
    else:
        stale = not standing.deliveries and (standing.finished or standing.message is None)
        wrong = standing.pending != count or stale
    if wrong:
        yield Fault("wrong-pending", standing)


def _is_number(value: object, most: int) -> bool:
    return isinstance(value, int) and 0 <= value <= most
