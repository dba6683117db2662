"""``pointsman subscriptions create``, ``update``, ``delete``, ``enable`` and ``disable``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json
from pointsman.cli.queue_open import QueueFile, open_queue
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.subscriptions.model import WildcardSubscription

Given = Annotated[
    str,
    typer.Argument(
        metavar="SUBSCRIPTION",
        help="A subscription as JSON, or a file of one; - is standard input.",
        show_default=False,
    ),
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of subscriptions.", show_default=False)]


def create(file: QueueFile, subscription: Given, json: AsJson = False) -> None:
    """Store a new subscription; the queue's file is made if there is none."""
    from pointsman.subscriptions.registry import Registry

    given = _read(subscription)
    with open_queue(file, new=True) as queue:
        number = Registry(queue.store).create(given)
    if json:
        show_json({"number": number, "id": given.id})
    else:
        typer.echo(given.id)


def update(file: QueueFile, subscription: Given, json: AsJson = False) -> None:
    """Make the subscription of the same id what is given."""
    from pointsman.subscriptions.registry import Registry

    given = _read(subscription)
    with open_queue(file) as queue:
        Registry(queue.store).update(given)
    if json:
        show_json({"id": given.id})
    else:
        typer.echo(given.id)


def delete(file: QueueFile, ids: Ids, json: AsJson = False) -> int:
    """Delete subscriptions, and the matchers that nobody else has. Ends with 1 if one of them was not there."""
    from pointsman.subscriptions.registry import Registry

    with open_queue(file) as queue:
        registry = Registry(queue.store)
        deleted = {id: registry.delete(id) for id in ids}
    if json:
        show_json(deleted)
    else:
        for id, was_there in deleted.items():
            typer.echo(f"{'deleted' if was_there else 'not there'}  {id}")
    return 0 if all(deleted.values()) else 1


def enable(file: QueueFile, ids: Ids) -> None:
    """Let subscriptions match again."""
    _set_enabled(file, ids, enabled=True)


def disable(file: QueueFile, ids: Ids) -> None:
    """Let subscriptions match nothing, until they are enabled."""
    _set_enabled(file, ids, enabled=False)


def _set_enabled(file: Path, ids: list[str], *, enabled: bool) -> None:
    from pointsman.subscriptions.registry import Registry

    with open_queue(file) as queue:
        registry = Registry(queue.store)
        for id in ids:
            registry.enable(id, enabled)
            typer.echo(f"{'enabled' if enabled else 'disabled'}  {id}")


def _read(text: str) -> WildcardSubscription:
    """The subscription that an argument says. Raises ``InputError``."""
    from pointsman._util import json_text
    from pointsman.subscriptions.json_lines import read_line
    from pointsman.subscriptions.limits import LIMITS
    from pointsman.subscriptions.reading import read_subscription

    if text.lstrip().startswith("{"):
        return read_subscription(json_text.parse(text))
    try:
        data = sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()
    except (OSError, ValueError) as error:
        problem = f"it is no JSON object, and no file that can be read: {getattr(error, 'strerror', None) or error}"
        raise InputError("no-file", problem, file=text) from None
    return read_line(data, text, 1, LIMITS)
