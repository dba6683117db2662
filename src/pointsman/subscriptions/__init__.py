"""Wildcard subscriptions: kept by the million in the file of the queue, found by what a message is and says.

    gates, deciding, limits ─▶ model ─▶ trees, leaf_rows ─▶ interning ─▶ storing ─▶ registry
                                        statements, control ─▶ rows, pages ───────────▲

``WildcardSubscription`` (``model.py``) is what one is, ``Registry`` (``registry.py``) keeps them, and ``pages.py`` is
what an index needs of those that are kept.
"""

from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry

__all__ = ["Registry", "WildcardSubscription"]
