"""A batch of messages decided at once: the stages authorize, translate, resolve and select over whole columns.

The result is flat: for each pair of a row and what becomes of it a small code, in the order of the rows. A code stands
for a route and a destination, by way of a fallback or as a probe, or for a route that could not choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.columns.breakers import answers
from pointsman.columns.choices import choices, is_counted
from pointsman.columns.plans import IntArray, Plans
from pointsman.columns.questions import Asker, Rows
from pointsman.columns.subjects import NO_SUBJECT, Looked, Problem, Subjects
from pointsman.columns.texts import is_writable, texts_of
from pointsman.columns.turns import moved
from pointsman.errors import RoutingError
from pointsman.routing.breaker import Way
from pointsman.table.compile import UNROUTED
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

NOTHING = np.empty(0, np.int32)
MOST_VERDICTS = 1 << 17


class Code(NamedTuple):
    """What a code stands for."""

    route: str
    strategy: str
    destination: str | None
    instead_of: str | None = None
    probe: bool = False
    waits: bool = False
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What becomes of the rows of a batch."""

    rows: Rows
    """The row of each pair, ascending."""
    codes: IntArray
    names: list[Code]
    """What the codes stand for."""
    subjects: list[str | None]
    """The different subjects after translation."""
    subject_numbers: IntArray
    """For each row the place of its subject among them; -1 for a row without one."""
    problems: list[Problem]
    problem_numbers: IntArray
    """For each row the place of its problem; -1 for a row that is fine."""
    state: State
    """What the balances are after the batch."""

    @property
    def translated(self) -> Any:
        """The different subjects as an Arrow array; null for one that is no text."""
        return pa.array(
            [None if each is None or not is_writable(each) else each for each in self.subjects], pa.string()
        )


class Decider:
    """A table made ready to decide batches; remembers subjects from one to the next.

    Safe between threads, which take turns.
    """

    def __init__(self, table: RoutingTable) -> None:
        self.table = table
        self._lock = Lock()
        self._plans = Plans(table)
        self._subjects = Subjects(table, self._plans)
        self._refusals: dict[tuple[str, str], Problem | None] = {}
        self._names: list[Code] = []
        self._codes: dict[Code, int] = {}
        routes = self._plans.routes
        own = [[self._code(Code(each.name, each.strategy, name)) for name in each.names] for each in routes]
        self._counts = np.array([len(codes) for codes in own], np.int32)
        self._starts = np.concatenate([[0], np.cumsum(self._counts)])[:-1].astype(np.int64) if own else NOTHING
        self._own = np.array([code for codes in own for code in codes], np.int32)
        self._balanced = np.array([each.balance is not None for each in routes], np.bool_)
        self._guarded = any(each.breaker is not None for each in table.destinations.values())
        self._unrouted = None if table.unrouted is None else self._code(Code(UNROUTED, UNROUTED, table.unrouted))

    def decide(
        self, messages: pa.Table, *, principal: str | None = None, state: State, now: float, seed: int = 0
    ) -> Batch:
        """What becomes of these messages, in the order of ``position`` if they have such a column."""
        with self._lock:
            return self._decide(messages, principal, state, now, seed)

    def _decide(self, messages: pa.Table, principal: str | None, state: State, now: float, seed: int) -> Batch:
        encoded = _encoded(messages["subject"])
        looked = self._subjects.look_up(encoded.dictionary, len(messages))
        numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        refused = self._authorize(messages, principal, encoded, numbers)
        subject_numbers, plans, problems, problem_numbers = _by_row(looked, numbers, refused)
        order = _order(messages)
        asker = Asker(messages, looked.texts, subject_numbers)
        rows, routes = self._select(plans, asker)
        rows, codes, after = self._send(rows, routes, order, asker, state, seed)
        if self._unrouted is not None:
            rows, codes = self._with_unrouted(rows, codes, problem_numbers < 0)
        if self._guarded:
            codes = self._guard(rows, codes, order, state, now)
        names = list(self._names)
        return Batch(rows, codes, names, looked.texts, subject_numbers, problems, problem_numbers, after)

    # -- authorize

    def _authorize(
        self, messages: pa.Table, principal: str | None, encoded: Any, numbers: IntArray
    ) -> dict[int, Problem]:
        """The rows whose principal may not publish their subject, and why."""
        access = self.table.access
        if access is None or not len(messages):
            return {}
        column = messages["principal"] if "principal" in messages.column_names else pa.nulls(len(messages), pa.string())
        if principal is not None:
            column = pc.fill_null(column.cast(pa.string()), principal)
        who = _encoded(column.cast(pa.string()))
        names, texts = texts_of(who.dictionary), texts_of(encoded.dictionary)
        owners = who.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        asked = np.flatnonzero((owners >= 0) & (numbers >= 0))
        pairs, places = np.unique(owners[asked] * max(len(texts), 1) + numbers[asked], return_inverse=True)
        if len(self._refusals) > MOST_VERDICTS:
            self._refusals.clear()
        verdicts = [self._refusal(names[pair // len(texts)], texts[pair % len(texts)]) for pair in pairs.tolist()]
        return {
            row: verdict
            for row, place in zip(asked.tolist(), places.reshape(-1).tolist(), strict=True)
            if (verdict := verdicts[place]) is not None
        }

    def _refusal(self, principal: str | None, subject: str | None) -> Problem | None:
        key = (principal or "", subject or "")
        if key not in self._refusals and self.table.access is not None:
            verdict = self.table.access.check(key[0], "publish", key[1])
            refused = None if verdict.allowed else Problem("authorize", "publish-refused", verdict.reason)
            self._refusals[key] = refused
        return self._refusals[key]

    # -- select

    def _select(self, plans: IntArray, asker: Asker) -> tuple[Rows, IntArray]:
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
            if plan.is_constant:
                found_rows.append(np.repeat(rows, len(plan.routes)))
                found_routes.append(np.tile(plan.routes, len(rows)))
                continue
            taken = np.ones((len(rows), len(plan.routes)), np.bool_)
            questions = self._plans.questions
            for at in plan.alone:
                taken[:, at] = asker.holds(questions[plan.asked[at]], rows)
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
        self, rows: Rows, routes: IntArray, order: Rows, asker: Asker, state: State, seed: int
    ) -> tuple[Rows, IntArray, State]:
        """The pairs of a row and a code: one for each destination of a route, or for the one that it chooses."""
        balanced = self._balanced[routes] if len(routes) else np.empty(0, np.bool_)
        counts = np.where(balanced, 1, self._counts[routes]) if len(routes) else NOTHING
        sent_rows = np.repeat(rows, counts)
        ends = np.cumsum(counts)
        within = np.arange(len(sent_rows)) - np.repeat(ends - counts, counts)
        codes = self._own[np.repeat(self._starts[routes], counts) + within] if len(routes) else NOTHING
        after = state
        if balanced.any():
            places = np.repeat(np.arange(len(routes)), counts)
            after = self._balance(codes, places, np.flatnonzero(balanced), rows, routes, order, asker, state, seed)
        return sent_rows, codes, after

    def _balance(
        self,
        codes: IntArray,
        places: Rows,
        balanced: Rows,
        rows: Rows,
        routes: IntArray,
        order: Rows,
        asker: Asker,
        state: State,
        seed: int,
    ) -> State:
        """Puts the choices of balanced routes in the place of their codes, and gives the state that they leave."""
        position = np.empty(len(routes), np.int64)
        position[places] = np.arange(len(codes))
        taken: dict[str, int] = {}
        for number in np.unique(routes[balanced]).tolist():
            route = self._plans.routes[number]
            mine = balanced[routes[balanced] == number]
            mine = mine[np.argsort(order[rows[mine]], kind="stable")]
            keys = None if route.key is None else asker.values(route.key, rows[mine])
            random = np.random.default_rng((seed, route.position))
            chosen = choices(route, state, len(mine), keys, random)
            made = self._own[self._starts[number] + np.maximum(chosen.places, 0)]
            if chosen.error is not None:
                made = np.where(chosen.places < 0, self._stuck(route.name, route.strategy, chosen.error), made)
            codes[position[mine]] = made
            if is_counted(route) and chosen.error is None:
                taken[route.name] = len(mine)
        return moved(self.table, state, taken)

    def _stuck(self, route: str, strategy: str, error: RoutingError) -> int:
        problem = Problem("select", error.code, f"nothing is chosen: {error.problem}")
        return self._code(Code(route, strategy, None, problem=problem))

    def _with_unrouted(self, rows: Rows, codes: IntArray, untaken: npt.NDArray[np.bool_]) -> tuple[Rows, IntArray]:
        """The pairs, and one more for each row that is fine and that no route takes."""
        untaken[rows] = False
        extra = np.flatnonzero(untaken)
        rows = np.concatenate([rows, extra])
        codes = np.concatenate([codes, np.full(len(extra), self._unrouted, np.int32)])
        back = np.argsort(rows, kind="stable")
        return rows[back], codes[back]

    # -- breakers

    def _guard(self, rows: Rows, codes: IntArray, order: Rows, state: State, now: float) -> IntArray:
        """The codes with those of fallbacks where a breaker is open, and that of the one delivery that tries it."""
        found = answers(self.table, state, now)
        guarded = codes.copy()
        for name, answer in found.items():
            if answer.others.way is not Way.FALLBACK:
                continue
            fallback = self.table.destinations[name].fallback
            concerned = [
                number
                for number, code in enumerate(self._names)
                if code.destination == name and code.instead_of is None and not code.probe and not code.waits
            ]
            hit = np.flatnonzero(np.isin(codes, concerned))
            if not len(hit):
                continue
            for number in concerned:
                code = self._names[number]
                away = (
                    code._replace(waits=True)
                    if fallback is None
                    else code._replace(destination=fallback, instead_of=name)
                )
                guarded[codes == number] = self._code(away)
            if answer.first.way is Way.PROBE:
                first = hit[np.lexsort((hit, order[rows[hit]]))[0]]
                guarded[first] = self._code(self._names[codes[first]]._replace(probe=True))
        return guarded

    def _code(self, code: Code) -> int:
        found = self._codes.get(code)
        if found is None:
            found = self._codes[code] = len(self._names)
            self._names.append(code)
        return found


def _encoded(column: Any) -> Any:
    """A column, which may be chunked, as one dictionary array of texts."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        return column
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    return column.dictionary_encode()


def _by_row(
    looked: Looked, numbers: IntArray, refused: dict[int, Problem]
) -> tuple[IntArray, IntArray, list[Problem], IntArray]:
    """For each row the place of its subject, its plan and its problem, each by a number."""
    problems: list[Problem] = [NO_SUBJECT]
    by_problem = {NO_SUBJECT: 0}
    by_subject = np.full(len(looked.plans) + 1, -1, np.int32)
    by_subject[-1] = 0

    def number_of(problem: Problem) -> int:
        if problem not in by_problem:
            by_problem[problem] = len(problems)
            problems.append(problem)
        return by_problem[problem]

    for place, problem in looked.problems.items():
        by_subject[place] = number_of(problem)
    # A row without a subject is at the end, which -1 leads to.
    plans = np.append(looked.plans, np.int32(-1))[numbers]
    problem_numbers = by_subject[numbers]
    if refused:
        rows = np.fromiter(refused, np.int64, len(refused))
        plans[rows] = -1
        problem_numbers[rows] = [number_of(problem) for problem in refused.values()]
    return numbers, plans, problems, problem_numbers


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
