"""The messages that follow from what a message moved: commands of sagas, results of gatherings."""

from __future__ import annotations

import json
from typing import Any

from pointsman.broker.identity import derived_id
from pointsman.message import Message
from pointsman.routing.gather import Gathered
from pointsman.routing.saga.machine import Complete
from pointsman.table.correlate import SagaMove

RESULT_TYPE = "application/json"


def commands_of(moved: SagaMove, cause: Message | None) -> list[Message]:
    """The commands of a saga; each carries the body of the event that it follows from."""
    made: list[Message] = []
    for action in moved.outcome.actions:
        if isinstance(action, Complete):
            continue
        for command in action.commands:
            fields: dict[str, Any] = {
                "metadata": dict(command.metadata) | {"saga": moved.saga},
                "correlation_id": moved.correlation_id,
            }
            if cause is not None:
                what = f"{moved.saga}\0{len(made)}\0{command.subject}"
                fields |= {
                    "body": cause.body,
                    "content_type": cause.content_type,
                    "causation_id": cause.id,
                    "id": derived_id(cause.id, what),
                }
            made.append(Message(command.subject, **fields))
    return made


def result_of(to: str, route: str, correlation_id: str, gathered: Gathered) -> Message:
    """The result of a gathering, for whoever asked."""
    return Message(
        to,
        result_body(gathered),
        metadata={"gathered": route},
        content_type=RESULT_TYPE,
        correlation_id=correlation_id,
    )


def result_body(gathered: Gathered) -> bytes:
    """What a result says, of the type ``RESULT_TYPE``."""
    content = {
        "result": gathered.result,
        "source": gathered.source,
        "answers": [list(pair) for pair in gathered.answers],
        "missing": list(gathered.missing),
        "reason": gathered.reason.value,
    }
    return json.dumps(content).encode()
