"""What ``decide`` and ``columns.route`` make of the same messages, in one form."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from pointsman.columns import route
from pointsman.pipeline.stages import DELIVERED, QUARANTINED, UNROUTED
from tests.pipeline.agreement import SCHEMA, SEED, Outcome, Result, balances_of, disagreement, row_of
from tests.pipeline.tables import NOW, Case


def routed(case: Case) -> Result:
    """What the columns make of a case, whose messages are in the opposite of their order."""
    rows = [row_of(0, position, each) for position, each in enumerate(case.sent)]
    messages = pa.Table.from_pylist(rows[::-1], SCHEMA)
    found = route(messages, case.table, state=case.state, now=NOW, seed=SEED)
    outcomes: Counter[Outcome] = Counter()
    for row in found.deliveries.to_pylist():
        known = {name: row[name] for name in Outcome._fields if name in row}
        outcomes[Outcome(outcome=DELIVERED, **known)] += 1
    for row in found.quarantine.to_pylist():
        problem = (row["problem"]["stage"], row["problem"]["code"], row["problem"]["reason"])
        names = (row["id"], QUARANTINED, row["subject"], row["original_subject"], row["route"])
        outcomes[Outcome(*names, problem=problem)] += 1
    for row in found.unrouted.to_pylist():
        outcomes[Outcome(row["id"], UNROUTED, row["subject"], row["original_subject"])] += 1
    return Result(outcomes, balances_of(found.state))


def columns_disagreement(case: Case) -> str | None:
    """What the two do not agree about, for people; None if there is nothing."""
    return disagreement(case, routed(case))
