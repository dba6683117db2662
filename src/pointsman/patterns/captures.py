"""What the wildcards of a pattern stand for in a subject.

Where a subject can be read in several ways, each wildcard from left to right takes as little as it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import cast

from pointsman.errors import PatternError
from pointsman.patterns.automaton import ONE, Automaton, Loop, Positional, Track, lay
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import (
    Glob,
    Literal,
    Many,
    Node,
    Nodes,
    One,
    Run,
    has_glob,
    wildcards_of,
    without_repeated_many,
)
from pointsman.patterns.subject import Subject

Capture = str | tuple[str, ...]
"""A text for a wildcard of one token or of characters; a tuple of tokens for a wildcard of many."""

Span = tuple[int, int] | None
"""From where to where a wildcard reaches; None for an optional block that is not there."""


def captures(nodes: Nodes, subject: Subject) -> tuple[Capture, ...]:
    """One capture for each wildcard, in their order. The pattern must match the subject."""
    distinct = without_repeated_many(nodes)
    taken = _by_characters(distinct, subject) if has_glob(nodes) else _by_tokens(distinct, subject)
    return tuple(_for_each_many(nodes, taken))


def _by_characters(nodes: Nodes, subject: Subject) -> Iterator[Capture]:
    separator = subject.dialect.separator
    spans = _Walk(lay(nodes, separator), subject.folded).spans()
    for node in nodes:
        for _ in range(wildcards_of(node)):
            span = next(spans)
            text = None if span is None else subject.text[slice(*span)]
            if isinstance(node, Many):
                yield () if text is None else tuple(text.split(separator))
            else:
                yield text or ""


def _by_tokens(nodes: Nodes, subject: Subject) -> Iterator[Capture]:
    track = lay(nodes, None)
    if Positional.fits(track):
        spans = _positional_spans(nodes, len(subject.tokens))
    else:
        spans = _Walk(track, [subject.dialect.fold(token) for token in subject.tokens]).spans()
    for node in nodes:
        if not isinstance(node, Literal):
            start, stop = cast("tuple[int, int]", next(spans))
            if isinstance(node, Many):
                yield subject.tokens[start:stop]
            else:
                yield from subject.tokens[start:stop]


def _positional_spans(nodes: Nodes, count: int) -> Iterator[Span]:
    for index, node in enumerate(nodes):
        if isinstance(node, One):
            yield index, index + 1
        elif isinstance(node, Many):
            yield index, count


def _for_each_many(nodes: Nodes, taken: Iterator[Capture]) -> Iterator[Capture]:
    """Of many-wildcards that stand together, the last one takes what there is."""
    for node, following in zip_longest(nodes, nodes[1:]):
        if isinstance(node, Many) and isinstance(following, Many):
            yield ()
        else:
            for _ in range(wildcards_of(node)):
                yield next(taken)


class _Walk:
    """The one walk along a track in which no loop goes on when the rest could follow already."""

    def __init__(self, track: Track, symbols: Sequence[str]) -> None:
        self.track = track
        self.symbols = symbols
        self.open = Automaton(track).remaining(symbols)
        """For each position, the states from which the rest of the symbols leads to an end."""

    def spans(self) -> Iterator[Span]:
        """Where each wildcard of the track reaches, in their order."""
        state = position = 0
        while True:
            if state in self.track.optional and self._is_open(state + 1, position):
                yield None
                state += 1
            start = position
            while not self._may_leave(state, position):
                position += 1
            if self.track.loops[state] is not Loop.NONE:
                yield start, position
            if position == len(self.symbols) and state in self.track.ends:
                break
            if self.track.steps[state] is ONE:
                yield position, position + 1
            position += 1
            state += 1
        if state < len(self.track.steps):
            yield None

    def _is_open(self, state: int, position: int) -> bool:
        return self.open[position] >> state & 1 == 1

    def _may_leave(self, state: int, position: int) -> bool:
        if position == len(self.symbols):
            return state in self.track.ends
        if state == len(self.track.steps):
            return False
        step = self.track.steps[state]
        if step is not ONE and step != self.symbols[position]:
            return False
        entered = state + 1
        return self._is_open(entered, position + 1) or (
            entered in self.track.optional and self._is_open(entered + 1, position + 1)
        )


def fill(nodes: Nodes, given: Sequence[Capture], dialect: Dialect) -> str:
    """The subject that has these captures.

    Raises ``PatternError`` (``captures-mismatch``) when they do not fit the wildcards.
    """
    needed = sum(wildcards_of(node) for node in nodes)
    if len(given) != needed:
        raise PatternError("captures-mismatch", f"the pattern has {needed} wildcards; {len(given)} captures were given")
    waiting = iter(given)
    tokens = [token for node in nodes for token in _filled(node, waiting, dialect)]
    if not dialect.empty_tokens and "" in tokens:
        raise PatternError("captures-mismatch", f"{dialect} has no empty tokens; the captures {given} make one")
    return dialect.separator.join(tokens)


def _filled(node: Node, waiting: Iterator[Capture], dialect: Dialect) -> Iterator[str]:
    match node:
        case Literal(text):
            yield text
        case One():
            yield _token(next(waiting), dialect)
        case Many():
            capture = next(waiting)
            if isinstance(capture, str):
                raise PatternError("captures-mismatch", f"a wildcard of many tokens takes a tuple, not {capture!r}")
            yield from (_token(token, dialect) for token in capture)
        case Glob(parts):
            texts = (part if isinstance(part, str) else _part(part, next(waiting), dialect) for part in parts)
            yield "".join(texts)


def _part(run: Run, capture: Capture, dialect: Dialect) -> str:
    if run is Run.ACROSS and isinstance(capture, str):
        return capture
    return _token(capture, dialect)


def _token(capture: Capture, dialect: Dialect) -> str:
    if not isinstance(capture, str) or dialect.separator in capture:
        raise PatternError("captures-mismatch", f"a wildcard of one token takes the text of one, not {capture!r}")
    return capture
