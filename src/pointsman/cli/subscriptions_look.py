"""``pointsman subscriptions get``, ``list``, ``changes`` and ``resolve``: what there is, and whom a message reaches."""

from __future__ import annotations

import json as json_format
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from pointsman.cli.explain import read_message
from pointsman.cli.output import AsJson, show_json
from pointsman.cli.queue_open import QueueFile, open_queue
from pointsman.cli.queue_show import Table, write_lines
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.subscriptions.gates import Leaf
    from pointsman.subscriptions.registry import Registry
    from pointsman.subscriptions.rows import StoredSubscription

PAGE = 1_000
"""Entries that are held in memory at a time."""
WIDEST = 60
"""Characters of a condition that a table shows."""
COLUMNS = ("number", "id", "owner", "enabled", "pattern", "condition", "destinations")

Limit = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Show up to so many.")]
After = Annotated[int, typer.Option("--after", min=0, metavar="NUMBER", help="Only those of a higher number.")]
Entry = TypeVar("Entry", bound=tuple[Any, ...])


def get(file: QueueFile, id: Annotated[str, typer.Argument(metavar="ID", help="Its id.", show_default=False)]) -> int:
    """Print a subscription as JSON. Ends with 1 if there is none of this id."""
    from pointsman.subscriptions.registry import Registry

    with open_queue(file) as queue:
        found = Registry(queue.store).get(id)
    if found is None:
        typer.echo(f"there is no subscription {id!r}", err=True)
        return 1
    show_json(_data(found))
    return 0


def list_all(
    file: QueueFile,
    owner: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this owner.")] = None,
    matcher: Annotated[
        str | None, typer.Option(metavar="JSON", help="Only those in whose condition this very matcher stands.")
    ] = None,
    limit: Limit = None,
    after: After = 0,
    json: AsJson = False,
) -> None:
    """List subscriptions, by ascending number."""
    if owner is not None and matcher is not None:
        raise InputError("bad-usage", "give an owner or a matcher, not both")
    from pointsman.subscriptions.registry import Registry

    leaf = None if matcher is None else _leaf(matcher)
    with open_queue(file) as queue:
        entries = islice(_pages(_listing(Registry(queue.store), owner, leaf), after, limit), limit)
        _show(entries, COLUMNS, _row, _data, as_json=json)


def changes(
    file: QueueFile,
    after: Annotated[int, typer.Option("--after", min=0, metavar="VERSION", help="Only those of a later version.")] = 0,
    limit: Limit = None,
    json: AsJson = False,
) -> None:
    """List the last change of each subscription, by ascending version."""
    from pointsman.subscriptions.registry import Registry

    with open_queue(file) as queue:
        entries = islice(_pages(Registry(queue.store).changes, after, limit), limit)
        columns = ("version", "kind", "number", "id")
        _show(entries, columns, tuple, lambda change: change._asdict(), as_json=json)


def resolve(
    file: QueueFile,
    message: Annotated[
        str,
        typer.Argument(metavar="MESSAGE", help="A subject, a message as JSON, or a file of one; - is standard input."),
    ],
    limit: Limit = None,
    after: After = 0,
    json: AsJson = False,
) -> int:
    """List the subscriptions that a message reaches. Ends with 1 if there are none."""
    from pointsman.subscriptions.live import LiveSubscriptions

    asked = read_message(message)
    with open_queue(file) as queue:
        live = LiveSubscriptions(queue.store)
        try:
            with live.reading() as resolver:
                resolved = resolver.resolve(asked.id, asked.subject, asked.metadata)
                entries = islice(
                    _pages(lambda after, limit: resolver.matches(resolved, limit, after), after, limit), limit
                )
                columns = ("number", "id", "owner", "destinations")
                count = _show(
                    entries,
                    columns,
                    lambda match: (*match[:3], ", ".join(match.destinations)),
                    lambda match: match._asdict(),
                    as_json=json,
                )
        finally:
            live.close()
    return 0 if count else 1


def _listing(registry: Registry, owner: str | None, leaf: Leaf | None) -> Callable[..., Sequence[StoredSubscription]]:
    if owner is not None:
        return lambda after, limit: registry.by_owner(owner, limit, after)
    if leaf is not None:
        return lambda after, limit: registry.by_matcher(leaf, limit, after)
    return lambda after, limit: registry.list(limit, after)


def _leaf(text: str) -> Leaf:
    from pointsman._util import json_text
    from pointsman.conditions import Matcher, NumberComparison, read_condition

    found = read_condition(json_text.parse(text))
    if not isinstance(found, Matcher | NumberComparison):
        raise InputError("bad-usage", "--matcher takes one matcher or one number comparison", text=text)
    return found


def _pages(page: Callable[..., Sequence[Entry]], after: int, limit: int | None) -> Iterator[Entry]:
    """All entries of a listing, whose first fields are what ``after`` is about."""
    while entries := page(after=after, limit=PAGE if limit is None else min(limit, PAGE)):
        yield from entries
        after = entries[-1][0]


def _show(
    entries: Iterator[Entry],
    columns: Sequence[str],
    row: Callable[[Entry], Sequence[object]],
    data: Callable[[Entry], Any],
    *,
    as_json: bool,
) -> int:
    """Prints entries page by page, and gives their number."""
    table, count = Table(columns), 0
    while page := list(islice(entries, PAGE)):
        count += len(page)
        if as_json:
            write_lines(map(data, page))
        else:
            table.show(map(row, page))
    if not as_json:
        table.show(())
    return count


def _row(entry: StoredSubscription) -> tuple[object, ...]:
    from pointsman.subscriptions.writing import write_subscription

    subscription = entry.subscription
    condition = json_format.dumps(write_subscription(subscription).get("condition", ""), ensure_ascii=False).strip('"')
    return (
        entry.number,
        subscription.id,
        subscription.owner,
        "yes" if subscription.enabled else "no",
        subscription.pattern or "",
        condition if len(condition) <= WIDEST else f"{condition[: WIDEST - 1]}…",
        ", ".join(subscription.destinations),
    )


def _data(entry: StoredSubscription) -> dict[str, Any]:
    from pointsman.subscriptions.writing import write_subscription

    return {"number": entry.number, "version": entry.version, **write_subscription(entry.subscription)}
