"""What a metadata condition says, for one message, slowly and plainly: the reference for the indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pointsman.errors import PatternError
from pointsman.matching.terms.glob import glob_matches
from pointsman.matching.terms.lexemes import lexemes


@dataclass(frozen=True, slots=True)
class Matcher:
    """A pattern for the value under a key, or under any key (``None``): for all of it, or for one lexeme of it."""

    key: str | None
    pattern: str
    partial: bool = False

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether some value of the metadata fits.

        >>> Matcher("title", "?eutrino", partial=True).holds({"title": "Twin Sterile Neutrino Dark Matter"})
        True
        """
        values = metadata.values() if self.key is None else [metadata[self.key]] if self.key in metadata else []
        return any(self.fits(value) for value in values)

    def fits(self, value: str) -> bool:
        """Whether the value, or one of its lexemes, fits the pattern."""
        texts = lexemes(value) if self.partial else [value]
        return any(glob_matches(self.pattern, text) for text in texts)


def enough(every: bool, matched: int, total: int) -> bool:
    """Whether a group holds of which so many distinct matchers do; an empty group never does."""
    return 0 < total == matched if every else matched > 0


@dataclass(frozen=True, slots=True)
class Group:
    """Matchers of which all, or at least one, must hold."""

    all: bool = False
    matchers: tuple[Matcher, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.all, bool):
            raise TypeError(f"Group(all, matchers): all is a bool, not {type(self.all).__name__}")
        object.__setattr__(self, "matchers", tuple(self.matchers))

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether enough of the distinct matchers hold."""
        distinct = set(self.matchers)
        return enough(self.all, sum(matcher.holds(metadata) for matcher in distinct), len(distinct))


@dataclass(frozen=True, slots=True)
class Subscription:
    """What must hold and what must not. Raises ``PatternError`` (``empty``) when it includes nothing."""

    includes: Group
    excludes: Group = Group()

    def __post_init__(self) -> None:
        if not self.includes.matchers:
            raise PatternError("empty", "a subscription must include something")

    def matches(self, metadata: Mapping[str, str]) -> bool:
        """Whether the includes hold and the excludes do not."""
        return self.includes.holds(metadata) and not self.excludes.holds(metadata)

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether it matches: a subscription is a condition like others."""
        return self.matches(metadata)
