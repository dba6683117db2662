"""Making a message of what is given to publish, and a table of what is given to a broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pointsman._util import json_text
from pointsman.broker.identity import new_id
from pointsman.broker.wildcards import check_names
from pointsman.errors import InputError, MessageError, StoreError
from pointsman.message import Message
from pointsman.store.message import data_bytes
from pointsman.store.store import Store
from pointsman.table.routing_table import RoutingTable

Body = bytes | str | Mapping[str, Any] | Sequence[Any]


def make_message(
    store: Store, subject: str | Sequence[str] | Message, body: Body, fields: Mapping[str, Any]
) -> Message:
    """The message; fields that are None count as not given.

    The subject may be given as its segments, or as a whole ``Message``, which has its body and fields already. A body
    that is no text and no bytes is written as JSON. Raises ``MessageError``, ``SubjectError`` and ``StoreError``.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    if isinstance(subject, Message):
        if body or given:
            extra = ", ".join(["body"] * bool(body) + list(given))
            raise MessageError("bad-message", f"it is a whole message already, and {extra} cannot be given besides")
        return subject
    now = store.settings.clock()
    defaults: dict[str, Any] = {"id": new_id(now), "time": datetime.fromtimestamp(now, UTC)}
    if isinstance(body, bytes | str):
        content = data_bytes(body, store.settings.max_bytes)
    else:
        content = json_text.compact(body)
        defaults["content_type"] = "application/json"
    return Message(store.keys.text(subject), content, **defaults | given)


def read_table(
    table: RoutingTable | str | Path | None, environment: str | None, functions: Mapping[str, Callable[..., Any]]
) -> RoutingTable:
    """The table itself, or the one in a file; without any, one that has no routes.

    Raises as ``RoutingTable.load``, and ``InputError``: ``bad-setting`` for a name that the broker keeps for itself,
    ``function-not-given`` for a table that was loaded without its functions.
    """
    if table is None:
        return RoutingTable.parse("dialect: amqp")
    read = table if isinstance(table, RoutingTable) else RoutingTable.load(table, environment, functions)
    check_names(read)
    missing = [name for name, function in read.functions.items() if function is None]
    if missing:
        problem = f"the table needs the Python function {missing[0]!r}: load it with functions={{{missing[0]!r}: …}}"
        raise InputError("function-not-given", problem)
    return read


def check_handler(table: RoutingTable, destination: str) -> None:
    """Raises ``StoreError`` (``no-destination``) unless the table has such a destination, for a handler."""
    known = table.destinations.get(destination)
    if not table.has_destination(destination) or (known is not None and known.type != "handler"):
        raise StoreError("no-destination", f"the table has no destination {destination!r} of the type 'handler'")
