"""The live index of matchers: they come and go while messages are matched, each change at a cost of its own only."""

from __future__ import annotations

from collections.abc import Iterable

from pointsman.matching.terms.glob import ANY_NUMBER, ANY_ONE
from pointsman.matching.terms.live_known import KnownTexts
from pointsman.matching.terms.live_wild import Wildcards
from pointsman.matching.terms.reference import Matcher


class LiveTermIndex:
    """Matchers with numbers, and the numbers of those that hold for the values, or the lexemes, under a key.

    >>> index = LiveTermIndex()
    >>> index.add(Matcher("title", "?eutrino", partial=True), 7)
    >>> index.add(Matcher("title", "Dark*"), 9)
    >>> index.find("title", ["Twin", "Neutrino"], partial=True), index.find("title", ["Dark Matter"], partial=False)
    ([7], [9])

    Equal matchers have one number, and different ones different numbers. A matcher without wildcards is found by the
    hash of its text; one with wildcards by its literals, see ``live_wild.py``. A change takes no longer when there are
    a million others. Not safe between threads: whoever changes it must be alone with it.
    """

    __slots__ = ("_shelves",)

    def __init__(self) -> None:
        self._shelves: dict[tuple[str | None, bool], _Shelf] = {}

    def add(self, matcher: Matcher, number: int) -> None:
        """Adds a matcher; to add it again changes nothing."""
        place = (matcher.key, matcher.partial)
        shelf = self._shelves.get(place)
        if shelf is None:
            shelf = self._shelves[place] = _Shelf()
        if is_wild(matcher.pattern):
            shelf.wild.add(matcher.pattern, number)
            shelf.known.change(matcher.pattern)
        else:
            shelf.exact[matcher.pattern] = number

    def remove(self, matcher: Matcher, number: int) -> bool:
        """Takes a matcher away; False if it was not there under this number."""
        place = (matcher.key, matcher.partial)
        shelf = self._shelves.get(place)
        if shelf is None:
            return False
        if is_wild(matcher.pattern):
            removed = shelf.wild.remove(matcher.pattern, number)
            shelf.known.change(matcher.pattern)
        else:
            removed = shelf.exact.get(matcher.pattern) == number
            if removed:
                del shelf.exact[matcher.pattern]
        if not shelf.exact and shelf.wild.is_empty:
            del self._shelves[place]
        return removed

    def has(self, key: str | None, *, partial: bool) -> bool:
        """Whether there are matchers of this kind for this very key; ``None`` is that of matchers for any key."""
        return (key, partial) in self._shelves

    def find(self, key: str | None, texts: Iterable[str], *, partial: bool) -> list[int]:
        """The numbers of the matchers for this very key that match one of the texts, ascending, each once.

        The texts are values or, for ``partial`` matchers, lexemes. Matchers for any key have the key ``None``.
        """
        shelf = self._shelves.get((key, partial))
        if shelf is None:
            return []
        found: list[int] = []
        exact, known = shelf.exact, shelf.known
        wild = None if shelf.wild.is_empty else shelf.wild
        for text in texts:
            number = exact.get(text)
            if number is not None:
                found.append(number)
            if wild is not None:
                numbers = known.get(text)
                if numbers is None:
                    numbers = []
                    wild.find(text, numbers)
                    known.keep(text, numbers)
                found += numbers
        return found if len(found) < 2 else sorted(set(found))


class _Shelf:
    """The matchers of one key and kind."""

    __slots__ = ("exact", "known", "wild")

    def __init__(self) -> None:
        self.exact: dict[str, int] = {}
        self.wild = Wildcards()
        self.known = KnownTexts()


def is_wild(pattern: str) -> bool:
    """Whether the pattern has wildcards."""
    return ANY_NUMBER in pattern or ANY_ONE in pattern
