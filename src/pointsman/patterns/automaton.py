"""Matching one pattern against one subject.

A pattern becomes a ``Track``: states numbered from 0, and a step from each to the next. ``Automaton`` walks a track
with all its states at once, in the bits of one integer: a match is linear in the symbols times the states, whatever
wildcards the pattern has, and nothing is tried twice. Patterns whose only many-wildcard, if any, stands last take a
shorter way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import Glob, Literal, Many, Nodes, One, Run, has_glob, without_repeated_many
from pointsman.patterns.subject import Subject


class Step(Enum):
    """A step that is no literal."""

    ONE = "one"


ONE = Step.ONE


class Loop(IntEnum):
    """What a state may consume without leaving."""

    NONE = 0
    WITHIN = 1
    """Any character but the separator."""
    ACROSS = 2
    """Anything."""


@dataclass(slots=True)
class Track:
    """The states are numbered from 0; step ``i`` leads from state ``i`` to ``i + 1``."""

    separator: str | None
    """The separator when laid by characters, None when laid by tokens."""
    steps: list[str | Step] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=lambda: [Loop.NONE])
    optional: set[int] = field(default_factory=set)
    """States that start an optional block: whoever enters one enters the next state too."""
    early_end: bool = False
    """Whether the track may also end one state before its last."""

    @property
    def ends(self) -> tuple[int, ...]:
        """The states a match may end in."""
        last = len(self.steps)
        return (last - 1, last) if self.early_end else (last,)

    def step(self, symbol: str | Step, loop: Loop = Loop.NONE) -> None:
        """Adds a step and the state it leads to."""
        self.steps.append(symbol)
        self.loops.append(loop)

    def loop(self, loop: Loop) -> None:
        """Widens the loop of the last state."""
        self.loops[-1] = max(self.loops[-1], loop)

    def bridges(self, index: int) -> bool:
        """Whether freedom spreads over this step: a token of any text, or a separator between characters."""
        return self.steps[index] == (ONE if self.separator is None else self.separator)

    def saturated(self) -> Track:
        """The same matches, with every loop as wide as it can be.

        By tokens, ``#.*`` matches what ``*.#`` does, so the states on both sides of a ``ONE`` get the loop that one
        of them has. By characters, the same holds over a separator for a loop within a segment: ``*.**`` and
        ``**.*`` and both loops across are one and the same.
        """
        loops = list(self.loops)
        floor = Loop.NONE if self.separator is None else Loop.WITHIN
        for indexes in (range(len(self.steps)), reversed(range(len(self.steps)))):
            for index in indexes:
                pair = (loops[index], loops[index + 1])
                if self.bridges(index) and max(pair) is Loop.ACROSS and min(pair) >= floor:
                    loops[index] = loops[index + 1] = Loop.ACROSS
        return replace(self, loops=loops)


def lay(nodes: Nodes, separator: str | None) -> Track:
    """The track of these nodes, by tokens, or by characters when a separator is given."""
    return _by_tokens(nodes) if separator is None else _by_characters(nodes, separator)


def _by_tokens(nodes: Nodes) -> Track:
    track = Track(None)
    for node in nodes:
        if isinstance(node, Literal):
            track.step(node.text)
        elif isinstance(node, Many):
            for _ in range(node.minimum):
                track.step(ONE)
            track.loop(Loop.ACROSS)
        else:
            # One token; patterns with globs are laid by characters.
            track.step(ONE)
    return track


def _by_characters(nodes: Nodes, separator: str) -> Track:
    track = Track(separator)
    segments = without_repeated_many(nodes)
    if segments == (Many(0),):
        track.loop(Loop.ACROSS)
        return track
    for number, node in enumerate(segments):
        last = number == len(segments) - 1
        if number and not isinstance(segments[number - 1], Many):
            track.step(separator)
        if isinstance(node, Many):
            if last:
                track.early_end = True
            else:
                track.optional.add(len(track.steps))
            track.loop(Loop.ACROSS)
            if not last:
                track.step(separator)
        else:
            _lay_segment(track, node)
    return track


def _lay_segment(track: Track, node: Literal | One | Glob) -> None:
    match node:
        case Literal(text):
            parts: tuple[str | Run, ...] = (text,)
        case One():
            parts = (Run.WITHIN,)
        case Glob():
            parts = node.parts
    for part in parts:
        if isinstance(part, str):
            for character in part:
                track.step(character)
        else:
            track.loop(Loop.ACROSS if part is Run.ACROSS else Loop.WITHIN)


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


# -- patterns whose only many-wildcard, if any, stands last: token ``i`` is compared with step ``i``, and that is all


class Positional:
    """What an ``Automaton`` does, for a track by tokens that loops in its last state only; linear in the tokens."""

    __slots__ = ("_count", "_literals", "_steps", "_tail")

    def __init__(self, track: Track) -> None:
        self._steps = tuple(track.steps)
        self._count = len(self._steps)
        self._literals = [(index, step) for index, step in enumerate(self._steps) if step is not ONE]
        self._tail = track.loops[-1] is Loop.ACROSS

    @staticmethod
    def fits(track: Track) -> bool:
        """Whether a track has the shape for it."""
        return track.separator is None and Loop.ACROSS not in track.loops[:-1]

    def accepts(self, tokens: Sequence[str]) -> bool:
        """Whether the track can be walked from start to end with these tokens."""
        if len(tokens) < self._count if self._tail else len(tokens) != self._count:
            return False
        for index, literal in self._literals:  # noqa: SIM110 - all() costs a third of the whole match
            if tokens[index] != literal:
                return False
        return True

    def covers(self, other: Track) -> bool:
        """Whether this track can follow every walk of the other, which must have the same shape."""
        count = len(other.steps)
        if count < self._count or (not self._tail and (count > self._count or other.loops[-1] is Loop.ACROSS)):
            return False
        return all(other.steps[index] == literal for index, literal in self._literals)


# -- one pattern against one subject


Matcher = Callable[[Subject], bool]


def make_matcher(nodes: Nodes, dialect: Dialect) -> Matcher:
    """The fastest way to ask whether a subject of the dialect is matched: by position, by tokens or by characters."""
    if has_glob(nodes):
        by_characters = Automaton(lay(nodes, dialect.separator)).accepts
        return lambda subject: by_characters(subject.folded)
    track = lay(nodes, None)
    accepts = Positional(track).accepts if Positional.fits(track) else Automaton(track).accepts
    if dialect.ignores_case:
        return lambda subject: accepts(dialect.split(subject.folded))
    if dialect.hides_dollar and isinstance(nodes[0], One | Many):
        return lambda subject: not subject.text.startswith("$") and accepts(subject.tokens)
    return lambda subject: accepts(subject.tokens)
