"""Subjects: what the table makes of each different one, worked out once and remembered between batches."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pointsman.columns.plans import IntArray, Plans
from pointsman.columns.questions import is_writable, texts_of, writable
from pointsman.errors import NamingError, SubjectError, TemplateError
from pointsman.matching.compiled import CompiledIndex
from pointsman.table.routing_table import RoutingTable

MOST_KEPT = 1 << 17
"""Subjects that are remembered; when there are more, all are forgotten."""
SMALL = 1 << 10
"""A dictionary of no more subjects is always remembered."""


class Problem(NamedTuple):
    """What is wrong with a message: the stage that found it, a code and the reason."""

    stage: str
    code: str
    reason: str


NO_SUBJECT = Problem("resolve", "not-text", "the subject is missing")
NOT_UTF8 = Problem("resolve", "not-utf8", "the subject is not UTF-8")
NOTHING_KNOWN: tuple[str | None, int, Problem | None] = (None, -1, NO_SUBJECT)


class Looked(NamedTuple):
    """What is known of a dictionary of subjects."""

    texts: list[str | None]
    """Each after translation."""
    plans: IntArray
    """The number of the plan of each; -1 where something is wrong with it."""
    problems: dict[int, Problem]
    """What is wrong, by the place of the subject."""


class Subjects:
    """From subjects to plans, by the translations, the naming standard and the routes of a table."""

    def __init__(self, table: RoutingTable, plans: Plans) -> None:
        self._table = table
        self._plans = plans
        self._changes = bool(table.translations) or table.enforced is not None
        self.is_random = any(rule.template.is_random for rule in table.translations)
        """Whether two messages of one subject may get different ones; then each row has its own."""
        self._random: Callable[[], float] = Random(0).random  # noqa: S311, it spreads subjects and guards nothing
        self._known: dict[str, tuple[str | None, int, Problem | None]] = {}
        columns: dict[str, list[int]] = {table.dialect.name: []}
        for number, route in enumerate(plans.routes):
            columns.setdefault(route.pattern.dialect.name, []).append(number)
        texts = {name: [plans.routes[each].pattern.text for each in numbers] for name, numbers in columns.items()}
        order = [number for numbers in columns.values() for number in numbers]
        self._is_sorted = order == sorted(order)
        self._index = CompiledIndex.build(
            {name: pa.array(each, pa.string()) for name, each in texts.items()}, ids=pa.array(order, pa.int32())
        )

    def look_up(self, dictionary: Any, rows: int, seed: tuple[int, ...] = (0,)) -> Looked:
        """What is known of the subjects in a dictionary of so many rows.

        They are remembered for the next batch, unless most rows have one of their own. ``seed`` is the source of chance
        for templates that ask for it: the same seed gives the same subjects.
        """
        texts = texts_of(dictionary)
        if self.is_random:
            self._random = Random(repr(seed)).random  # noqa: S311, as above
        if self.is_random or len(texts) > max(rows // 2, SMALL):
            return self._resolve(texts, dictionary)
        known = self._known
        if len(known) + len(texts) > MOST_KEPT:
            known.clear()
        new = [text for text in texts if text is not None and text not in known]
        if new:
            found = self._resolve([*new], None)
            for place, (text, *told) in enumerate(zip(new, found.texts, found.plans.tolist(), strict=True)):
                known[text] = (*told, found.problems.get(place))
        looked = [NOTHING_KNOWN if text is None else known[text] for text in texts]
        numbers = np.fromiter((number for _, number, _ in looked), np.int32, len(looked))
        problems = {place: problem for place, (_, _, problem) in enumerate(looked) if problem is not None}
        return Looked([subject for subject, _, _ in looked], numbers, problems)

    def _resolve(self, texts: list[str | None], dictionary: Any | None) -> Looked:
        problems: dict[int, Problem] = {}
        if self._changes:
            texts = [
                None if text is None else self._translated(text, place, problems) for place, text in enumerate(texts)
            ]
            dictionary = None
        if dictionary is None:
            fine = [None if place in problems else text for place, text in enumerate(texts)]
            dictionary = pa.array(writable(fine), pa.string())
        found = self._index.match(dictionary)
        plans = self.plans_of(found)
        for place in np.flatnonzero(plans < 0).tolist():
            text = texts[place]
            problem = problems.get(place) or (NO_SUBJECT if text is None else self._invalid(text))
            if problem is None:
                plans[place] = self._plans.number(np.empty(0, np.int32))
            else:
                problems[place] = problem
        return Looked(texts, plans, problems)

    def plans_of(self, found: Any) -> IntArray:
        """The number of the plan of each list of routes; -1 where it is null."""
        values = np.ascontiguousarray(found.values.to_numpy(zero_copy_only=False), np.int32)
        offsets = found.offsets.to_numpy().astype(np.int64) * values.itemsize
        # Arrow tells different texts apart, but not lists: each list is taken for the bytes of its numbers.
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
        texts = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(found), buffers).dictionary_encode()
        numbers = np.empty(len(texts.dictionary), np.int32)
        for place, each in enumerate(texts.dictionary.to_pylist()):
            routes = np.frombuffer(each, np.int32)
            numbers[place] = self._plans.number(routes if self._is_sorted else np.sort(routes))
        valid = found.is_valid().to_numpy(zero_copy_only=False)
        return np.where(valid, numbers[texts.indices.to_numpy()], np.int32(-1)) if len(found) else numbers

    def _translated(self, subject: str, place: int, problems: dict[int, Problem]) -> str:
        """The new subject; the same one if there is a problem, which is noted."""
        try:
            new = self._table.translate(subject, self._random)
            self._table.check_name(new)
        except TemplateError as error:
            problem = error.__cause__.problem if isinstance(error.__cause__, SubjectError) else error.problem
            reason = f"the template {error.text or ''!r} makes of it what is no subject: {problem}"
            problems[place] = Problem("translate", "invalid-result", reason)
        except (NamingError, SubjectError) as error:
            problems[place] = Problem("translate", error.code, error.problem)
        else:
            return new
        return subject

    def _invalid(self, subject: str) -> Problem | None:
        """What is wrong with a subject that no dialect of the routes has; None if that of the table has it."""
        if not is_writable(subject):
            return NOT_UTF8
        try:
            self._table.index.match(subject)
        except SubjectError as error:
            return Problem("resolve", error.code, error.problem)
        return None
