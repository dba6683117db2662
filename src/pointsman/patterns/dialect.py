"""The four dialects, as data. Everything that differs between them is a field here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pointsman.errors import PatternError

ASCII_WHITE_SPACE = frozenset(" \t\n\v\f\r")


class Partial(Enum):
    """What a wildcard sign means when it is only a part of a token."""

    LITERAL = "literal"
    GLOB = "glob"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one family of brokers writes subjects and patterns, and what it allows in them."""

    name: str
    separator: str
    one: str
    """The wildcard for one token."""
    many: str
    """The wildcard for many tokens."""
    many_minimum: int
    """How many tokens the many-wildcard stands for at the least."""
    many_last_only: bool
    partial: Partial
    ignores_case: bool
    empty_tokens: bool
    """Whether a token may be empty."""
    empty_subject: bool
    """Whether the empty text is a subject (of zero tokens)."""
    maximum_bytes: int | None
    ascii_only: bool
    forbidden: frozenset[str]
    """Characters that neither a subject nor a pattern may hold."""
    forbidden_in_subject: frozenset[str]
    """Characters that a pattern may hold and a subject may not."""
    forbidden_tokens: frozenset[str]
    """Whole tokens that a pattern may hold and a subject may not."""
    white_space_at_ends: bool
    """Whether a subject may begin or end with white space."""
    reserved: tuple[str, ...]
    """Names, in lower case, that may stand nowhere in a subject or a pattern."""
    hides_dollar: bool
    """Whether a leading wildcard passes over subjects that begin with ``$``."""

    def __str__(self) -> str:
        return self.name

    @property
    def with_article(self) -> str:
        """The name in a sentence: a nats pattern, an mqtt pattern."""
        return f"{'an' if self.name[0] in 'am' else 'a'} {self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return find_dialect, (self.name,)

    def fold(self, text: str) -> str:
        """The text as it is compared."""
        return text.lower() if self.ignores_case else text

    def split(self, text: str) -> list[str]:
        """The tokens of a text; the empty text has none where it is a subject of its own."""
        return text.split(self.separator) if text or not self.empty_subject else []


NATS = Dialect(
    name="nats",
    separator=".",
    one="*",
    many=">",
    many_minimum=1,
    many_last_only=True,
    partial=Partial.LITERAL,
    ignores_case=False,
    empty_tokens=False,
    empty_subject=False,
    maximum_bytes=None,
    ascii_only=False,
    forbidden=ASCII_WHITE_SPACE | {"\0"},
    forbidden_in_subject=frozenset(),
    forbidden_tokens=frozenset({"*", ">"}),
    white_space_at_ends=True,
    reserved=(),
    hides_dollar=False,
)

AMQP = Dialect(
    name="amqp",
    separator=".",
    one="*",
    many="#",
    many_minimum=0,
    many_last_only=False,
    partial=Partial.LITERAL,
    ignores_case=False,
    empty_tokens=True,
    empty_subject=True,
    maximum_bytes=255,
    ascii_only=False,
    forbidden=frozenset(),
    forbidden_in_subject=frozenset(),
    forbidden_tokens=frozenset(),
    white_space_at_ends=True,
    reserved=(),
    hides_dollar=False,
)

ZATO = Dialect(
    name="zato",
    separator=".",
    one="*",
    many="**",
    many_minimum=0,
    many_last_only=False,
    partial=Partial.GLOB,
    ignores_case=True,
    empty_tokens=True,
    empty_subject=False,
    maximum_bytes=200,
    ascii_only=True,
    forbidden=frozenset(),
    forbidden_in_subject=frozenset({"#"}),
    forbidden_tokens=frozenset(),
    white_space_at_ends=False,
    reserved=("zato", "zpsk"),
    hides_dollar=False,
)

MQTT = Dialect(
    name="mqtt",
    separator="/",
    one="+",
    many="#",
    many_minimum=0,
    many_last_only=True,
    partial=Partial.INVALID,
    ignores_case=False,
    empty_tokens=True,
    empty_subject=False,
    maximum_bytes=65_535,
    ascii_only=False,
    forbidden=frozenset({"\0"}),
    forbidden_in_subject=frozenset({"+", "#"}),
    forbidden_tokens=frozenset(),
    white_space_at_ends=True,
    reserved=(),
    hides_dollar=True,
)

DIALECTS: dict[str, Dialect] = {each.name: each for each in (NATS, AMQP, ZATO, MQTT)}


def find_dialect(name: str | Dialect) -> Dialect:
    """The dialect of that name.

    >>> find_dialect("mqtt").separator
    '/'

    Raises ``PatternError`` (``unknown-dialect``) for any other name.
    """
    if isinstance(name, Dialect):
        return name
    try:
        return DIALECTS[name]
    except (KeyError, TypeError):
        raise PatternError("unknown-dialect", f"there is no dialect {name!r}") from None
