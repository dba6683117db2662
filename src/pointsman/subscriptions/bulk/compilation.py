"""Says so when the compiled code of imports has to be made first, which takes a while and happens once."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from pointsman.subscriptions.bulk.uses import find_uses

logger = logging.getLogger("pointsman")


@cache
def announce() -> None:
    """Logs a warning if the code is not in numba's cache on disk; once in a process."""
    # Numba has no public way to ask.
    store = getattr(find_uses, "_cache", None)
    index = getattr(getattr(store, "_cache_file", None), "_index_path", None)
    if index is not None and not Path(index).exists():
        logger.warning("compiling the code of imports for this machine; this happens once and takes some seconds")
