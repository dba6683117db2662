"""What ``decide`` and a broker make of the same messages, in one form."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import NamedTuple

from pointsman.broker.state import write_changes
from pointsman.errors import AccessError, NamingError, SubjectError, TemplateError
from pointsman.testing import Clock, MemoryBroker
from tests.pipeline.tables import NOW, Case, shown

WRITTEN = """
SELECT m.id, m.body, k.text, coalesce(v.name, ''), s.name, r.reason FROM
(SELECT subscription, sequence, via, NULL AS reason FROM ready
 UNION ALL SELECT subscription, sequence, via, reason FROM dead) AS r
JOIN message AS m ON m.sequence = r.sequence JOIN key AS k ON k.id = m.key
JOIN subscription AS s ON s.id = r.subscription LEFT JOIN via AS v ON v.id = r.via
"""
REFUSALS = (AccessError, NamingError, SubjectError, TemplateError)


class Row(NamedTuple):
    """A delivery that waits, a dead letter with its reason, or a message that is refused or that nobody gets."""

    id: str
    outcome: str
    subject: str
    body: bytes = b""
    route: str = ""
    destination: str = ""
    reason: str = ""


def decided_once(case: Case, seed: int) -> Counter[Row]:
    """What ``decide`` makes of the messages, one after the other."""
    rows: Counter[Row] = Counter()
    state, random = case.state, Random(seed)
    names = {route.name: route.names for route in case.table.routes}
    for sent in case.sent:
        message = sent.message
        if message is None:
            continue
        try:
            decision = case.table.decide(message, state, now=NOW, random=random.random, principal=sent.principal)
            if decision.error is not None:
                raise decision.error
        except REFUSALS as error:
            rows[Row(message.id, f"refused: {error.code}", message.subject)] += 1
            continue
        state = decision.state
        kept = (decision.subject, message.body)
        # A route has one delivery to each destination, whether it is its own or the fallback of another.
        for route, to, instead in {(each.route, each.destination, each.instead_of) for each in decision.deliveries}:
            rows[Row(message.id, "waiting", *kept, f"{route}{instead or ''}", to)] += 1
        for route, _, reason in decision.problems:
            why = f"the route {route!r} cannot choose: {reason}"
            rows[Row(message.id, "dead", *kept, route, names[route][0], why)] += 1
        if not decision.deliveries and not decision.problems:
            rows[Row(message.id, "unrouted", decision.subject)] += 1
    return rows


async def brokered(case: Case, seed: int) -> Counter[Row]:
    """What a broker makes of them, as its file has it afterwards."""
    rows: Counter[Row] = Counter()
    async with MemoryBroker(case.table, clock=Clock(NOW), seed=seed) as broker:
        broker.queue.store.write(lambda transaction: write_changes(transaction, case.table, dict(case.state)))
        unrouted = {}
        for sent in case.sent:
            if sent.message is None:
                continue
            try:
                published = await broker.publish(sent.message, principal=sent.principal)
            except REFUSALS as error:
                rows[Row(sent.id, f"refused: {error.code}", sent.message.subject)] += 1
            else:
                if not published.deliveries:
                    unrouted[sent.id] = published.subject
        with broker.queue.store.read() as connection:
            for id, body, subject, via, name, reason in connection.execute(WRITTEN):
                unrouted.pop(id, None)
                where = (via.replace("\0", ""), name.removeprefix("destination:"))
                rows[Row(id, "waiting" if reason is None else "dead", subject, bytes(body), *where, reason or "")] += 1
    rows.update(Row(id, "unrouted", subject) for id, subject in unrouted.items())
    return rows


def broker_disagreement(case: Case, seed: int) -> str | None:
    """What the two do not agree about, for people; None if there is nothing."""
    wanted, found = decided_once(case, seed), asyncio.run(brokered(case, seed))
    problems = [f"only decide: {row}" for row in (wanted - found).elements()]
    problems += [f"only the broker: {row}" for row in (found - wanted).elements()]
    return "\n".join([*problems[:10], shown(case)]) if problems else None
