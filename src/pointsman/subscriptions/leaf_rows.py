"""Matchers and number comparisons as rows: their text, their key, and a number for what they are."""

from __future__ import annotations

from typing import Any, TypeAlias

from pointsman.conditions import Matcher, NumberComparison
from pointsman.subscriptions.gates import Leaf

LeafRow: TypeAlias = tuple[str | float, str, int]
"""The pattern or the number, the key (empty for any), and the kind."""

COMPLETE, PARTIAL = "complete", "partial"
FORMS: tuple[Any, ...] = (COMPLETE, PARTIAL, "=", "<>", "<", "<=", ">", ">=")
"""A kind is twice the place of its form here, and one more for any key; what is in files is by these places."""
_PLACES = {form: 2 * place for place, form in enumerate(FORMS)}


def leaf_row(leaf: Leaf) -> LeafRow:
    """The row of a leaf.

    >>> leaf_row(Matcher("title", "Dark*", partial=True)), leaf_row(NumberComparison(None, ">", 5))
    (('Dark*', 'title', 2), (5.0, '', 13))
    """
    key = leaf.key
    if isinstance(leaf, Matcher):
        kind = 2 if leaf.partial else 0
        return (leaf.pattern, "", kind + 1) if key is None else (leaf.pattern, key, kind)
    kind = _PLACES[leaf.operator]
    return (leaf.number, "", kind + 1) if key is None else (leaf.number, key, kind)


def row_leaf(text: str | float, key: str, kind: int) -> Leaf:
    """The leaf of a row."""
    form, any_key = divmod(kind, 2)
    known = None if any_key else key
    if isinstance(text, str):
        return Matcher(known, text, FORMS[form] == PARTIAL)
    return NumberComparison(known, FORMS[form], text)
