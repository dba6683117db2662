"""The counts of the demo as plain data, for machines."""

from __future__ import annotations

from typing import Any

from pointsman.demo.counts import Counts


def as_data(counts: Counts) -> dict[str, Any]:
    """The counts as values that JSON can hold, sorted by their names."""
    return {
        "messages": counts.messages,
        "routed": counts.routed,
        "unrouted": counts.unrouted.total(),
        "quarantined": [
            {**refusal._asdict(), "messages": count} for refusal, count in sorted(counts.quarantined.items())
        ],
        "deliveries": [{**flow._asdict(), "deliveries": count} for flow, count in sorted(counts.deliveries.items())],
        "by_route": dict(sorted(counts.by_route.items())),
        "by_destination": dict(sorted(counts.by_destination.items())),
        "failed": dict(sorted(counts.failed.items())),
        "turned_aside": [
            {"instead_of": name, "destination": to, "deliveries": count}
            for (name, to), count in sorted(counts.fallbacks.items())
        ],
        "sagas": dict(sorted(counts.sagas.items())),
        "commands": dict(sorted(counts.commands.items())),
        "commands_delivered": [
            {"route": route, "destination": name, "deliveries": count}
            for (route, name), count in sorted(counts.carried.items())
        ],
        "gatherings": [
            {"route": route, "complete_by": reason, "gatherings": count}
            for (route, reason), count in sorted(counts.gatherings.items())
        ],
        "dropped": [
            {"route": route, "reason": reason, "answers": count}
            for (route, reason), count in sorted(counts.dropped.items())
        ],
        "tales": [
            {
                "correlation_id": tale.correlation_id,
                "ending": tale.ending,
                "steps": [
                    {"time": step.time, "event": step.event, "states": step.states, "commands": step.commands}
                    for step in tale.steps
                ],
            }
            for tale in counts.tales
        ],
    }
