"""Says so when compiled code has to be made first, which takes a while and happens once."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from pointsman.matching import kernel_build, kernel_match

logger = logging.getLogger("pointsman")


@cache
def announce() -> None:
    """Logs a warning if the matching code is not in numba's cache on disk; once in a process."""
    if not all(_is_cached(function) for function in (kernel_build.build_trie, kernel_match.find_lists)):
        logger.warning("compiling the matching code for this machine; this happens once and takes about half a minute")


def _is_cached(function: object) -> bool:
    """Whether some form of the function is on disk. Numba has no public way to ask."""
    store = getattr(function, "_cache", None)
    index = getattr(getattr(store, "_cache_file", None), "_index_path", None)
    return index is None or Path(index).exists()
