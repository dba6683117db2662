"""Running tests of the broker: each in an event loop of its own, which must be left as it was found."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

PATIENCE = 60
"""Seconds after which a test that hangs is ended."""
Given = ParamSpec("Given")


def in_loop(test: Callable[Given, Coroutine[Any, Any, None]]) -> Callable[Given, None]:
    """Runs the test in an event loop, and fails if a task is left."""

    async def run(*given: Given.args, **named: Given.kwargs) -> None:
        await asyncio.wait_for(test(*given, **named), PATIENCE)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left

    @functools.wraps(test)
    def wrapped(*given: Given.args, **named: Given.kwargs) -> None:
        asyncio.run(run(*given, **named))

    return wrapped


async def until(holds: Callable[[], bool]) -> None:
    """Waits until something holds; ``PATIENCE`` ends it otherwise."""
    while not holds():
        await asyncio.sleep(0.001)
