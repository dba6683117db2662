"""Balancing: one destination out of several.

    round-robin         the one after the last, in the order given, the first after the last of all
    random              each as likely as the other
    least-connections   the one with the fewest in flight; of equal ones, the first
    weighted            smooth: of every sum(weights) choices, each gets exactly its weight, interleaved
    sticky              the same one for the same key (below)

A destination of the weight 0 is never chosen by any of them; only ``weighted`` makes a difference between the others.

When the destinations change between two calls:

- round-robin goes on after the last chosen one, by its name; if that is gone, with the one that stands in its place;
- least-connections counts one that was taken away until its requests are finished, and knows it if it returns;
- weighted begins a new cycle when a name or a weight is not what it was; the order does not matter;
- sticky moves only the keys of a destination that was taken away, or those that a new one gets;
- random has nothing to remember.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b

from pointsman.errors import RoutingError
from pointsman.routing.state_codec import Fields, as_row, as_text, as_whole, bad_state, is_whole, shown

KIND = "balance/1"


@dataclass(frozen=True, slots=True)
class BalanceState:
    """Where each kind of balancing stands; a new one has chosen nothing yet."""

    last: str | None = None
    """For round-robin: the name chosen last."""
    position: int = 0
    """For round-robin: where that one stood."""
    credits: tuple[tuple[str, int, int], ...] = ()
    """For weighted: name, weight and credit of each destination. The credits add up to 0."""
    in_flight: tuple[tuple[str, int], ...] = ()
    """For least-connections: name and number of the requests that are not finished; a number of 0 is left out."""

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "last": self.last,
            "position": self.position,
            "credits": [list(each) for each in self.credits],
            "in_flight": [list(each) for each in self.in_flight],
        }

    @classmethod
    def from_data(cls, data: object) -> BalanceState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        fields = Fields(data, KIND)
        state = cls(
            fields.text_or_none("last"),
            fields.whole("position"),
            fields.items("credits", _credit),
            fields.items("in_flight", _flight),
        )
        fields.end()
        for each in (state.credits, state.in_flight):
            if len({row[0] for row in each}) < len(each):
                raise bad_state(f"{fields.what} names a destination twice")
        if sum(credit for *_, credit in state.credits):
            raise bad_state(f"{fields.what} has credits that do not add up to 0")
        return state


def _credit(data: object, where: str) -> tuple[str, int, int]:
    name, weight, credit = as_row(data, where, 3)
    return as_text(name, where), as_whole(weight, where, 1), as_whole(credit, where, None)


def _flight(data: object, where: str) -> tuple[str, int]:
    name, count = as_row(data, where, 2)
    return as_text(name, where), as_whole(count, where, 1)


# -- the sticky choice: rendezvous hashing, so that every runtime that can hash makes the same one
#
# For each destination the score is the BLAKE2b hash, of 8 bytes, without key, salt or personalisation, over
#
#     the length of the destination's name in UTF-8 bytes, as 4 bytes, big-endian
#     the destination's name in UTF-8
#     the key in UTF-8
#
# read as an unsigned number, big-endian. The highest score is chosen; of equal ones, the name whose UTF-8 bytes come
# first. The order of the destinations and their weights make no difference.


def stick(names: Iterable[str], key: str) -> str:
    """The name for this key; there must be at least one.

    >>> stick(["a", "b", "c"], "customer-17")
    'b'
    """
    hashed = _bytes(key)
    return min(map(_bytes, names), key=lambda name: (-_score(name, hashed), name)).decode("utf-8", "surrogatepass")


def score(name: str, key: str) -> int:
    """The score of one destination for a key.

    >>> f"{score('a', 'customer-17'):016x}"
    '37136f0d44b34ffc'
    """
    return _score(_bytes(name), _bytes(key))


def _score(name: bytes, key: bytes) -> int:
    return int.from_bytes(blake2b(len(name).to_bytes(4, "big") + name + key, digest_size=8).digest(), "big")


def _bytes(text: str) -> bytes:
    # A lone surrogate, which no message can hold but a caller may, hashes as it is written.
    return text.encode("utf-8", "surrogatepass")


Random = Callable[[], float]
"""Gives a number from 0 up to, and not including, 1: ``random.Random(…).random``, for one."""


class Kind(StrEnum):
    """The ways to balance."""

    ROUND_ROBIN = "round-robin"
    RANDOM = "random"
    LEAST_CONNECTIONS = "least-connections"
    WEIGHTED = "weighted"
    STICKY = "sticky"


@dataclass(frozen=True, slots=True)
class Weighted:
    """A destination and its share.

    Raises ``RoutingError`` (``bad-destinations``) for a weight that is no whole number from 0.
    """

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if not is_whole(self.weight) or self.weight < 0:
            problem = f"the weight of {self.name!r} is {shown(self.weight)}, not a whole number from 0"
            raise RoutingError("bad-destinations", problem)


def choose(
    kind: Kind, destinations: Sequence[Weighted], state: BalanceState, *, key: str | None, random: Random
) -> tuple[str, BalanceState]:
    """The name of the destination chosen, and the state that this leaves.

    ``key`` is asked for by ``sticky`` only, ``random`` is called by ``random`` only, and once. Raises
    ``RoutingError``: ``no-destinations`` if none has a weight above 0, ``bad-destinations`` if two have one name,
    ``no-key`` for a sticky choice without a key.
    """
    usable = _usable(destinations)
    names = [each.name for each in usable]
    if kind is Kind.ROUND_ROBIN:
        return _round_robin(names, state)
    if kind is Kind.RANDOM:
        return names[min(int(random() * len(names)), len(names) - 1)], state
    if kind is Kind.LEAST_CONNECTIONS:
        return _least_connections(names, state)
    if kind is Kind.WEIGHTED:
        return _weighted(usable, state)
    if key is None:
        raise RoutingError("no-key", f"there is no key to choose one of {', '.join(names)} by")
    return stick(names, key), state


def finished(state: BalanceState, name: str) -> BalanceState:
    """The state after a request that ``least-connections`` sent there is finished; never counts below 0."""
    in_flight = dict(state.in_flight)
    if name not in in_flight:
        return state
    in_flight[name] -= 1
    return replace(state, in_flight=tuple((each, count) for each, count in in_flight.items() if count > 0))


def _usable(destinations: Sequence[Weighted]) -> list[Weighted]:
    names = [each.name for each in destinations]
    if len(set(names)) < len(names):
        raise RoutingError("bad-destinations", f"two destinations have one name: {', '.join(names)}")
    usable = [each for each in destinations if each.weight > 0]
    if not usable:
        problem = f"every weight is 0: {', '.join(names)}" if names else "there is no destination to choose from"
        raise RoutingError("no-destinations", problem)
    return usable


def _round_robin(names: list[str], state: BalanceState) -> tuple[str, BalanceState]:
    following = names.index(state.last) + 1 if state.last in names else state.position
    position = following % len(names)
    return names[position], replace(state, last=names[position], position=position)


def _least_connections(names: list[str], state: BalanceState) -> tuple[str, BalanceState]:
    in_flight = dict(state.in_flight)
    chosen = min(names, key=lambda name: in_flight.get(name, 0))
    in_flight[chosen] = in_flight.get(chosen, 0) + 1
    return chosen, replace(state, in_flight=tuple(in_flight.items()))


def _weighted(usable: list[Weighted], state: BalanceState) -> tuple[str, BalanceState]:
    """Each gains its weight, the richest is chosen and pays the sum; after sum(weights) choices all are at 0 again."""
    known = {name: (weight, left) for name, weight, left in state.credits}
    same = {name: weight for name, (weight, _) in known.items()} == {each.name: each.weight for each in usable}
    credit = {each.name: each.weight + (known[each.name][1] if same else 0) for each in usable}
    chosen = max(credit, key=lambda name: credit[name])
    credit[chosen] -= sum(each.weight for each in usable)
    return chosen, replace(state, credits=tuple((each.name, each.weight, credit[each.name]) for each in usable))
