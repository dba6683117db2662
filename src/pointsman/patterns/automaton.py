"""Walking a track with all its states at once, in the bits of one integer.

Bit ``i`` says that state ``i`` can be reached. One symbol costs a handful of operations on that integer, so a match
is linear in the symbols times the states, whatever wildcards the pattern has; nothing is ever tried twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pointsman.patterns.track import Loop, Step, Track


class Automaton:
    """The walker of one track. Immutable after it is made; safe between threads."""

    __slots__ = ("_across", "_end", "_literals", "_one", "_optional", "_separator", "_start", "_within")

    def __init__(self, track: Track) -> None:
        self._separator = track.separator
        self._literals: dict[str, int] = {}
        self._one = 0
        for index, step in enumerate(track.steps):
            if isinstance(step, str):
                self._literals[step] = self._literals.get(step, 0) | 1 << index
            else:
                self._one |= 1 << index
        self._across = sum(1 << index for index, loop in enumerate(track.loops) if loop is Loop.ACROSS)
        self._within = sum(1 << index for index, loop in enumerate(track.loops) if loop is Loop.WITHIN)
        self._optional = sum(1 << index for index in track.optional)
        self._end = sum(1 << index for index in track.ends)
        self._start = self._enter(1)

    def _enter(self, entered: int) -> int:
        """The states reached on entering these: an optional block is passed over as well."""
        return entered | (entered & self._optional) << 1

    def _read(self, states: int, symbol: str) -> int:
        return self._enter((states & (self._literals.get(symbol, 0) | self._one)) << 1) | states & self._stay(symbol)

    def _stay(self, symbol: str) -> int:
        return self._across if symbol == self._separator else self._across | self._within

    def accepts(self, symbols: Iterable[str]) -> bool:
        """Whether the track can be walked from start to end with these tokens, or characters."""
        # The same as _read, written out: this loop is what matching costs.
        literals, one, across, optional, separator = (
            self._literals,
            self._one,
            self._across,
            self._optional,
            self._separator,
        )
        stay = across | self._within
        states = self._start
        for symbol in symbols:
            entered = (states & (literals.get(symbol, 0) | one)) << 1
            states = entered | (entered & optional) << 1 | states & (across if symbol == separator else stay)
            if not states:
                return False
        return states & self._end != 0

    def remaining(self, symbols: Sequence[str]) -> list[int]:
        """For each position among the symbols, the states from which the rest of them leads to an end."""
        states = self._end
        found = [states]
        for symbol in reversed(symbols):
            entered = states | states >> 1 & self._optional
            leaving = entered >> 1 & (self._literals.get(symbol, 0) | self._one)
            states = leaving | states & self._stay(symbol)
            found.append(states)
        return found[::-1]

    def covers(self, other: Track) -> bool:
        """Whether this track, which must be saturated, can follow every walk of the other.

        The other's wildcards are read as symbols of their own, which only wildcards at least as wide can follow. For
        saturated tracks and an unlimited alphabet that is exact: ``docs/algebra.md`` shows why.
        """
        states = self._start
        for index, loop in enumerate(other.loops):
            if index and index - 1 not in other.optional:
                states = self._read_step(states, other.steps[index - 1])
            if index in other.optional:
                # The block 'anything, then a separator' may be there or not: keep what can follow both.
                states &= self._read(states & self._across, other.separator or "")
                continue
            if loop is not Loop.NONE:
                states &= self._across if loop is Loop.ACROSS else self._across | self._within
            if index in other.ends and not states & self._end:
                return False
        return True

    def _read_step(self, states: int, step: str | Step) -> int:
        if isinstance(step, str):
            return self._read(states, step)
        return (states & self._one) << 1 | states & self._across
