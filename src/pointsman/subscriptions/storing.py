"""Subscriptions are added, changed and removed, within one transaction of the file."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from pointsman.conditions import Condition
from pointsman.errors import StoreError
from pointsman.subscriptions import statements
from pointsman.subscriptions.control import Changer, Control
from pointsman.subscriptions.gates import Leaf, gates, leaf_weight, pattern_weight
from pointsman.subscriptions.interning import Matchers, Patterns
from pointsman.subscriptions.leaf_rows import leaf_row
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.noting import Noted, add_to_recent
from pointsman.subscriptions.trees import parse_tree, tree_numbers, write_tree

MOST_PENDING = 50_000
"""Subscriptions that are written together."""
_GATE = 1 << 20
_MATCHER_BITS = 21


class Storing:
    """Changes of subscriptions; ``finish`` writes what is still to be written.

    What is added is written in large pieces, ordered as the tables are, which is several times as quick as one by one.
    Who is ``noting`` tells those that follow the file what was changed; not for very much at a time: it is in memory.
    """

    def __init__(self, transaction: Changer, limits: Limits, *, noting: bool = False) -> None:
        self.transaction = transaction
        self.limits = limits
        self.control = Control.read(transaction)
        self._noted = Noted() if noting else None
        self._version = self.control.version
        self.matchers = Matchers(transaction, self.control, self._noted)
        self.patterns = Patterns(transaction, self.control, self._noted)
        self._rows: list[tuple[Any, ...]] = []
        self._pending: set[str] = set()
        self._base = 0
        self._uses: list[int] = []
        self._used: list[int] = []
        self._used_patterns: list[int] = []
        self._destinations: dict[tuple[str, ...], str] = {}

    def add(self, subscription: WildcardSubscription) -> int:
        """Adds a new one, and gives its number.

        Raises ``InputError`` (``bad-subscription``) for one beyond the limits. That there is one of the same id already
        (``StoreError``, ``subscription-exists``) is found when it is written.
        """
        self.control.last_subscription = number = self.control.last_subscription + 1
        self.control.subscriptions += 1
        if not self._rows:
            self._base = number
        self._rows.append(self._row(number, subscription))
        self._pending.add(subscription.id)
        if len(self._rows) == MOST_PENDING:
            self.flush()
        return number

    def find(self, id: str) -> tuple[int, int | None, str | None] | None:
        """The number, the number of the pattern and the tree of the one of this id; None if there is none."""
        if id in self._pending:
            self.flush()
        found: tuple[int, int | None, str | None] | None = self.transaction.first(statements.SUBSCRIPTION_FIND, (id,))
        return found

    def change(self, found: tuple[int, int | None, str | None], subscription: WildcardSubscription) -> None:
        """Makes the one that ``find`` has found another; it keeps its number."""
        self.flush()
        number, pattern, tree = found
        matchers = self._delete_uses(number, pattern, tree)
        self._base = number
        row = self._row(number, subscription)
        self.transaction.execute(statements.SUBSCRIPTION_CHANGE, row)
        self._flush_uses()
        # Only now, so that what both have in common stays.
        self._leave(matchers, pattern)

    def remove(self, found: tuple[int, int | None, str | None], id: str) -> None:
        """Removes the one that ``find`` has found, and the matchers and patterns that nobody else has."""
        self.flush()
        number, pattern, tree = found
        matchers = self._delete_uses(number, pattern, tree)
        self.transaction.execute(statements.SUBSCRIPTION_DELETE, (number,))
        self.control.subscriptions -= 1
        self._note_gone("subscription", number, id)
        self._leave(matchers, pattern)

    def finish(self) -> None:
        """Writes what is still to be written; the last call."""
        self.flush()
        control = self.control
        self._forget_gone()
        if self._noted is not None and control.version > self._version:
            control.recent = add_to_recent(control.recent, self._version, control.version, self._noted)
        control.write(self.transaction)

    def flush(self) -> None:
        """Writes what was added. Raises ``StoreError`` (``subscription-exists``)."""
        if not self._rows:
            return
        with self.refusing_known((row[1] for row in self._rows), self._base):
            self.transaction.executemany(statements.SUBSCRIPTION_ADD, self._rows)
        self._rows.clear()
        self._pending.clear()
        self._flush_uses()

    @contextmanager
    def refusing_known(self, ids: Iterable[str], first: int) -> Iterator[None]:
        """New subscriptions are written, of these ids and with numbers from the first on.

        Raises ``StoreError`` (``subscription-exists``).
        """
        try:
            yield
        except apsw.ConstraintError:
            for number, id in enumerate(ids, first):
                found = self.transaction.first(statements.SUBSCRIPTION_FIND, (id,))
                if found is not None and found[0] != number:
                    raise StoreError("subscription-exists", f"there is a subscription {id!r} already") from None
            raise

    def _flush_uses(self) -> None:
        self.matchers.flush(Counter(self._used))
        self.patterns.flush(Counter(self._used_patterns))
        if self._uses:
            packed = array("q", sorted(self._uses))
            self.transaction.execute(statements.USES_ADD, (apsw.carray(packed), self._base))
        self._used.clear()
        self._used_patterns.clear()
        self._uses.clear()

    def _row(self, number: int, subscription: WildcardSubscription) -> tuple[Any, ...]:
        offset = number - self._base
        pattern = None if subscription.pattern is None else self.patterns.number(subscription.pattern)
        opening: Sequence[int] = ()
        tree = None
        used: dict[int, None] = {}
        if subscription.condition is not None:
            tree = self._tree(subscription.condition, used)
        if subscription.enabled:
            opening = self._gates(subscription, pattern, used)
            if self._noted is not None:
                self._noted.gates += [each for each in opening if each > 0]
        if pattern is not None:
            self._used_patterns.append(pattern)
            if -pattern in opening:
                self._uses.append(-pattern << _MATCHER_BITS | _GATE | offset)
        self._used.extend(used)
        self._uses.extend([each << _MATCHER_BITS | (each in opening and _GATE) | offset for each in used])
        return (
            number,
            subscription.id,
            subscription.owner,
            pattern,
            tree,
            self._names(subscription.destinations),
            subscription.enabled,
            subscription.expires,
            subscription.description or None,
            self.control.next_version(),
        )

    def _tree(self, condition: Condition, used: dict[int, None]) -> str:
        """The tree of a condition; the numbers of its matchers are noted as used."""
        self.limits.check(condition)
        matchers = self.matchers

        def number(leaf: Leaf) -> int:
            found = matchers.number(leaf_row(leaf))
            used[found] = None
            return found

        return write_tree(condition, number)

    def _gates(self, subscription: WildcardSubscription, pattern: int | None, used: dict[int, None]) -> Sequence[int]:
        """The numbers of the gates: those of matchers, or that of the pattern if it lets fewer through."""
        condition = subscription.condition
        if condition is None or (pattern is None and len(used) == 1):
            return tuple(used) if pattern is None else (-pattern,)
        matchers = self.matchers
        found = gates(condition, lambda leaf: matchers.uses[matchers.number(leaf_row(leaf))])
        if found is None:
            return () if pattern is None else (-pattern,)
        numbers = [matchers.number(leaf_row(leaf)) for leaf in found]
        if pattern is None or subscription.pattern is None:
            return numbers
        weight = sum(leaf_weight(leaf, matchers.uses[number]) for leaf, number in zip(found, numbers, strict=True))
        return (-pattern,) if pattern_weight(subscription.pattern, self.patterns.uses[pattern]) < weight else numbers

    def _names(self, destinations: tuple[str, ...]) -> str:
        text = self._destinations.get(destinations)
        if text is None:
            if len(self._destinations) > MOST_PENDING:
                self._destinations.clear()
            text = self._destinations[destinations] = json.dumps(destinations, ensure_ascii=False)
        return text

    def _delete_uses(self, number: int, pattern: int | None, tree: str | None) -> list[int]:
        matchers = [] if tree is None else list(dict.fromkeys(tree_numbers(parse_tree(tree))))
        gates_too = matchers if pattern is None else [*matchers, -pattern]
        self.transaction.executemany(statements.USE_DELETE, [(each, number) for each in gates_too])
        return matchers

    def _leave(self, matchers: list[int], pattern: int | None) -> None:
        """One user less; what has none left is removed."""
        for each in matchers:
            uses, text, key, kind = self.transaction.first(statements.MATCHER_LEAVE, (each,))
            if not uses:
                self.transaction.execute(statements.MATCHER_DELETE, (each,))
                self._note_gone("matcher", each, json.dumps((text, key, kind)))
                if self._noted is not None:
                    self._noted.gone_matchers.append(((text, key, kind), each))
                self.matchers.forget((text, key, kind))
        if pattern is not None:
            uses, text, dialect = self.transaction.first(statements.PATTERN_LEAVE, (pattern,))
            if not uses:
                self.transaction.execute(statements.PATTERN_DELETE, (pattern,))
                self._note_gone("pattern", pattern, json.dumps((text, dialect)))
                if self._noted is not None:
                    self._noted.gone_patterns.append(((text, dialect), pattern))
                self.patterns.forget((text, dialect))

    def _forget_gone(self) -> None:
        """Removes the oldest deletions beyond the limit, many at a time; the next one says that there were others."""
        limit, control = max(1, self.limits.deletions), self.control
        excess = control.gone - limit
        if excess > limit // 100:
            [version] = self.transaction.first(statements.GONE_OLDEST, (excess,))
            self.transaction.execute(statements.GONE_FORGET, (version,))
            self.transaction.execute(statements.GONE_MARK, (version,))
            control.gone = limit

    def _note_gone(self, kind: str, number: int, text: str) -> None:
        self.control.gone += 1
        self.transaction.execute(statements.GONE_ADD, (self.control.next_version(), kind, number, text))
