"""Templates: from the subject that a pattern matched to a new subject.

A token of a template is a literal, ``$1`` or ``{{function(…)}}``; in the last place, the wildcard for many tokens
stands for what that wildcard of the pattern matched.
"""

from __future__ import annotations

from random import random

from pointsman.errors import SubjectError, TemplateError
from pointsman.patterns.functions import Random
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject
from pointsman.patterns.template_reader import Piece, Reader, numbered


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
