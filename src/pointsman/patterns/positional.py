"""Patterns whose only many-wildcard, if any, stands last: token ``i`` is compared with step ``i``, and that is all."""

from __future__ import annotations

from collections.abc import Sequence

from pointsman.patterns.track import ONE, Loop, Track


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
