"""An exact judge of containment and intersection: searches the subjects of two patterns through their automata.

Unlike brute force it is not limited to short subjects, and unlike the package it is exponential. It shares no code
with the package. A pattern becomes a plain automaton with moves on nothing; a breadth-first search over pairs of
sets of states then finds a shortest subject that tells two patterns apart, or shows that there is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.reference import MANY, MINIMUM, ONE, split

FRESH = "\x01"
"""A token, or a character, that no pattern names."""


@dataclass
class Machine:
    """States from 0; ``moves`` on a symbol (None: on any, "": on any but the dot), ``free`` moves on nothing."""

    moves: dict[int, list[tuple[str | None, int]]] = field(default_factory=dict)
    free: dict[int, list[int]] = field(default_factory=dict)
    end: int = 0

    def add(self, symbol: str | None) -> None:
        """One step on."""
        self.moves.setdefault(self.end, []).append((symbol, self.end + 1))
        self.end += 1

    def loop(self, symbol: str | None) -> None:
        """A new state, reached on nothing, that stays on the symbol."""
        self.free.setdefault(self.end, []).append(self.end + 1)
        self.end += 1
        self.moves.setdefault(self.end, []).append((symbol, self.end))
        self.free.setdefault(self.end, []).append(self.end + 1)
        self.end += 1

    def optional(self, build: Callable[[], None]) -> None:
        """What ``build`` adds may be passed over."""
        start = self.end
        build()
        self.free.setdefault(start, []).append(self.end)

    def close(self, states: Iterable[int]) -> frozenset[int]:
        """With all that is reached on nothing."""
        seen = set(states)
        waiting = list(seen)
        while waiting:
            for state in self.free.get(waiting.pop(), []):
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        return frozenset(seen)

    def read(self, states: frozenset[int], symbol: str) -> frozenset[int]:
        """Where the symbol leads."""
        return self.close(
            target
            for state in states
            for wanted, target in self.moves.get(state, [])
            if wanted is None or wanted == symbol or (wanted == "" and symbol != ".")
        )


def by_tokens(pattern: str, dialect: str) -> Machine:
    """NATS, AMQP and MQTT. Tokens are marked with a leading colon, so that the empty one has a name."""
    machine = Machine()
    for token in split(pattern, dialect):
        if token == MANY[dialect]:
            for _ in range(MINIMUM[dialect]):
                machine.add(None)
            machine.loop(None)
        else:
            machine.add(None if token == ONE[dialect] else ":" + token)
    return machine


def by_characters(pattern: str) -> Machine:
    """Zato."""
    machine = Machine()
    segments = pattern.lower().split(".")
    if set(segments) == {"**"}:
        machine.loop(None)
        return machine
    last_plain = max(index for index, segment in enumerate(segments) if segment != "**")
    for index, segment in enumerate(segments[: last_plain + 1]):
        if segment == "**":
            machine.optional(lambda: (machine.loop(None), machine.add("."))[0])
            continue
        position = 0
        while position < len(segment):
            stars = len(segment) - position - len(segment[position:].lstrip("*"))
            if stars:
                machine.loop("" if stars == 1 else None)
            else:
                machine.add(segment[position])
            position += stars or 1
        if index < last_plain:
            machine.add(".")
    for _ in segments[last_plain + 1 :]:
        machine.optional(lambda: (machine.add("."), machine.loop(None))[0])
    return machine


def witness(left: str, right: str, dialect: str, wanted: Callable[[bool, bool], bool]) -> tuple[str, ...] | None:
    """The symbols of a shortest subject for which ``wanted(left matches, right matches)``; None if there is none."""
    one, other = (by_characters(text) if dialect == "zato" else by_tokens(text, dialect) for text in (left, right))
    alphabet = _alphabet(left, right, dialect)
    start = (one.close([0]), other.close([0]))
    seen = {(start, "", False)}
    waiting: deque[tuple[tuple[frozenset[int], frozenset[int]], tuple[str, ...]]] = deque([(start, ())])
    while waiting:
        (a, b), symbols = waiting.popleft()
        if _is_subject(symbols, dialect) and wanted(
            one.end in a and not _hidden(left, symbols, dialect),
            other.end in b and not _hidden(right, symbols, dialect),
        ):
            return symbols
        for symbol in alphabet:
            if not symbols and dialect == "zato" and symbol.isspace():
                continue
            pair = (one.read(a, symbol), other.read(b, symbol))
            extended = (*symbols, symbol)
            # What else decides later: the last symbol, whether it began with $, and whether it is one empty token.
            key = (pair, symbol if dialect == "zato" else extended[0].startswith(":$"), extended == (":",))
            if key not in seen:
                seen.add(key)
                waiting.append((pair, extended))
    return None


def contains(wide: str, narrow: str, dialect: str) -> bool:
    """Whether every subject of the second is one of the first."""
    return witness(wide, narrow, dialect, lambda first, second: second and not first) is None


def intersects(left: str, right: str, dialect: str) -> bool:
    """Whether a subject is one of both."""
    return witness(left, right, dialect, lambda first, second: first and second) is not None


def _alphabet(left: str, right: str, dialect: str) -> list[str]:
    if dialect == "zato":
        return sorted(set((left + right).lower()) - set("*#") | {".", FRESH})
    words = {":" + token for text in (left, right) for token in split(text, dialect)}
    words -= {":" + ONE[dialect], ":" + MANY[dialect]}
    return sorted(words | {":" + FRESH})


def _is_subject(symbols: tuple[str, ...], dialect: str) -> bool:
    if dialect == "zato":
        return bool(symbols) and not symbols[-1].isspace()
    if not symbols:
        return dialect == "amqp"
    return symbols != (":",)


def _hidden(pattern: str, symbols: tuple[str, ...], dialect: str) -> bool:
    return dialect == "mqtt" and pattern[:1] in ("+", "#") and symbols[0].startswith(":$")
