"""The routing table over Arrow columns: a whole batch of messages decided at once, in this process.

    subjects ─▶ plans ─▶ questions ─▶ batch ─▶ route
    stretches ─▶ turns, choices ─▶ batch

Work is done once for each different value: access once per principal and subject, translation and matching once per
subject, a plan once per set of routes that match; a predicate is asked only for the rows in which it can matter.
"""

from pointsman.columns.route import Routed, route

__all__ = ["Routed", "route"]
