"""A batch of messages decided at once: the stages authorize, translate, resolve and select over whole columns.

The result is flat: for each pair of a row and what becomes of it one of the table's codes, in the order of the rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.columns.balance import COUNTED, answers, places
from pointsman.columns.codes import Codes
from pointsman.columns.plans import IntArray, Plans
from pointsman.columns.questions import Asker, Rows, texts_of, writable
from pointsman.columns.subjects import NO_SUBJECT, Looked, Problem, Subjects
from pointsman.routing.breaker import Way
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

NOTHING = np.empty(0, np.int32)
NO_STATE = State()
MOST_VERDICTS = 1 << 17
"""Answers of the access rules that are remembered."""


@dataclass(slots=True)
class Turns:
    """How far the batches of one task have come: what the next batch of it goes on from."""

    task: int = 0
    """Tells tasks that begin with one state apart, so that their balances begin with different destinations."""
    taken: Counter[str] = field(default_factory=Counter)
    """How many choices each counting route has made."""
    probed: set[str] = field(default_factory=set)
    """Destinations that a delivery tries again."""


class Found(NamedTuple):
    """What is known of the rows of a batch after the stage resolve."""

    subjects: list[str | None]
    """The different subjects after translation."""
    subject_numbers: IntArray
    """For each row the place of its subject among them; -1 for a row without one."""
    plans: IntArray
    """For each row the number of its plan; -1 for a row with a problem."""
    problems: list[Problem]
    problem_numbers: IntArray
    """For each row the place of its problem; -1 for a row that is fine."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What becomes of the rows of a batch."""

    rows: Rows
    """The row of each pair, ascending."""
    codes: IntArray
    found: Found

    @property
    def translated(self) -> Any:
        """The different subjects as an Arrow array; null for one that is no text."""
        return pa.array(writable(self.found.subjects), pa.string())


class Decider:
    """A table made ready to decide batches; remembers subjects from one to the next.

    Safe between threads, which take turns.
    """

    def __init__(self, table: RoutingTable) -> None:
        self.table = table
        self._lock = Lock()
        self._plans = Plans(table)
        self._subjects = Subjects(table, self._plans)
        self.codes = Codes(table, self._plans.routes)
        self.reads = frozenset().union(*self._plans.reads)
        """The fields of a message that the table reads besides the subject and the principal."""
        self._check = None if table.access is None else lru_cache(MOST_VERDICTS)(table.access.check)
        self._balanced = np.array([each.balance is not None for each in self._plans.routes], np.bool_)

    def decide(
        self,
        messages: pa.Table,
        *,
        principal: str | None = None,
        state: State = NO_STATE,
        now: float = 0.0,
        seed: tuple[int, ...] = (0,),
        turns: Turns | None = None,
    ) -> Batch:
        """What becomes of these messages, in the order of ``position`` if they have such a column.

        ``turns`` is where the batches before this one have got to, and is moved on.
        """
        with self._lock:
            found = self._resolve(messages, principal, seed)
            return self._select(messages, found, state, now, seed, Turns() if turns is None else turns)

    def routes(self, found: Found) -> Any:
        """For each row the numbers of the routes that may take it, as an Arrow list array; null for a problem."""
        known = pa.array([plan.routes.tolist() for plan in self._plans.plans], pa.list_(pa.int32()))
        return known.take(pa.array(found.plans, mask=found.plans < 0))

    def select(
        self,
        messages: pa.Table,
        routes: Any,
        *,
        state: State = NO_STATE,
        now: float = 0.0,
        seed: tuple[int, ...] = (0,),
        turns: Turns | None = None,
    ) -> Batch:
        """The stage select alone, for messages whose ``routes`` are known; nothing is chosen where they are null."""
        with self._lock:
            encoded = _encoded(messages["subject"])
            plans = self._subjects.plans_of(routes)
            fine = np.where(plans < 0, np.int32(0), np.int32(-1))
            found = Found(texts_of(encoded.dictionary), _indices(encoded), plans, [NO_SUBJECT], fine)
            return self._select(messages, found, state, now, seed, Turns() if turns is None else turns)

    # -- authorize, translate, resolve

    def _resolve(self, messages: pa.Table, principal: str | None, seed: tuple[int, ...]) -> Found:
        encoded = _encoded(messages["subject"], repeats=not self._subjects.is_random)
        looked = self._subjects.look_up(encoded.dictionary, len(messages), seed)
        numbers = _indices(encoded)
        refused = self._authorize(messages, principal, encoded, numbers)
        return _by_row(looked, numbers, refused)

    def _authorize(
        self, messages: pa.Table, principal: str | None, encoded: Any, numbers: IntArray
    ) -> dict[int, Problem]:
        """The rows whose principal may not publish their subject, and why."""
        if self._check is None or not len(messages):
            return {}
        if principal is not None:
            column = pa.repeat(principal, len(messages))
        elif "principal" in messages.column_names:
            column = messages["principal"]
        else:
            return {}
        who = _encoded(column.cast(pa.string()))
        names, texts = texts_of(who.dictionary), texts_of(encoded.dictionary)
        owners = _indices(who).astype(np.int64)
        asked = np.flatnonzero((owners >= 0) & (numbers >= 0))
        pairs, places = np.unique(owners[asked] * max(len(texts), 1) + numbers[asked], return_inverse=True)
        verdicts = [
            self._check(names[pair // len(texts)] or "", "publish", texts[pair % len(texts)] or "")
            for pair in pairs.tolist()
        ]
        refused = ~np.array([each.allowed for each in verdicts], np.bool_)[places.reshape(-1)]
        return {
            row: Problem("authorize", "publish-refused", verdicts[place].reason)
            for row, place in zip(asked[refused].tolist(), places.reshape(-1)[refused].tolist(), strict=True)
        }

    def may_read(self, principal: str, subject: str) -> bool:
        """Whether the access rules, if there are any, let a principal read a subject; remembers the answers."""
        return self._check is None or self._check(principal, "subscribe", subject).allowed

    # -- select

    def _select(
        self, messages: pa.Table, found: Found, state: State, now: float, seed: tuple[int, ...], turns: Turns
    ) -> Batch:
        order = _order(messages)
        asker = Asker(messages, found.subjects, found.subject_numbers, self.reads)
        rows, routes = self._taken(found.plans, asker)
        rows, codes = self._send(rows, routes, order, asker, state, seed, turns)
        if self.codes.unrouted is not None:
            untaken = found.problem_numbers < 0
            untaken[rows] = False
            rows, codes = with_code(rows, codes, np.flatnonzero(untaken), self.codes.unrouted)
        if self.codes.is_guarded:
            codes = self._guard(rows, codes, order, state, now, turns)
        return Batch(rows, codes, found)

    def _taken(self, plans: IntArray, asker: Asker) -> tuple[Rows, IntArray]:
        """The pairs of a row and a route that takes it, by row and then in the order of the table."""
        found_rows: list[Rows] = []
        found_routes: list[IntArray] = []
        order = np.argsort(plans, kind="stable")
        ordered = plans[order]
        edges = [*np.flatnonzero(np.diff(ordered, prepend=np.int32(-2))).tolist(), len(ordered)]
        for start, end in pairwise(edges):
            number, rows = int(ordered[start]), order[start:end]
            if number < 0:
                continue
            plan = self._plans.plans[number]
            if not plan.groups:
                found_rows.append(np.repeat(rows, len(plan.routes)))
                found_routes.append(np.tile(plan.routes, len(rows)))
                continue
            taken = np.ones((len(rows), len(plan.routes)), np.bool_)
            questions = self._plans.questions
            for group in plan.groups:
                left = np.arange(len(rows))
                for at in group:
                    taken[:, at] = False
                    if not len(left):
                        continue
                    question = plan.asked[at]
                    holds = (
                        np.ones(len(left), np.bool_) if question < 0 else asker.holds(questions[question], rows[left])
                    )
                    taken[left[holds], at] = True
                    left = left[~holds]
            at_row, at_route = np.nonzero(taken)
            found_rows.append(rows[at_row])
            found_routes.append(plan.routes[at_route])
        if not found_rows:
            return np.empty(0, np.int64), NOTHING
        rows, routes = np.concatenate(found_rows), np.concatenate(found_routes)
        back = np.argsort(rows, kind="stable")
        return rows[back], routes[back]

    def _send(
        self, rows: Rows, routes: IntArray, order: Rows, asker: Asker, state: State, seed: tuple[int, ...], turns: Turns
    ) -> tuple[Rows, IntArray]:
        """The pairs of a row and a code: one for each destination of a route, or for the one that it chooses."""
        if not len(routes):
            return rows, NOTHING
        balanced = self._balanced[routes]
        counts = np.where(balanced, 1, self.codes.counts[routes])
        sent_rows = np.repeat(rows, counts)
        starts = np.cumsum(counts) - counts
        within = np.arange(len(sent_rows)) - np.repeat(starts, counts)
        codes = (np.repeat(self.codes.starts[routes], counts) + within).astype(np.int32)
        for number in np.unique(routes[balanced]).tolist():
            mine = np.flatnonzero(routes == number)
            mine = mine[np.argsort(order[rows[mine]], kind="stable")]
            codes[starts[mine]] = self._balance(number, rows[mine], asker, state, seed, turns)
        return sent_rows, codes

    def _balance(
        self, number: int, rows: Rows, asker: Asker, state: State, seed: tuple[int, ...], turns: Turns
    ) -> IntArray:
        """The codes that a balanced route gives to rows, in their order."""
        route = self._plans.routes[number]
        keys = None if route.key is None else asker.values(route.key, rows)
        random = np.random.default_rng((*seed, route.position))
        chosen = places(route, state, len(rows), keys, random, turns.taken[route.name], turns.task)
        if route.balance in COUNTED and len(chosen) and chosen[0] >= 0:
            turns.taken[route.name] += len(rows)
        made = (self.codes.starts[number] + chosen).astype(np.int32)
        return np.where(chosen < 0, np.int32(self.codes.stuck[number]), made)

    def _guard(self, rows: Rows, codes: IntArray, order: Rows, state: State, now: float, turns: Turns) -> IntArray:
        """The codes with those of fallbacks where a breaker is open, and that of the one delivery that tries it."""
        guarded = codes.copy()
        for name, answer in answers(self.table, state, now).items():
            if answer.others.way is not Way.FALLBACK:
                continue
            hit = np.flatnonzero(np.isin(codes, self.codes.to(name)))
            guarded[hit] += self.codes.size
            if answer.first.way is Way.PROBE and len(hit) and name not in turns.probed:
                turns.probed.add(name)
                first = hit[np.lexsort((hit, order[rows[hit]]))[0]]
                guarded[first] += self.codes.size
        return guarded


def with_code(rows: Rows, codes: IntArray, more: Rows, code: int) -> tuple[Rows, IntArray]:
    """The pairs of a row and a code, and behind them one with this code for each of ``more``."""
    rows = np.concatenate([rows, more])
    codes = np.concatenate([codes, np.full(len(more), code, np.int32)])
    back = np.argsort(rows, kind="stable")
    return rows[back], codes[back]


def _encoded(column: Any, *, repeats: bool = True) -> Any:
    """A column, which may be chunked, as one dictionary array of texts; without ``repeats`` each row has its own."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not repeats:
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        places = pa.array(np.arange(len(column), dtype=np.int32), mask=column.is_null().to_numpy(zero_copy_only=False))
        return pa.DictionaryArray.from_arrays(places, column)
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _indices(encoded: Any) -> IntArray:
    found: IntArray = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return found


def _by_row(looked: Looked, numbers: IntArray, refused: dict[int, Problem]) -> Found:
    """For each row the place of its subject, its plan and its problem, each by a number."""
    found = {NO_SUBJECT: 0}
    for problem in (*looked.problems.values(), *refused.values()):
        found.setdefault(problem, len(found))
    by_subject = np.full(len(looked.plans) + 1, -1, np.int32)
    by_subject[-1] = 0
    for place, problem in looked.problems.items():
        by_subject[place] = found[problem]
    # A row without a subject is at the end, which -1 leads to.
    plans = np.append(looked.plans, np.int32(-1))[numbers]
    problem_numbers = by_subject[numbers]
    if refused:
        rows = np.fromiter(refused, np.int64, len(refused))
        plans[rows] = -1
        problem_numbers[rows] = [found[problem] for problem in refused.values()]
    return Found(looked.texts, numbers, plans, list(found), problem_numbers)


def _order(messages: pa.Table) -> Rows:
    """The order of the rows: that of ``position``, or their own."""
    rows = np.arange(len(messages), dtype=np.int64)
    if "position" not in messages.column_names or not pa.types.is_integer(messages["position"].type):
        return rows
    position = messages["position"].combine_chunks()
    if position.null_count:
        position = pc.coalesce(position.cast(pa.int64()), pa.array(rows))
    order: Rows = position.to_numpy(zero_copy_only=False).astype(np.int64)
    return order
