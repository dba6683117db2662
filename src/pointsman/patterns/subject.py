"""Subjects: the names that messages are sent under."""

from __future__ import annotations

from pointsman.errors import ConversionError, PatternError, SubjectError
from pointsman.patterns.dialect import NATS, Dialect, find_dialect


class Subject:
    """A subject that its dialect allows.

    >>> Subject("orders.electronics.laptops").tokens
    ('orders', 'electronics', 'laptops')

    Raises ``SubjectError`` that names the character or token and the reason. Immutable; safe between threads.
    """

    __slots__ = ("dialect", "text", "tokens")

    text: str
    dialect: Dialect
    tokens: tuple[str, ...]

    def __init__(self, text: str, dialect: str | Dialect = NATS) -> None:
        chosen = dialect if isinstance(dialect, Dialect) else find_dialect(dialect)
        check_text(text, chosen, "subject", SubjectError)
        tokens = text.split(chosen.separator) if text else chosen.split(text)
        _check_subject(text, tokens, chosen)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "dialect", chosen)
        object.__setattr__(self, "tokens", tuple(tokens))

    @classmethod
    def of(cls, subject: str | Subject, dialect: Dialect) -> Subject:
        """The subject in this dialect; one of another dialect is read anew, by its text."""
        if isinstance(subject, Subject):
            same = subject.dialect is dialect or subject.dialect == dialect
            return subject if same else cls(subject.text, dialect)
        return cls(subject, dialect)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Subject cannot be changed")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Subject({self.text!r}, dialect={self.dialect.name!r})"

    def __eq__(self, other: object) -> bool:
        """Equal when the dialect makes no difference between the two."""
        if not isinstance(other, Subject):
            return NotImplemented
        return self.dialect == other.dialect and self.folded == other.folded

    def __hash__(self) -> int:
        return hash((self.dialect.name, self.folded))

    def __reduce__(self) -> tuple[type[Subject], tuple[str, str]]:
        return Subject, (self.text, self.dialect.name)

    @property
    def folded(self) -> str:
        """The text as its dialect compares it."""
        return self.dialect.fold(self.text)

    def convert(self, target: str | Dialect) -> Subject:
        """The same tokens, written in another dialect.

        >>> str(Subject("orders.new").convert("mqtt"))
        'orders/new'

        Raises ``ConversionError`` (``cannot-carry``) when the other dialect has no way to write them.
        """
        to = find_dialect(target)
        if to == self.dialect:
            return self
        for token in self.tokens:
            if to.separator in token:
                raise self._cannot_carry(to, f"the token {token!r} holds its separator {to.separator!r}")
        if not self.tokens and not to.empty_subject:
            raise self._cannot_carry(to, "it has no subject of zero tokens")
        try:
            return Subject(to.separator.join(self.tokens), to)
        except SubjectError as error:
            raise self._cannot_carry(to, error.problem) from error

    def _cannot_carry(self, to: Dialect, why: str) -> ConversionError:
        return ConversionError("cannot-carry", f"{to} cannot carry the {self.dialect} subject {self.text!r}: {why}")


TextError = type[SubjectError] | type[PatternError]


def check_text(text: object, dialect: Dialect, kind: str, error: TextError) -> None:
    """What holds for subjects and patterns alike; ``kind`` says which of them the text is."""
    if not isinstance(text, str):
        raise error("not-text", f"a {kind} is a str, not {type(text).__name__}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as cause:
        raise error(
            "not-utf8",
            f"the character {cause.start + 1} of the {dialect} {kind} is a lone surrogate",
            text=text,
            column=cause.start + 1,
        ) from None
    if not text and not dialect.empty_subject:
        raise error("empty", f"{dialect.with_article} {kind} cannot be empty", text=text, column=1)
    if dialect.maximum_bytes is not None and size > dialect.maximum_bytes:
        raise error(
            "too-long", f"in {dialect}, a {kind} has at most {dialect.maximum_bytes} bytes; this one has {size}"
        )
    if dialect.ascii_only and not text.isascii():
        column = next(index for index, character in enumerate(text, 1) if not character.isascii())
        raise _forbidden(error, text, column, f"{dialect.with_article} {kind} is plain ASCII")
    _check_characters(text, dialect.forbidden, dialect, kind, error)
    for name in dialect.reserved:
        found = text.lower().find(name)
        if found >= 0:
            raise error(
                "reserved-name",
                f"{name!r} is reserved and may stand nowhere in {dialect.with_article} {kind}",
                text=text,
                column=found + 1,
            )
    if not dialect.empty_tokens:
        _check_no_empty_token(text, dialect, kind, error)


def _check_no_empty_token(text: str, dialect: Dialect, kind: str, error: TextError) -> None:
    column = 1
    for number, token in enumerate(text.split(dialect.separator), 1):
        if not token:
            raise error("empty-token", f"token {number} of the {dialect} {kind} is empty", text=text, column=column)
        column += len(token) + 1


def _check_subject(text: str, tokens: list[str], dialect: Dialect) -> None:
    _check_characters(text, dialect.forbidden_in_subject, dialect, "subject", SubjectError)
    if dialect.forbidden_tokens:
        column = 1
        for number, token in enumerate(tokens, 1):
            if token in dialect.forbidden_tokens:
                raise SubjectError(
                    "wildcard-in-subject",
                    f"token {number} of the {dialect} subject is the wildcard {token!r}",
                    text=text,
                    column=column,
                )
            column += len(token) + 1
    if not dialect.white_space_at_ends and text != text.strip():
        column = 1 if text[0].isspace() else len(text)
        raise _forbidden(
            SubjectError, text, column, f"{dialect.with_article} subject neither begins nor ends with white space"
        )


def _check_characters(text: str, forbidden: frozenset[str], dialect: Dialect, kind: str, error: TextError) -> None:
    if forbidden.isdisjoint(text):
        return
    column, character = next((index, each) for index, each in enumerate(text, 1) if each in forbidden)
    if character in (dialect.one, dialect.many):
        problem = f"{character!r} is a wildcard and may stand nowhere in {dialect.with_article} subject"
        raise error("wildcard-in-subject", problem, text=text, column=column)
    raise _forbidden(error, text, column, f"{dialect.with_article} {kind} may not hold it")


def _forbidden(error: TextError, text: str, column: int, why: str) -> SubjectError | PatternError:
    return error("forbidden-character", f"character {column}, {text[column - 1]!r}: {why}", text=text, column=column)
