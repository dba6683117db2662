"""What a message may move or begin: remembered by its subject, so that no table need decide about each."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pointsman.errors import SubjectError
from pointsman.message import Message
from pointsman.pipeline.stateful.saga_moves import SagaMoves
from pointsman.routing.selection import in_table_order
from pointsman.table.followed import EVENT, Followers
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable

MOST_REMEMBERED = 1 << 15


class Concern(NamedTuple):
    """What the messages of a subject do; where it says neither, the table has to decide about each."""

    moves: tuple[str, str] | None = None
    """The kind and the name of the only thing that they may move."""
    asks: tuple[Route, ...] = ()
    """The routes that gather answers to all of them, where they do nothing else; in the order of the table."""


UNKNOWN = Concern()


class Concerned:
    """What the messages of a subject may move. Not safe between threads."""

    def __init__(self, table: RoutingTable) -> None:
        self._table = table
        self.followers = Followers(table.sagas, table.routes, table.dialect)
        self.moves = {name: SagaMoves(definition) for name, definition in table.sagas.items()}
        """By the names of the sagas."""
        self._known: dict[tuple[str, bool], Concern] = {}

    def by(self, message: Message) -> Concern:
        """What the message does, as far as its subject tells."""
        key = message.subject, EVENT in message.metadata
        try:
            return self._known[key]
        except KeyError:
            pass
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key] = found = self._find(*key)
        return found

    def _find(self, subject: str, named: bool) -> Concern:
        try:
            taken = self._table.index.match(subject)
        except SubjectError:
            return UNKNOWN
        concerned = self.followers.concerned(subject, named=named)
        if self._table.translations or bool(taken) == bool(concerned):
            return UNKNOWN
        if concerned:
            return Concern(moves=concerned[0]) if len(concerned) == 1 else UNKNOWN
        return Concern(asks=tuple(in_table_order(taken))) if all(map(_asks_always, taken)) else UNKNOWN


def _asks_always(route: Route) -> bool:
    """Whether the route gathers answers to every message that its pattern matches."""
    return route.gather is not None and route.predicate is None and route.condition is None


@lru_cache(maxsize=8)
def concerned_by(table: RoutingTable) -> Concerned:
    """That of a table, the same one for as long as the process lives."""
    return Concerned(table)
