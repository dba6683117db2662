"""A pattern laid out as a track: a straight line of states, a step between each two, and loops at the states.

    orders . # . paid          (amqp, by tokens)

              any token
               ┌───┐
        orders ▼   │  paid
    (0) ──────▶ (1) ──────▶ (2)

Matching, containment and intersection are all asked of tracks. By tokens, a step is a literal token or ``ONE``.
Patterns with a wildcard inside a token (zato) are laid by characters, where the separator is a character too; there
``**`` as a whole segment is the optional block *any characters, then a separator*:

    a . ** . b                 (zato, by characters)

                    any character
                       ┌───┐
        a        .     ▼   │   .          b
    (0) ──▶ (1) ─────▶ (2) ──────▶ (3) ──────▶ (4)
                 └─── skips the block ─▲

``saturated`` gives each loop of a track the most freedom it can have without changing what matches; after that,
containment can be decided by walking one track with the other's symbols (see ``algebra.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

from pointsman.patterns.nodes import Glob, Literal, Many, Nodes, One, Run, without_repeated_many


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
