"""The routing table over Arrow columns: a whole batch of messages decided at once, in this process.

    receive ─▶ subjects ─▶ plans ─▶ questions ─▶ batch ─▶ routed
                                        balance ──▲

    message_files ─▶ files ─▶ row_files, output      a batch from files to files

Work is done once for each different value: access once per principal and subject, translation and matching once per
subject, a plan once per set of routes that match; a predicate is asked only for the rows in which it can matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pointsman._util.extras import require

if TYPE_CHECKING:
    from pointsman.columns.routed import Routed, route

__all__ = ["Routed", "route"]


def __getattr__(name: str) -> Any:
    # numpy, numba and pyarrow are imported when somebody routes.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("numpy", "numba", "pyarrow")
    from pointsman.columns import routed

    return getattr(routed, name)
