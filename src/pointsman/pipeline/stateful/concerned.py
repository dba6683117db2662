"""The one thing that a message may move: remembered by its subject, so that no table need decide about each."""

from __future__ import annotations

from functools import lru_cache

from pointsman.errors import SubjectError
from pointsman.message import Message
from pointsman.pipeline.stateful.saga_moves import SagaMoves
from pointsman.table.followed import EVENT, Followers
from pointsman.table.routing_table import RoutingTable

MOST_REMEMBERED = 1 << 15


class Concerned:
    """What the messages of a subject may move. Not safe between threads."""

    def __init__(self, table: RoutingTable) -> None:
        self._table = table
        self.followers = Followers(table.sagas, table.routes, table.dialect)
        self.moves = {name: SagaMoves(definition) for name, definition in table.sagas.items()}
        """By the names of the sagas."""
        self._known: dict[tuple[str, bool], tuple[str, str] | None] = {}

    def only(self, message: Message) -> tuple[str, str] | None:
        """The kind and the name of the only thing that the message may move; None if the table has to decide."""
        key = message.subject, EVENT in message.metadata
        try:
            return self._known[key]
        except KeyError:
            pass
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key] = found = self._find(*key)
        return found

    def _find(self, subject: str, named: bool) -> tuple[str, str] | None:
        try:
            taken = self._table.index.match(subject)
        except SubjectError:
            return None
        concerned = self.followers.concerned(subject, named=named)
        if taken or self._table.translations or len(concerned) != 1:
            return None
        return concerned[0]


@lru_cache(maxsize=8)
def concerned_by(table: RoutingTable) -> Concerned:
    """That of a table, the same one for as long as the process lives."""
    return Concerned(table)
