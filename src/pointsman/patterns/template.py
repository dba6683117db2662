"""Templates: from the subject that a pattern matched to a new subject.

A token of a template is a literal, ``$1`` or ``{{function(…)}}``; in the last place, the wildcard for many tokens
stands for what that wildcard of the pattern matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import random
from typing import NoReturn, cast

from pointsman.errors import PatternError, SubjectError, TemplateError
from pointsman.patterns import template
from pointsman.patterns.nodes import Glob, Literal, Many, parse_nodes, wildcards_of
from pointsman.patterns.pattern import Capture, Pattern
from pointsman.patterns.subject import Subject

Tokens = list[str]
Random = Callable[[], float]
"""Gives a number from 0 up to, and not including, 1."""


def partition(text: str, buckets: int) -> Tokens:
    """The number of the bucket that the text falls into, by its 32-bit FNV-1a hash.

    >>> partition("foo", 10)
    ['3']
    """
    value = 2_166_136_261
    for byte in text.encode():
        value = (value ^ byte) * 16_777_619 & 0xFFFF_FFFF
    return [str(value % buckets)]


def random_bucket(random: Random, buckets: int) -> Tokens:
    """The number of a bucket, each as likely as the other.

    >>> random_bucket(lambda: 0.99, 10)
    ['9']
    """
    return [str(min(int(random() * buckets), buckets - 1))]


def split(token: str, delimiter: str) -> Tokens:
    """The pieces between the delimiters; empty ones are left out.

    >>> split("-abc-def--ghi-", "-")
    ['abc', 'def', 'ghi']
    """
    return [piece for piece in token.split(delimiter) if piece]


def split_from_left(token: str, position: int) -> Tokens:
    """Two tokens, the first of that length; a token that is too short stays whole."""
    return [token[:position], token[position:]] if 0 < position < len(token) else [token]


def split_from_right(token: str, position: int) -> Tokens:
    """Two tokens, the last of that length; a token that is too short stays whole."""
    return [token[:-position], token[-position:]] if 0 < position < len(token) else [token]


def slice_from_left(token: str, size: int) -> Tokens:
    """Tokens of that size, the last one may be shorter.

    >>> slice_from_left("1234567890", 3)
    ['123', '456', '789', '0']
    """
    if not 0 < size < len(token):
        return [token]
    return [token[start : start + size] for start in range(0, len(token), size)]


def slice_from_right(token: str, size: int) -> Tokens:
    """Tokens of that size, the first one may be shorter.

    >>> slice_from_right("1234567890", 3)
    ['1', '234', '567', '890']
    """
    if not 0 < size < len(token):
        return [token]
    first = len(token) % size
    head = [token[:first]] if first else []
    return head + [token[start : start + size] for start in range(first, len(token), size)]


def left(token: str, size: int) -> Tokens:
    """The first characters; a token that is shorter stays whole."""
    return [token[:size]] if 0 < size < len(token) else [token]


def right(token: str, size: int) -> Tokens:
    """The last characters; a token that is shorter stays whole."""
    return [token[-size:]] if 0 < size < len(token) else [token]


BY_NUMBER: dict[str, Callable[[str, int], Tokens]] = {
    "splitfromleft": split_from_left,
    "splitfromright": split_from_right,
    "slicefromleft": slice_from_left,
    "slicefromright": slice_from_right,
    "left": left,
    "right": right,
}
"""Functions of (wildcard, number)."""

KEEPS_EVERYTHING = frozenset({"wildcard", "splitfromleft", "splitfromright", "slicefromleft", "slicefromright"})
"""Functions whose result still holds every character of the token."""

NAMES: Sequence[str] = ("wildcard", "partition", "random", "split", *BY_NUMBER)


# -- reads the text of a template into pieces, one for each of its tokens


CALL = re.compile(r"\{\{\s*(\w+)\s*\((.*)\)\s*\}\}")
NUMBER = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a template."""

    make: Callable[[Subject, tuple[Capture, ...], Random], Tokens]
    """The tokens it stands for, from the subject, the captures of the pattern and a source of chance."""
    uses: tuple[int, ...] = ()
    """The numbers of the wildcards it uses."""
    keeps: bool = False
    """Whether those can be read back from the tokens it makes."""
    is_open: bool = False
    """Whether it may make more or fewer tokens than one."""
    is_random: bool = False
    """Whether it asks the source of chance."""


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A wildcard that has a number."""

    place: int
    """Its place among the captures."""
    many: bool
    """Whether it is one for many tokens."""
    is_open: bool
    """Whether it may stand for more or fewer tokens than one."""


def numbered(source: Pattern) -> list[Wildcard]:
    """The wildcards that templates can refer to, in their order. NATS gives its many-wildcard no number."""
    found: list[Wildcard] = []
    place = 0
    for node in source.nodes:
        many = isinstance(node, Many)
        is_open = many or (isinstance(node, Glob) and node.crosses)
        for _ in range(wildcards_of(node)):
            if not (many and source.dialect.many_minimum):
                found.append(Wildcard(place, many, is_open))
            place += 1
    return found


class Reader:
    """Reads one template."""

    def __init__(self, text: str, source: Pattern) -> None:
        self.text = text
        self.source = source
        self.dialect = source.dialect
        self.numbered = numbered(source)
        self.column = 1

    def pieces(self) -> list[Piece]:
        """The pieces, in their order. Raises ``TemplateError`` with the column of the token that is wrong."""
        *front, last = self.text.split(self.dialect.separator)
        found = []
        for token in front:
            found.append(self._piece(token, is_last=False))
            self.column += len(token) + 1
        found.append(self._piece(last, is_last=True))
        if self._needs_tail and last != self.dialect.many:
            self._fail("tail-mismatch", f"the pattern ends in {self.dialect.many!r}, the template does not")
        return found

    @property
    def _needs_tail(self) -> bool:
        """NATS: a many-wildcard has no number, so the template has to end in one, too."""
        return bool(self.dialect.many_minimum) and self._has_tail

    @property
    def _has_tail(self) -> bool:
        return bool(self.source.nodes) and isinstance(self.source.nodes[-1], Many)

    def _piece(self, token: str, *, is_last: bool) -> Piece:
        if token == self.dialect.many and is_last:
            return self._tail()
        if token.startswith("$") and NUMBER.fullmatch(token[1:]):
            return self._wildcard(int(token[1:]))
        if "{{" in token or "}}" in token:
            return self._call(token)
        return self._literal(token)

    def _tail(self) -> Piece:
        if not self._has_tail:
            self._fail("tail-mismatch", f"the template ends in {self.dialect.many!r}, the pattern does not")
        uses = () if self._needs_tail else (len(self.numbered),)
        return Piece(lambda _, captured, __: list(captured[-1]), uses, keeps=True, is_open=True)

    def _wildcard(self, number: int) -> Piece:
        found = self._find(number)
        place = found.place
        if found.many:
            return Piece(lambda _, captured, __: list(captured[place]), (number,), keeps=True, is_open=True)
        return Piece(lambda _, captured, __: [_text(captured[place])], (number,), keeps=True, is_open=found.is_open)

    def _literal(self, token: str) -> Piece:
        around = f"x{self.dialect.separator}{token}{self.dialect.separator}x"
        try:
            is_literal = isinstance(parse_nodes(around, self.dialect)[1], Literal)
            Subject(around, self.dialect)
        except (PatternError, SubjectError) as error:
            is_literal = not error.code.startswith("wildcard")
            if is_literal:
                problem = f"{token!r} cannot be a token of {self.dialect.with_article} subject ({error.code})"
                self._fail("invalid-result", problem)
        if not is_literal:
            self._fail("wildcard-in-template", f"{token!r} is a wildcard; nothing says what it stands for")
        return Piece(lambda *_: [token])

    def _call(self, token: str) -> Piece:
        call = CALL.fullmatch(token)
        name = call[1].lower() if call else ""
        if not call or name not in template.NAMES:
            self._fail("unknown-function", f"{token!r} is no call of a function, which would be a whole token")
        arguments = re.split(r",\s*", call[2])
        if name == "wildcard":
            self._count(name, arguments, 1)
            return self._wildcard(self._number(arguments[0]))
        if name == "partition":
            return self._partition(arguments)
        if name == "random":
            self._count(name, arguments, 1)
            buckets = self._buckets(name, arguments[0])
            return Piece(lambda _, __, random: template.random_bucket(random, buckets), is_random=True)
        self._count(name, arguments, 2)
        number = self._number(arguments[0])
        found = self._find(number)
        place = found.place
        if found.many:
            self._fail("bad-arguments", f"{name} works on one token; wildcard {number} stands for many")
        if name == "split":
            return self._split(number, place, arguments[1])
        size = self._number(arguments[1])
        function = template.BY_NUMBER[name]
        return Piece(
            lambda _, captured, __: function(_text(captured[place]), size),
            (number,),
            keeps=name in template.KEEPS_EVERYTHING,
            is_open=name in template.KEEPS_EVERYTHING,
        )

    def _partition(self, arguments: list[str]) -> Piece:
        buckets = self._buckets("partition", arguments[0])
        numbers = [self._number(argument) for argument in arguments[1:]]
        places = [self._place(number) for number in numbers]
        separator = self.dialect.separator

        def make(subject: Subject, captured: tuple[Capture, ...], _: Random) -> Tokens:
            texts = (subject.tokens[0] if place is None else captured[place] for place in places if captured)
            key = "".join(text if isinstance(text, str) else separator.join(text) for text in texts)
            return template.partition(key if places else subject.text, buckets)

        return Piece(make, tuple(number for number in numbers if number))

    def _place(self, number: int) -> int | None:
        """The place of a wildcard that a partition goes by. nats-server takes 0 for the first token, which is None."""
        return None if number == 0 and self.dialect.many_minimum else self._find(number).place

    def _buckets(self, name: str, argument: str) -> int:
        buckets = self._number(argument)
        if buckets < 1:
            self._fail("bad-arguments", f"{name} needs at least one bucket, got {buckets}")
        return buckets

    def _split(self, number: int, place: int, delimiter: str) -> Piece:
        if not delimiter or " " in delimiter or self.dialect.separator in delimiter:
            self._fail("bad-arguments", f"{delimiter!r} cannot be the delimiter of split")
        return Piece(lambda _, captured, __: template.split(_text(captured[place]), delimiter), (number,), is_open=True)

    def _find(self, number: int) -> Wildcard:
        if not 1 <= number <= len(self.numbered):
            count = len(self.numbered)
            have = f"{count} wildcard{'' if count == 1 else 's'}" if count else "no wildcard"
            self._fail("unknown-wildcard", f"there is no wildcard {number}; {self.source.text!r} has {have}")
        return self.numbered[number - 1]

    def _number(self, argument: str) -> int:
        if not NUMBER.fullmatch(argument):
            self._fail("bad-arguments", f"{argument!r} is not a number")
        return int(argument)

    def _count(self, name: str, arguments: list[str], count: int) -> None:
        given = [] if arguments == [""] else arguments
        if len(given) != count:
            wanted = f"{count} argument{'' if count == 1 else 's'}"
            self._fail("bad-arguments", f"{name} takes {wanted}; {len(given)} were given")

    def _fail(self, code: str, problem: str) -> NoReturn:
        raise TemplateError(code, problem, text=self.text, column=self.column)


def _text(capture: Capture) -> str:
    return cast("str", capture)


class Template:
    """What the matches of a pattern are turned into; checked against the pattern when it is written.

    >>> rule = Template("public.graph.notifications.$1", Pattern("internal.graph.events.*"))
    >>> rule.apply("internal.graph.events.node_added")
    'public.graph.notifications.node_added'

    Wildcards are numbered from 1, from left to right. In ``nats`` these are the ``*``, as in NATS itself; in the other
    dialects the wildcards for many tokens are numbered too. An empty template leaves the subject as it is. Raises
    ``TemplateError``, with its column, for what could not work. Safe between threads.
    """

    __slots__ = ("_pieces", "source", "text")

    text: str
    source: Pattern
    _pieces: list[Piece]

    def __init__(self, text: str, source: Pattern) -> None:
        self.text = text
        self.source = source
        self._pieces = Reader(text, source).pieces() if text else []

    def __repr__(self) -> str:
        return f"Template({self.text!r}, {self.source!r})"

    def apply(self, subject: str | Subject, random: Random = random) -> str | None:
        """The new subject; None when the pattern does not match this one.

        ``random`` gives numbers from 0 to 1 for ``{{random(n)}}``.

        Raises ``SubjectError`` when the subject is not valid, and ``TemplateError`` (``invalid-result``) when what
        comes out is not one, which takes an odd subject (a token of nothing but delimiters to split by, say).
        """
        dialect = self.source.dialect
        subject = Subject.of(subject, dialect)
        captured = self.source.captures(subject)
        if captured is None:
            return None
        if not self.text:
            return subject.text
        made = dialect.separator.join(
            token for piece in self._pieces for token in piece.make(subject, captured, random)
        )
        try:
            Subject(made, dialect)
        except SubjectError as error:
            problem = f"{self.text!r} makes {made!r} of {subject.text!r}, which is no subject: {error.problem}"
            raise TemplateError("invalid-result", problem, text=self.text) from error
        return made

    @property
    def is_random(self) -> bool:
        """Whether the same subject may become another one each time."""
        return any(piece.is_random for piece in self._pieces)

    @property
    def loses(self) -> tuple[int, ...]:
        """The numbers of the wildcards that cannot always be read back from what the template makes.

        >>> Template("bar.$2", Pattern("foo.*.*")).loses
        (1,)

        A wildcard is kept when its whole text is there in a known place. Between two pieces of open length no place
        is known.
        """
        if not self.text:
            return ()
        open_places = [place for place, piece in enumerate(self._pieces) if piece.is_open]
        kept: set[int] = set()
        for place, piece in enumerate(self._pieces):
            hidden = len(open_places) > 1 and open_places[0] <= place <= open_places[-1]
            if piece.keeps and not hidden:
                kept.update(piece.uses)
        return tuple(number for number in range(1, len(numbered(self.source)) + 1) if number not in kept)
