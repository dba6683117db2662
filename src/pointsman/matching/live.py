"""The live index: patterns come and go while subjects are matched."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from threading import Lock
from typing import Any, Generic, TypeVar, cast

from pointsman.matching.live_cache import ResultCache
from pointsman.matching.live_changes import ChangeLog
from pointsman.matching.live_shelf import Shelf
from pointsman.matching.live_stats import IndexStats
from pointsman.patterns.dialect import NATS, Dialect, find_dialect
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject

Value = TypeVar("Value", bound=Hashable)

CACHE_SIZE = 10_000
LOG_SIZE = 64
"""How many changes a cached result can be compared with; an older one is worked out anew."""


class SubjectIndex(Generic[Value]):
    """Patterns with values, and the values whose patterns match a subject.

    >>> index = SubjectIndex()
    >>> index.add("orders.*.laptops", "stock"), index.add("orders.>", "audit")
    (True, True)
    >>> sorted(index.match("orders.eu.laptops"))
    ['audit', 'stock']

    A pattern is a text in the dialect of the index (``nats`` if none is given) or a ``Pattern`` in any dialect; several
    dialects can stand in one index. Patterns of the same tokens (after folding, where the dialect ignores case) are one
    pattern. Patterns that only mean the same, such as ``#`` and ``#.#``, are kept apart, so that taking one away leaves
    the other.

    ``cache_size`` results are kept, those used last; 0 keeps none. A change never leaves a result behind that it made
    wrong, and does not throw away one that it does not concern. Which were used last is known to half of the size: one
    of the last ``cache_size // 2`` subjects is never forgotten for another.

    Threads: any number may call anything at any time, on CPython with its global interpreter lock. Changes are made one
    after the other, under a lock that ``match`` does not take. A call of ``match`` sees every change that had returned
    when it began. Of those made meanwhile it may see some and not others, each of them wholly or not at all; only a
    pair that is taken away and added again meanwhile can come twice. A call that raises leaves the index as it was. A
    value must not call the index while it is hashed, compared or finalised: the lock might be its own thread's.
    """

    __slots__ = ("_cache", "_given", "_lock", "_log", "_shelves", "dialect")

    dialect: Dialect
    """In which texts given as patterns are read."""

    def __init__(self, dialect: str | Dialect | None = None, cache_size: int = CACHE_SIZE) -> None:
        self._given = None if dialect is None else find_dialect(dialect)
        self.dialect = self._given or NATS
        self._lock = Lock()
        # One for each dialect that has patterns; replaced as a whole, for readers go through it.
        self._shelves: tuple[Shelf, ...] = ()
        self._log = ChangeLog(LOG_SIZE)
        self._cache = ResultCache(cache_size)

    def add(self, pattern: str | Pattern, value: Value) -> bool:
        """Adds a pair of a pattern and a value; False when it was there already.

        Raises ``PatternError`` for a text that is no pattern, and ``TypeError`` for a value that cannot be hashed.
        """
        parsed = self._pattern(pattern)
        hash(value)
        with self._lock:
            shelf = self._shelf(parsed)
            if shelf is None:
                shelf = Shelf(parsed.dialect)
                shelf.add(parsed, value)
                self._shelves = (*self._shelves, shelf)
            elif not shelf.add(parsed, value):
                return False
            self._log.record(parsed)
            self._cache.age()
        return True

    def remove(self, pattern: str | Pattern, value: Value) -> bool:
        """Takes a pair away; False when it was not there.

        Raises ``PatternError`` for a text that is no pattern, and ``TypeError`` for a value that cannot be hashed.
        """
        parsed = self._pattern(pattern)
        hash(value)
        with self._lock:
            shelf = self._shelf(parsed)
            if shelf is None or not shelf.holds(parsed, value):
                return False
            last = shelf.pairs == 1
            if last:
                self._shelves = tuple(each for each in self._shelves if each is not shelf)
            else:
                shelf.remove(parsed, value)
            # Without the last pattern of its dialect, a text may not be a subject any more.
            self._log.record(parsed, to_all=last)
            self._cache.age()
        return True

    def match(self, subject: str | Subject) -> list[Value]:
        """The values of all patterns that match, one for each pair, in no particular order; the list is the caller's.

        A text, or that of a ``Subject``, is matched by the patterns of each dialect in which it is a valid subject.
        Raises ``SubjectError`` when it is valid neither in the dialect of the index nor in one that it holds patterns
        of. The cost without the cache is linear in the tokens times the nodes of patterns they lead to.
        """
        try:
            # What is no text is no key either, or cannot be one; so it need not be asked which it is.
            return [*self._cache.fresh[subject]]  # type: ignore[index]
        except (KeyError, TypeError):
            pass
        return self._work_out(subject if type(subject) is str else self._text(subject))

    def _work_out(self, text: str) -> list[Any]:
        """What a match gives when nothing is known, or only what held before the last changes."""
        cache = self._cache
        # Read first, and in this order: of a change that comes from now on, the result may know nothing.
        fresh = cache.fresh
        version = self._log.version
        if cache.size and (known := cache.find(text)) is not None:
            since, values = known
            if since == version or self._log.spares(text, since, version):
                cache.keep(fresh, text, version, values)
                return [*values]
            cache.drop(text)
        cache.misses += 1
        found: list[Any] = []
        valid = False
        for shelf in self._shelves:
            valid |= shelf.collect(text, found)
        if not valid:
            Subject(text, self.dialect)
        if cache.size:
            cache.keep(fresh, text, version, tuple(found))
        return found

    def __len__(self) -> int:
        """The number of pairs."""
        return sum(shelf.pairs for shelf in self._shelves)

    def __contains__(self, pair: tuple[str | Pattern, Value]) -> bool:
        """Whether the pair of a pattern and a value is there."""
        pattern, value = pair
        parsed = self._pattern(pattern)
        with self._lock:
            shelf = self._shelf(parsed)
            return shelf is not None and shelf.holds(parsed, value)

    def __iter__(self) -> Iterator[tuple[Pattern, Value]]:
        """The pairs as they are now; later changes do not show."""
        with self._lock:
            return iter([pair for shelf in self._shelves for pair in shelf.all_pairs()])

    def stats(self) -> IndexStats:
        """How large the index is and what its cache does; approximate while other threads work with it."""
        with self._lock:
            return IndexStats.of(self._shelves, self._cache)

    def _pattern(self, pattern: str | Pattern) -> Pattern:
        return pattern if isinstance(pattern, Pattern) else Pattern(pattern, self._given)

    def _shelf(self, pattern: Pattern) -> Shelf | None:
        return next((shelf for shelf in self._shelves if shelf.dialect.name == pattern.dialect.name), None)

    def _text(self, subject: object) -> str:
        """A plain text; what is no text is refused as by ``Subject``."""
        text = subject.text if isinstance(subject, Subject) else subject
        return str.__str__(text) if isinstance(text, str) else Subject(cast(str, text), self.dialect).text
