"""What a queue can be told, checked when it is opened."""

from __future__ import annotations

import random as chance
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pointsman.errors import InputError
from pointsman.store.message import check_number
from pointsman.store.settle import Backoff, Random, check_backoff

DEFAULT_BACKOFF = Backoff()
MEBIBYTE = 1024 * 1024
LONGEST_WAIT = 2_000_000
"""Seconds; SQLite counts milliseconds in 32 bits."""
Main = Literal["always", "unclaimed", "never"]
Durability = Literal["full", "normal"]


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a queue; times are in seconds.

    Raises ``InputError`` (``bad-setting``) for what cannot be.
    """

    dialect: str | None = None
    """Of the keys: that of the file, or ``amqp`` for a new one."""
    durability: Durability = "full"
    """``full`` survives a loss of power; ``normal`` may lose the last transactions then, and nothing when a process is
    killed."""
    lease: float = 60.0
    max_attempts: int = 5
    backoff: Backoff = DEFAULT_BACKOFF
    maxsize: int | None = None
    """Unfinished messages at most; None for as many as the disk holds."""
    dedupe: float = 3600.0
    """For how long a second message of the same id is taken for the first; 0 for not at all."""
    retention: float | None = 7 * 86_400.0
    """For how long messages that are done are kept, for ``retry`` and ``replay``; None for until they are pruned. Dead
    letters and what is archived are always kept."""
    main: Main = "always"
    """Which messages the queue itself keeps for ``pop``: always all, those that no subscription gets, or never any."""
    max_bytes: int = 16 * MEBIBYTE
    busy_timeout: float = 10.0
    clock: Callable[[], float] = time.time
    random: Random = chance.random

    def __post_init__(self) -> None:
        times = (("lease", 0.001, 1e9), ("dedupe", 0, 1e9), ("retention", 0, 1e9), ("busy_timeout", 0, LONGEST_WAIT))
        for name, least, most in times:
            value = getattr(self, name)
            if name == "retention" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < most:
                problem = f"{name} must be a number of seconds from {least} to {most:,.0f}, got {value!r:.100}"
                raise InputError("bad-setting", problem)
        for name, least in (("max_attempts", 1), ("max_bytes", 0), ("maxsize", 1)):
            value = getattr(self, name)
            if name != "maxsize" or value is not None:
                check_number(value, name, least)
        if self.durability not in ("full", "normal"):
            raise InputError("bad-setting", f"durability is {self.durability!r}, not 'full' or 'normal'")
        if self.main not in ("always", "unclaimed", "never"):
            raise InputError("bad-setting", f"main is {self.main!r}, not 'always', 'unclaimed' or 'never'")
        check_backoff(self.backoff)
