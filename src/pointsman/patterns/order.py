"""Zato's order of evaluation: alphabetical, wildcards last."""

from __future__ import annotations

from collections.abc import Iterable

from pointsman.patterns.pattern import Pattern

AFTER_EVERY_CHARACTER = "\U0010ffff"


def evaluation_key(text: str) -> str:
    """Sorts texts as Zato evaluates them: case-folded, character by character, ``*`` after every other one."""
    return text.lower().replace("*", AFTER_EVERY_CHARACTER)


def evaluation_order(patterns: Iterable[Pattern]) -> list[Pattern]:
    """The patterns in the order in which they are tried; the first that matches decides.

    >>> names = ["orders.*", "orders.urgent", "alerts.**", "alerts.critical"]
    >>> [str(each) for each in evaluation_order(Pattern(name, "zato") for name in names)]
    ['alerts.critical', 'alerts.**', 'orders.urgent', 'orders.*']
    """
    return sorted(patterns, key=lambda pattern: evaluation_key(pattern.text))
