"""A clock that goes only when it is told to."""

from __future__ import annotations


class Clock:
    """Seconds since 1970, as a queue asks for them."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """What it says now."""
        return self.now

    def forward(self, seconds: float) -> None:
        """Lets time pass; a negative number sets the clock back."""
        self.now += seconds
