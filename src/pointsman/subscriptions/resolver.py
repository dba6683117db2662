"""The resolver: from a message's subject and metadata to the subscriptions that match, page by page.

    Input Adapter ──message id, subject, metadata──▶ Resolver
        for each pair of key and value
            Resolver ──pair──▶ Matchers            pages of matchers, in each of the four services
                for each page of matchers
                    Resolver ──▶ Subscriptions     pages of subscriptions
                        for each page: registered for the message id
    Input Adapter ──message id──▶ Resolver         pages of the subscriptions that match

No step holds more than a page of subscriptions, whatever matches. A subscription is registered when one of its gates
holds, and decided about when it is handed out: only then it is known of all matchers whether they hold, so that
distinct matchers count, and not how often they were met.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pointsman.errors import InputError
from pointsman.subscriptions.candidates import Found, Subscriptions
from pointsman.subscriptions.matchers import SERVICES, Matchers, Pair, Service
from pointsman.subscriptions.matches import Matches, Spill
from pointsman.subscriptions.trees import parse_tree, tree_holds

PAGE = 1000
"""Matchers, and subscriptions, of a page."""


class Match(NamedTuple):
    """A subscription that matches."""

    number: int
    id: str
    owner: str
    destinations: tuple[str, ...]


class _Known(NamedTuple):
    """What was found out about a message."""

    matchers: set[int]
    """That hold; those of the index that is in memory anyway."""
    patterns: frozenset[int]
    registered: Matches


class Resolver:
    """Resolves messages, as of one transaction; ``matchers`` have been refreshed. Not safe between threads."""

    def __init__(self, matchers: Matchers, subscriptions: Subscriptions, spill: Spill, page: int = PAGE) -> None:
        self._matchers = matchers
        self._subscriptions = subscriptions
        self._spill = spill
        self._page = page
        self._messages: dict[str, _Known] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        """Destinations that were read before, as most subscriptions have the same."""

    def resolve(self, message_id: str, subject: str, metadata: Mapping[str, str]) -> str:
        """Registers what may match a message, and gives its id: what ``matches`` is asked for, until ``forget``."""
        patterns = sorted(-number for number in self._matchers.patterns(subject))
        known = _Known(set(), frozenset(-gate for gate in patterns), Matches(self._spill))
        self._messages[message_id] = known
        self._register(known, patterns)
        for pair in Pair.all_of(metadata):
            for service in SERVICES:
                for page in self._pages(service, pair):
                    known.matchers.update(page)
                    if service.includes:
                        self._register(known, page)
        return message_id

    def matches(self, message_id: str, limit: int = PAGE, after: int = 0) -> list[Match]:
        """The subscriptions that match a message that was resolved: ascending by number, strictly after ``after``.

        An empty page ends them. Raises ``InputError`` (``bad-usage``) for a message that is not resolved.
        """
        known = self._known(message_id)
        found: list[Match] = []
        while len(found) < limit and (numbers := known.registered.page(min(limit, self._page), after)):
            after = numbers[-1]
            found += [self._match(each) for each in self._subscriptions.read(numbers) if _holds(each, known)]
        return found[:limit]

    def forget(self, message_id: str) -> None:
        """A message is done with."""
        known = self._messages.pop(message_id, None)
        if known is not None:
            known.registered.forget()

    @property
    def open_messages(self) -> int:
        """How many messages are resolved and not forgotten."""
        return len(self._messages)

    def _pages(self, service: Service, pair: Pair) -> Iterator[list[int]]:
        after = 0
        while page := self._matchers.page(service, pair, self._page, after):
            yield page
            after = page[-1]

    def _register(self, known: _Known, gates: list[int]) -> None:
        for page in self._subscriptions.behind(gates, self._page):
            known.registered.register(page)

    def _match(self, found: Found) -> Match:
        names = self._names.get(found.destinations)
        if names is None:
            if len(self._names) >= self._page:
                self._names.clear()
            names = self._names[found.destinations] = tuple(json.loads(found.destinations))
        return Match(found.number, found.id, found.owner, names)

    def _known(self, message_id: str) -> _Known:
        known = self._messages.get(message_id)
        if known is None:
            raise InputError("bad-usage", f"the message {message_id!r} is not resolved; call resolve first")
        return known


def _holds(found: Found, known: _Known) -> bool:
    """Whether the pattern matches and the condition holds, of those that it has."""
    if found.pattern is not None and found.pattern not in known.patterns:
        return False
    return found.tree is None or tree_holds(parse_tree(found.tree), known.matchers)
