"""What one transaction changes of matchers and patterns, as those take it up that have them in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pointsman.patterns.pattern import Pattern
from pointsman.store.journal import Journal
from pointsman.subscriptions.leaf_rows import LeafRow


@dataclass(slots=True)
class Noted:
    """The change, by the numbers of matchers and patterns; what is new may be gone again."""

    matchers: list[tuple[LeafRow, int]] = field(default_factory=list)
    """New ones."""
    gates: list[int] = field(default_factory=list)
    """Matchers by which subscriptions are found; they may have been so before."""
    gone_matchers: list[tuple[LeafRow, int]] = field(default_factory=list)
    patterns: list[tuple[Pattern, int]] = field(default_factory=list)
    """New ones."""
    gone_patterns: list[tuple[Pattern, int]] = field(default_factory=list)


Notes: TypeAlias = Journal[Noted]
