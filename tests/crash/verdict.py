"""Whether the promises of the queue were kept, told from the journals of everybody who took part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.crash.journal import Line
from tests.crash.letters import KEYS, key_of

Delivery = tuple[int, int]
"""The number of the message and that of the subscription."""


@dataclass(slots=True)
class Seen:
    """What the journals say."""

    begun: list[list[str]] = field(default_factory=list)
    """Names that were put in one call."""
    put: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    numbers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    attempts: dict[Delivery, list[int]] = field(default_factory=lambda: defaultdict(list))
    acked: dict[Delivery, list[int]] = field(default_factory=lambda: defaultdict(list))
    torn: list[Line] = field(default_factory=list)


def gather(lines: Iterable[Line]) -> Seen:
    """What the lines say together."""
    seen = Seen()
    for line in lines:
        if line.word == "putting":
            seen.begun.append(line.fields[0])
        elif line.word == "put":
            seen.put.update(line.fields[0])
        elif line.word == "refused":
            seen.refused.update(line.fields[0])
        elif line.word == "popped":
            sequence, subscription, attempt, name = line.fields
            if name is None:
                seen.torn.append(line)
                continue
            seen.numbers[name].add(sequence)
            seen.attempts[sequence, subscription].append(attempt)
        elif line.word == "acked":
            sequence, subscription, attempt = line.fields
            seen.acked[sequence, subscription].append(attempt)
    return seen


def broken_promises(seen: Seen, subscriptions: dict[str, int]) -> list[str]:
    """What was promised and not kept; nothing, as it should be. ``subscriptions`` gives the number of each name."""
    return [
        *(f"delivered, and not whole: {line}" for line in seen.torn),
        *_lost(seen),
        *_twice(seen),
        *_parts(seen),
        *_after_ack(seen),
        *_fan_out(seen, subscriptions),
    ]


def _lost(seen: Seen) -> Iterable[str]:
    """Every message whose put returned was delivered."""
    return (f"put returned, and it was never delivered: {name}" for name in sorted(seen.put - seen.numbers.keys()))


def _twice(seen: Seen) -> Iterable[str]:
    """A message is stored once; one that was refused, or that nobody put, is not stored."""
    begun = {name for names in seen.begun for name in names}
    for name, numbers in seen.numbers.items():
        if len(numbers) > 1:
            yield f"stored {len(numbers)} times: {name}"
        if name not in begun:
            yield f"nobody put it: {name}"
        if name in seen.refused - seen.put:
            yield f"refused, and there: {name}"


def _parts(seen: Seen) -> Iterable[str]:
    """Of the messages of one call, all are there or none."""
    for names in seen.begun:
        there = [name for name in names if name in seen.numbers]
        if there and len(there) < len(names):
            yield f"{len(there)} of {len(names)} that were put together are there: {names[0]}"


def _after_ack(seen: Seen) -> Iterable[str]:
    """An acknowledged delivery is not made again, and no lease is held by two."""
    for delivery, attempts in seen.attempts.items():
        if len(set(attempts)) < len(attempts):
            yield f"one lease was given to two: {delivery}, attempts {sorted(attempts)}"
        acked = seen.acked.get(delivery, [])
        if len(acked) > 1:
            yield f"acknowledged {len(acked)} times: {delivery}"
        if acked and max(attempts) > acked[0]:
            yield f"delivered after it was acknowledged: {delivery}, attempt {max(attempts)} after {acked[0]}"


def _fan_out(seen: Seen, subscriptions: dict[str, int]) -> Iterable[str]:
    """Each message went to the queue itself and to each subscription whose pattern matches, and to nobody else."""
    found: dict[int, set[int]] = defaultdict(set)
    for sequence, subscription in seen.attempts:
        found[sequence].add(subscription)
    for name, numbers in seen.numbers.items():
        wanted = {0} | {subscriptions[each] for each in KEYS[key_of(name)]}
        for number in numbers:
            if found[number] != wanted:
                yield f"{name} went to {sorted(found[number])} and not to {sorted(wanted)}"
