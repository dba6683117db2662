"""What ``pointsman broker run`` does: a broker, its input, its upkeep and what is shown of it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import signal
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import typer

from pointsman.broker.broker import Broker
from pointsman.broker.publish import DESTINATION, Published
from pointsman.errors import InputError, PointsmanError
from pointsman.store.message import Sizes
from pointsman.table.tools.messages_file import Line, read_messages

GROUP = 500
"""Messages that are published at a time, and so share a sync."""
UPKEEP = 60.0
"""Seconds between prunings."""
QUIET = 3
"""How often in a row nothing is left to do before that is believed."""


class Order(NamedTuple):
    """What was asked for."""

    table: Path
    queue: Path
    environment: str | None
    handlers: tuple[str, ...]
    messages: Path | None
    principal: str | None
    until_idle: bool
    retain: float
    as_json: bool


class Counts:
    """What was published, and what was not."""

    def __init__(self) -> None:
        self.published = 0
        self.deliveries = 0
        self.refused = 0
        self.duplicates = 0
        self.started = time.monotonic()

    def take(self, outcome: Published | BaseException) -> None:
        """Counts one."""
        if isinstance(outcome, Published):
            self.published += not outcome.duplicate
            self.duplicates += outcome.duplicate
            self.deliveries += outcome.deliveries
        elif isinstance(outcome, PointsmanError):
            self.refused += 1
        else:
            raise outcome

    def as_dict(self) -> dict[str, int]:
        """For ``--json``."""
        return {
            "published": self.published,
            "deliveries": self.deliveries,
            "refused": self.refused,
            "duplicates": self.duplicates,
        }


async def run_broker(order: Order) -> int:
    """Runs until it is told to stop, or is idle if that was asked for; 1 if some message was refused."""
    modules = [_import(name) for name in order.handlers]
    broker = Broker(
        order.queue,
        order.table,
        functions={name: each for module in modules for name, each in getattr(module, "functions", {}).items()},
        environment=order.environment,
        folder=order.queue.absolute().parent,
    )
    for module in modules:
        module.register(broker)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    counts = Counts()
    async with broker:
        _say(order, "started", table=broker.table.hash, queue=str(order.queue))
        showing = asyncio.create_task(_show(broker, counts))
        keeping = asyncio.create_task(_keep(broker, order.retain))
        try:
            if order.messages is not None:
                await _publish(broker, order, counts, stop)
            if order.until_idle:
                await _until_idle(broker, stop)
            else:
                await stop.wait()
        finally:
            for task in (showing, keeping):
                task.cancel()
            await asyncio.gather(showing, keeping, return_exceptions=True)
        sizes = await asyncio.to_thread(broker.queue.size)
    _say(order, "stopped", **counts.as_dict(), **sizes._asdict())
    return 1 if counts.refused else 0


def _import(name: str) -> Any:
    """The module of handlers; its ``functions`` are those that the table names."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise InputError("bad-usage", f"--handlers {name}: {error}") from error
    finally:
        sys.path.pop(0)
    if not callable(getattr(module, "register", None)):
        raise InputError("bad-usage", f"--handlers {name}: the module has no function 'register'")
    return module


async def _publish(broker: Broker, order: Order, counts: Counts, stop: asyncio.Event) -> None:
    path = Path("/dev/stdin") if str(order.messages) == "-" else order.messages
    lines: Iterator[Line] = read_messages(path or Path("-"), received=True, new=True)
    while not stop.is_set():
        group = await asyncio.to_thread(lambda: list(islice(lines, GROUP)))
        if not group:
            return
        sent = (broker.publish(line.message, principal=line.principal or order.principal) for line in group)
        for line, outcome in zip(group, await asyncio.gather(*sent, return_exceptions=True), strict=True):
            counts.take(outcome)
            if isinstance(outcome, PointsmanError):
                _say(order, "refused", line=line.number, code=outcome.code, problem=outcome.problem)


async def _until_idle(broker: Broker, stop: asyncio.Event) -> None:
    """Waits until nothing is left that this process delivers, several times in a row."""
    quiet = 0
    while quiet < QUIET and not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.1)
        left = await asyncio.to_thread(lambda: sum(map(_left, broker.sizes().values())))
        quiet = 0 if left else quiet + 1


def _left(sizes: Sizes) -> int:
    return sizes.ready + sizes.leased + sizes.delayed


async def _keep(broker: Broker, retain: float) -> None:
    while True:
        await asyncio.sleep(UPKEEP)
        await asyncio.to_thread(broker.queue.prune, retain)


async def _show(broker: Broker, counts: Counts) -> None:
    """Shows on a terminal, once a second, what waits where."""
    if not sys.stderr.isatty():
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        while True:
            sizes = await asyncio.to_thread(broker.sizes)
            live.update(_table(broker, counts, sizes), refresh=True)
            await asyncio.sleep(1)


def _table(broker: Broker, counts: Counts, sizes: dict[str, Sizes]) -> Any:
    from rich.table import Table

    seconds = time.monotonic() - counts.started
    title = (
        f"table {broker.table.hash[:12]}   {seconds:.0f} s   "
        f"published {counts.published:,}   refused {counts.refused:,}"
    )
    shown = Table(title=title, title_justify="left")
    shown.add_column("delivers to")
    for column in ("ready", "delayed", "in flight", "dead"):
        shown.add_column(column, justify="right")
    for name, size in sizes.items():
        numbers = (size.ready, size.delayed, size.leased, size.dead)
        shown.add_row(name.removeprefix(DESTINATION), *(f"{number:,}" for number in numbers))
    return shown


def _say(order: Order, what: str, **fields: Any) -> None:
    """One line about what happened: JSON for machines."""
    if order.as_json:
        typer.echo(json.dumps({"event": what, **fields}, ensure_ascii=False))
    else:
        typer.echo(f"{what}: " + ", ".join(f"{name} {value}" for name, value in fields.items()))
