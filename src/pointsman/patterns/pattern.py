"""Patterns: subjects with wildcards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.errors import PatternError
from pointsman.patterns import algebra, captures
from pointsman.patterns.algebra import is_void
from pointsman.patterns.automaton import Matcher, make_matcher
from pointsman.patterns.captures import Capture
from pointsman.patterns.dialect import NATS, Dialect, Partial, find_dialect, find_foreign_wildcard
from pointsman.patterns.nodes import Glob, Literal, Nodes, parse_nodes, write_nodes
from pointsman.patterns.specificity import Specificity, specificity
from pointsman.patterns.subject import Subject

if TYPE_CHECKING:
    from pointsman.patterns.convert import Conversion

INTERSECTION_LIMIT = 100
"""How many patterns an intersection may take unless the caller says otherwise."""


class Pattern:
    """A pattern in one of the dialects ``nats``, ``amqp``, ``zato`` and ``mqtt``, parsed once.

    >>> Pattern("orders.*.laptops", dialect="amqp").matches("orders.electronics.laptops")
    True

    Two patterns are equal when they are of one dialect and match the same subjects; ``str()`` gives the text back.
    Raises ``PatternError`` that names the character or token and the reason. Without a dialect it is ``nats``, and a
    wildcard of another dialect is an error too. Immutable; safe between threads.
    """

    __slots__ = ("_matcher", "dialect", "nodes", "text")

    text: str
    dialect: Dialect
    nodes: Nodes
    _matcher: Matcher | None

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
        subject = Subject.of(subject, self.dialect)
        return captures.captures(self.nodes, subject) if self.matches(subject) else None

    def fill(self, captured: tuple[Capture, ...]) -> str:
        """The subject that has these captures: the way back from ``captures``.

        Raises ``PatternError`` (``captures-mismatch``) when they do not fit the wildcards.
        """
        return captures.fill(self.nodes, captured, self.dialect)

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
    for name, value in (("text", text), ("dialect", dialect), ("nodes", nodes), ("_matcher", None)):
        object.__setattr__(pattern, name, value)
