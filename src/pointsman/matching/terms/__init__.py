"""Whom a message reaches by its metadata.

``glob`` and ``lexemes`` say what a condition means, ``reference`` what conditions are and ``model`` how they stand in
columns; ``TermIndex`` finds the matchers that hold for columns of messages, ``GroupIndex`` the subscriptions they
fulfil, ``ConditionIndex`` both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pointsman.matching.terms.glob import glob_matches
from pointsman.matching.terms.lexemes import lexemes
from pointsman.matching.terms.reference import Group, Matcher, Subscription

if TYPE_CHECKING:
    from pointsman.matching.terms.conditions import ConditionIndex
    from pointsman.matching.terms.groups import GroupIndex
    from pointsman.matching.terms.index import TermIndex

__all__ = [
    "ConditionIndex",
    "Group",
    "GroupIndex",
    "Matcher",
    "Subscription",
    "TermIndex",
    "glob_matches",
    "lexemes",
]

_MODULES = {
    "ConditionIndex": "conditions",
    "GroupIndex": "groups",
    "TermIndex": "index",
}


def __getattr__(name: str) -> Any:
    """What needs pyarrow or numba is imported when it is used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
