"""``columns.route``: the routing table over an Arrow table of messages, in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.columns.balance import moved
from pointsman.columns.batch import NO_STATE, Batch, Decider, Turns
from pointsman.columns.codes import Code
from pointsman.columns.receive import PROBLEM
from pointsman.errors import InputError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

NAMED = ("route", "strategy", "destination", "instead_of", "probe", "waits")
ADDED = ("original_subject", *NAMED, "delivery_id", "problem")


@dataclass(frozen=True)
class Routed:
    """What became of messages: each of them is in at least one of the three tables.

    ``deliveries`` has a row for each message, route and destination, with ``delivery_id``; ``quarantine`` the messages
    that something is wrong with, and ``problem``: the stage, a code and the reason, with the ``route`` that could not
    choose a destination, if that is it; ``unrouted`` those that no route takes. All other columns are the message's
    own; ``subject`` is the one after translation, ``original_subject`` the one that it came with.
    """

    messages: pa.Table
    batch: Batch
    codes: list[Code]
    state: State
    """The state of the balances after these messages, for the next call."""

    @cached_property
    def deliveries(self) -> pa.Table:
        """One row for each delivery, in the order of the messages."""
        rows, codes = self.batch.rows[~self._stuck], self.batch.codes[~self._stuck]
        taken = self._taken(rows)
        named = self._named(codes)
        parts = [taken["id"].cast(pa.string()), named["route"], named["destination"]]
        named["delivery_id"] = pc.binary_join_element_wise(*parts, "/")
        return _with_columns(taken, named)

    @cached_property
    def quarantine(self) -> pa.Table:
        """The messages that something is wrong with; one that two routes cannot choose for is there twice."""
        batch = self.batch
        whole = np.flatnonzero(batch.found.problem_numbers >= 0)
        parts = np.flatnonzero(self._stuck)
        problems = [batch.found.problems[number] for number in batch.found.problem_numbers[whole].tolist()]
        codes = [self.codes[number] for number in batch.codes[parts].tolist()]
        rows = np.concatenate([whole, batch.rows[parts]])
        order = np.argsort(rows, kind="stable")
        routes = pa.array([None] * len(whole) + [code.route for code in codes], pa.string())
        every = [*problems, *(code.problem for code in codes)]
        told = pa.array([None if each is None else each._asdict() for each in every], PROBLEM)
        taken = self._taken(rows[order])
        return _with_columns(taken, {"route": routes.take(pa.array(order)), "problem": told.take(pa.array(order))})

    @cached_property
    def unrouted(self) -> pa.Table:
        """The messages that no route takes."""
        left = self.batch.found.problem_numbers < 0
        left[self.batch.rows] = False
        return self._taken(np.flatnonzero(left))

    @cached_property
    def _stuck(self) -> Any:
        """For each pair whether its route could not choose a destination."""
        stuck = np.fromiter((code.problem is not None for code in self.codes), np.bool_, len(self.codes))
        return stuck[self.batch.codes]

    def _taken(self, rows: Any) -> pa.Table:
        batch = self.batch
        chosen = self.messages.take(pa.array(rows, pa.int64()))
        original = chosen["subject"]
        # What was refused, or cannot be translated, keeps its subject.
        fine = batch.found.problem_numbers[rows] < 0
        numbers = pa.array(batch.found.subject_numbers[rows], mask=~fine)
        subject = pc.coalesce(batch.translated.take(numbers), original.cast(pa.string()).combine_chunks())
        place = chosen.column_names.index("subject")
        return chosen.set_column(place, "subject", subject).append_column("original_subject", original)

    def _named(self, codes: Any) -> dict[str, Any]:
        places = pa.array(codes, pa.int32())
        return {
            name: pa.array(
                [getattr(code, name) for code in self.codes],
                pa.bool_() if name in ("probe", "waits") else pa.string(),
            ).take(places)
            for name in NAMED
        }


def route(
    messages: pa.Table,
    table: RoutingTable,
    *,
    principal: str | None = None,
    state: State = NO_STATE,
    now: float | None = None,
    seed: int = 0,
) -> Routed:
    """Decides about every message as ``RoutingTable.decide`` does, one after the other.

    The messages need the column ``subject``; ``id``, ``metadata``, ``body``, ``time``, ``source``, ``correlation_id``,
    ``causation_id``, ``content_type`` and ``principal`` are used where they are, and all others pass through.
    ``position`` is the order of the messages, for balanced routes; without it, it is that of the rows. ``state`` is
    that of balances and breakers, ``now`` the time for the breakers, by default the clock's, ``seed`` the source of
    chance. Sagas and answers are not followed here.

    Raises ``InputError``: ``bad-usage`` for columns that are missing or in the way, ``function-on-spark`` for a table
    with Python functions. The table is made ready once, and remembered with the subjects that it has met. Safe between
    threads.
    """
    _check(messages, table)
    if "id" not in messages.column_names:
        numbers = pa.array(range(len(messages)), pa.int64()).cast(pa.string())
        messages = messages.append_column("id", pc.binary_join_element_wise("row", numbers, "-"))
    at = time.time() if now is None else now
    decider, turns = _decider(table), Turns()
    batch = decider.decide(messages, principal=principal, state=state, now=at, seed=(seed,), turns=turns)
    return Routed(messages, batch, decider.codes.names, moved(table, state, turns.taken))


def _check(messages: pa.Table, table: RoutingTable) -> None:
    if table.functions:
        names = ", ".join(map(repr, table.functions))
        raise InputError("function-on-spark", f"the table calls {names}, which only decide and a broker can")
    if "subject" not in messages.column_names:
        known = ", ".join(map(repr, messages.column_names))
        raise InputError("bad-usage", f"messages have no column 'subject', only {known}")
    for name in ADDED:
        if name in messages.column_names:
            raise InputError("bad-usage", f"messages have a column {name!r} already; rename it first")


@lru_cache(maxsize=8)
def _decider(table: RoutingTable) -> Decider:
    return Decider(table)


def _with_columns(table: pa.Table, columns: dict[str, Any]) -> pa.Table:
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table
