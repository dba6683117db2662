"""Rows for what was moved, and for the messages that follow from it; those are the ones that the broker would send."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from pointsman.broker.following import RESULT_TYPE, result_body
from pointsman.broker.identity import derived_id
from pointsman.message import Message
from pointsman.pipeline.stateful.bucket import Notes
from pointsman.pipeline.stateful.rows import ANSWER, COMMAND, MOVE, RESULT, OutputRow
from pointsman.routing.saga import Compensate, Complete
from pointsman.routing.saga_definition import Command
from pointsman.table.followed import Gathering, SagaMove


def saga_rows(moved: SagaMove, cause: Message | str, notes: Notes, now: float) -> Iterator[OutputRow]:
    """The commands and the move; a cause that is no message is a text that names the timeout."""
    if isinstance(cause, Message):
        caused, source, body, content_type = cause.id, cause.id, cause.body, cause.content_type
    else:
        # The same one however often Spark has to work it out.
        caused, source, body, content_type = None, cause, b"", None
    saga, correlation_id = moved.saga, moved.correlation_id
    ends = undoes = False
    number = 0
    for action in moved.outcome.actions:
        if isinstance(action, Complete):
            ends = True
            continue
        undoes = undoes or isinstance(action, Compensate)
        for command in action.commands:
            yield OutputRow(
                COMMAND,
                saga,
                None,
                correlation_id,
                id=derived_id(source, f"{saga}\0{number}\0{command.subject}"),
                subject=command.subject,
                metadata=_metadata(command, saga),
                body=body,
                content_type=content_type,
                causation_id=caused,
                time=now,
            )
            number += 1
    reason = moved.problem or moved.outcome.ignored
    path = moved.outcome.path
    if moved.problem is not None:
        outcome = "problem"
    elif not path:
        outcome = "ignored"
    elif ends:
        outcome = "compensated" if undoes or notes.get("compensated", False) else "completed"
    else:
        outcome = "moved"
    yield OutputRow(MOVE, saga, None, correlation_id, outcome, reason, path, causation_id=caused, time=now)


def gathering_rows(moved: Gathering, cause: str | None, notes: Notes, now: float) -> Iterator[OutputRow]:
    """The answer, if it was one, and the result, if this completed it."""
    route, correlation_id = moved.route, moved.correlation_id
    if cause is not None:
        dropped = moved.outcome.dropped
        outcome = "problem" if moved.problem is not None else "taken" if dropped is None else dropped.value
        nothing = (None,) * 6
        yield OutputRow(ANSWER, None, route, correlation_id, outcome, moved.problem, *nothing, cause, now)
    if moved.gathered is None:
        return
    yield OutputRow(
        RESULT,
        None,
        route,
        correlation_id,
        moved.gathered.reason.value,
        id=derived_id(str(notes.get("request")), f"{route}\0result"),
        subject=notes.get("reply_to"),
        metadata=(("gathered", route),),
        body=result_body(moved.gathered),
        content_type=RESULT_TYPE,
        time=now,
    )


def compensates(moved: SagaMove) -> bool:
    """Whether something was undone."""
    return any(isinstance(action, Compensate) for action in moved.outcome.actions)


@lru_cache(maxsize=1024)
def _metadata(command: Command, saga: str) -> tuple[tuple[str, str], ...]:
    """Those of a command as it is sent."""
    return tuple((dict(command.metadata) | {"saga": saga}).items())
