"""Patterns: subjects with wildcards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from pointsman.errors import PatternError
from pointsman.patterns import algebra
from pointsman.patterns.algebra import is_void
from pointsman.patterns.automaton import ONE, Automaton, Loop, Matcher, Track, lay, make_matcher
from pointsman.patterns.dialect import NATS, Dialect, Partial, find_dialect, find_foreign_wildcard
from pointsman.patterns.nodes import (
    Glob,
    Literal,
    Many,
    Node,
    Nodes,
    One,
    Run,
    has_glob,
    parse_nodes,
    wildcards_of,
    without_repeated_many,
    write_nodes,
)
from pointsman.patterns.specificity import Specificity, specificity
from pointsman.patterns.subject import Subject

if TYPE_CHECKING:
    from pointsman.patterns.convert import Conversion


INTERSECTION_LIMIT = 100
"""How many patterns an intersection may take unless the caller says otherwise."""
Capture = str | tuple[str, ...]
"""A text for a wildcard of one token or of characters; a tuple of tokens for a wildcard of many."""

Span = tuple[int, int] | None
"""From where to where a wildcard reaches; None for an optional block that is not there."""


class Pattern:
    """A pattern in one of the dialects ``nats``, ``amqp``, ``zato`` and ``mqtt``, parsed once.

    >>> Pattern("orders.*.laptops", dialect="amqp").matches("orders.electronics.laptops")
    True

    Two patterns are equal when they are of one dialect and match the same subjects; ``str()`` gives the text back.
    Raises ``PatternError`` that names the character or token and the reason. Without a dialect it is ``nats``, and a
    wildcard of another dialect is an error too. Immutable; safe between threads.
    """

    __slots__ = ("_matcher", "_reader", "dialect", "nodes", "text")

    text: str
    dialect: Dialect
    nodes: Nodes
    _matcher: Matcher | None
    _reader: Callable[[Subject], tuple[Capture, ...] | None] | None

    def __init__(self, text: str, dialect: str | Dialect | None = None) -> None:
        chosen = NATS if dialect is None else find_dialect(dialect)
        nodes = parse_nodes(text, chosen)
        if dialect is None and (foreign := find_foreign_wildcard(text, chosen)) is not None:
            raise foreign.as_error(text)
        _assign(self, text, chosen, nodes)

    @staticmethod
    def of(nodes: Nodes, dialect: Dialect) -> Pattern:
        """The pattern of these nodes. Limits of length are not checked: what an intersection says may be longer."""
        return _restore(write_nodes(nodes, dialect), dialect, nodes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Pattern cannot be changed")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Pattern({self.text!r}, dialect={self.dialect.name!r})"

    def __reduce__(self) -> tuple[object, tuple[str, Dialect, Nodes]]:
        return _restore, (self.text, self.dialect, self.nodes)

    def __eq__(self, other: object) -> bool:
        """Whether both match the same subjects."""
        if not isinstance(other, Pattern):
            return NotImplemented
        if self.dialect != other.dialect:
            return False
        if self.nodes == other.nodes:
            return True
        return self._signature == other._signature and self.contains(other) and other.contains(self)

    def __hash__(self) -> int:
        return hash((self.dialect.name, self._signature))

    @property
    def _signature(self) -> str | None:
        """The literal text in its order: alike in all patterns that match the same subjects."""
        if is_void(self.nodes, self.dialect):
            return None
        # With globs, tokens are no more than characters between separators.
        glue = "" if self.dialect.partial is Partial.GLOB else self.dialect.separator
        texts = []
        for node in self.nodes:
            if isinstance(node, Literal):
                texts.append(node.text)
            elif isinstance(node, Glob):
                texts.extend(part for part in node.parts if isinstance(part, str))
        return glue.join(texts)

    @property
    def is_literal(self) -> bool:
        """Whether there is no wildcard, so that only the subject of the same text matches."""
        return all(isinstance(node, Literal) for node in self.nodes)

    @property
    def specificity(self) -> Specificity:
        """Sorts patterns, the more specific first.

        A pattern without a wildcard for many tokens comes before one with; then fewer wildcards come first; then the
        one whose first wildcard stands later.

        >>> Pattern("orders.order.*").specificity < Pattern("orders.*.created").specificity
        True
        """
        return specificity(self.nodes)

    def matches(self, subject: str | Subject) -> bool:
        """Whether the subject is one that this pattern describes.

        The cost is linear in the tokens of the subject times those of the pattern. Raises ``SubjectError`` when the
        subject is not valid in this pattern's dialect.
        """
        matcher = self._matcher
        if matcher is None:
            matcher = make_matcher(self.nodes, self.dialect)
            object.__setattr__(self, "_matcher", matcher)
        return matcher(Subject.of(subject, self.dialect))

    def captures(self, subject: str | Subject) -> tuple[Capture, ...] | None:
        """What each wildcard stands for, from left to right; None when the subject does not match.

        A wildcard for one token, or inside one, gives a text, a wildcard for many a tuple of tokens. Where there is a
        choice, each wildcard from left to right takes as little as it can.

        >>> Pattern("orders.*.>").captures("orders.eu.books.new")
        ('eu', ('books', 'new'))
        """
        reader = self._reader
        if reader is None:
            reader = make_reader(self.nodes, self.dialect)
            object.__setattr__(self, "_reader", reader)
        if not (isinstance(subject, Subject) and subject.dialect is self.dialect):
            subject = Subject.of(subject, self.dialect)
        return reader(subject)

    def fill(self, captured: tuple[Capture, ...]) -> str:
        """The subject that has these captures: the way back from ``captures``.

        Raises ``PatternError`` (``captures-mismatch``) when they do not fit the wildcards.
        """
        return fill(self.nodes, captured, self.dialect)

    def contains(self, other: Pattern) -> bool:
        """Whether every subject that the other pattern matches is matched by this one, too.

        >>> Pattern("a.>").contains(Pattern("a.*.c"))
        True

        Exact. Raises ``PatternError`` (``mixed-dialects``) for a pattern of another dialect.
        """
        self._check_same_dialect(other)
        return algebra.contains(self.nodes, other.nodes, self.dialect)

    def intersects(self, other: Pattern) -> bool:
        """Whether some subject is matched by both.

        Exact. Raises ``PatternError`` (``mixed-dialects``) for a pattern of another dialect.
        """
        self._check_same_dialect(other)
        return algebra.intersects(self.nodes, other.nodes, self.dialect)

    def intersection(self, other: Pattern, *, limit: int = INTERSECTION_LIMIT) -> frozenset[Pattern]:
        """Patterns that together match exactly the subjects that both match; none when there is no such subject.

        >>> sorted(map(str, Pattern("a.#", dialect="amqp").intersection(Pattern("#.a", dialect="amqp"))))
        ['a', 'a.#.a']

        Raises ``LimitError`` when it takes more than ``limit`` patterns to say it, or more than 100 endings of
        patterns at once to find it; and ``PatternError`` (``mixed-dialects``) for a pattern of another dialect.
        """
        self._check_same_dialect(other)
        found = algebra.intersection(self.nodes, other.nodes, self.dialect, limit)
        return frozenset(Pattern.of(nodes, self.dialect) for nodes in found)

    def convert(self, target: str | Dialect) -> Conversion:
        """The same pattern in another dialect, with a report of what that cannot carry."""
        from pointsman.patterns.convert import convert

        return convert(self, find_dialect(target))

    def _check_same_dialect(self, other: Pattern) -> None:
        if self.dialect != other.dialect:
            raise PatternError(
                "mixed-dialects",
                f"{self.text!r} is {self.dialect.with_article} pattern, {other.text!r} is of {other.dialect}",
            )


def _restore(text: str, dialect: Dialect, nodes: Nodes) -> Pattern:
    pattern = Pattern.__new__(Pattern)
    _assign(pattern, text, dialect, nodes)
    return pattern


def _assign(pattern: Pattern, text: str, dialect: Dialect, nodes: Nodes) -> None:
    for name, value in (("text", text), ("dialect", dialect), ("nodes", nodes), ("_matcher", None), ("_reader", None)):
        object.__setattr__(pattern, name, value)


# -- captures: where a subject can be read in several ways, each wildcard from left to right takes as little as it can


def make_reader(nodes: Nodes, dialect: Dialect) -> Callable[[Subject], tuple[Capture, ...] | None]:
    """What reads the captures of a subject of the dialect, one for each wildcard; None where it does not match."""
    by_position = not has_glob(nodes) and not any(isinstance(node, Many) for node in nodes[:-1])
    if by_position and not dialect.ignores_case and not dialect.hides_dollar:
        return _PositionalReader(nodes).read
    matches = make_matcher(nodes, dialect)
    return lambda subject: captures(nodes, subject) if matches(subject) else None


class _PositionalReader:
    """For patterns whose only many-wildcard, if any, stands last: token ``i`` is that of node ``i``."""

    def __init__(self, nodes: Nodes) -> None:
        self._literals = [(place, node.text) for place, node in enumerate(nodes) if isinstance(node, Literal)]
        self._ones = [place for place, node in enumerate(nodes) if isinstance(node, One)]
        last = nodes[-1] if nodes else None
        self._tail = isinstance(last, Many)
        self._count = len(nodes) - self._tail
        self._least = self._count + (last.minimum if isinstance(last, Many) else 0)

    def read(self, subject: Subject) -> tuple[Capture, ...] | None:
        tokens = subject.tokens
        if len(tokens) < self._least if self._tail else len(tokens) != self._count:
            return None
        for place, text in self._literals:
            if tokens[place] != text:
                return None
        taken: list[Capture] = [tokens[place] for place in self._ones]
        if self._tail:
            taken.append(tokens[self._count :])
        return tuple(taken)


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
    spans = _Walk(lay(nodes, None), [subject.dialect.fold(token) for token in subject.tokens]).spans()
    for node in nodes:
        if not isinstance(node, Literal):
            start, stop = cast("tuple[int, int]", next(spans))
            if isinstance(node, Many):
                yield subject.tokens[start:stop]
            else:
                yield from subject.tokens[start:stop]


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
