"""Numbers about a live index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pointsman.matching.live_cache import ResultCache
from pointsman.matching.live_shelf import Shelf


@dataclass(frozen=True, slots=True)
class IndexStats:
    """How large an index is, and what its cache does."""

    pairs: int
    patterns: int
    """Each counted once, however many values it has."""
    exact: int
    """Patterns without a wildcard."""
    wildcards: int
    """Patterns with wildcards for whole tokens only."""
    globs: int
    """Patterns with a wildcard inside a token."""
    nodes: int
    """Of the tries."""
    cache_entries: int
    cache_misses: int
    """Matches that were worked out; all others were answered by the cache, which is too quick to count them."""
    cache_dropped: int
    """Those of the misses that found a result which a change since then may have made wrong."""

    @classmethod
    def of(cls, shelves: Sequence[Shelf], cache: ResultCache) -> IndexStats:
        """The numbers of these parts of an index."""
        patterns, exact, globs, pairs, nodes = (
            sum(getattr(shelf, name) for shelf in shelves) for name in ("patterns", "exact", "globs", "pairs", "nodes")
        )
        return cls(
            pairs=pairs,
            patterns=patterns,
            exact=exact,
            wildcards=patterns - exact - globs,
            globs=globs,
            nodes=nodes,
            cache_entries=cache.entries,
            cache_misses=cache.misses,
            cache_dropped=cache.dropped,
        )
