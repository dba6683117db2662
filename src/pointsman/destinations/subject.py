"""The destination ``subject``: the message is published again, under another subject.

The broker publishes; this says what. Each time the hop count in the metadata grows by one, and it ends at a limit, so
that two routes which send to each other cannot keep a message going round for ever.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from pointsman.destinations.base import Delivered, DeliveryFailed, Options, filled
from pointsman.message import Message

HOPS = "pointsman-hops"
"""The metadata key that counts how often a message was published again."""
MAXIMUM_HOPS = 16

_NUMBERED = re.compile(r"\$[0-9]|\{\{")
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)


def _without_wildcards(subject: str) -> str:
    if _NUMBERED.search(subject):
        problem = "a subject here is a text with at most {subject} in it; $1 and {{…}} are for translations"
        raise ValueError(problem)
    return subject


class SubjectOptions(Options):
    """The options of a destination of the type ``subject``."""

    subject: Annotated[str, AfterValidator(_without_wildcards)] = Field(
        min_length=1, description="The subject to publish under; {subject} stands for the one that the message has."
    )


def republished(delivery: Delivered, options: SubjectOptions) -> Message:
    """The message to publish; always the same one for the same delivery.

    It has the body, metadata, content type, time, source and correlation id of the one delivered, which is its cause.
    Its id is that of the delivery, so that publishing it twice counts once where ids are deduplicated. Raises
    ``DeliveryFailed``, not to be tried again, for a message that was published again ``MAXIMUM_HOPS`` times already.
    A hop count that is no number counts as none. Whether the subject is one is seen when it is published.
    """
    message = delivery.message
    found = message.metadata.get(HOPS, "")
    hops = int(found) if _COUNT.fullmatch(found) else 0
    if hops >= MAXIMUM_HOPS:
        reason = f"the message was published again {hops} times already; the routes send it round in a circle"
        raise DeliveryFailed(reason, retry=False)
    return message.replace(
        subject=filled(options.subject, message.subject),
        id=delivery.delivery_id,
        correlation_id=message.id if message.correlation_id is None else message.correlation_id,
        causation_id=message.id,
        metadata=dict(message.metadata) | {HOPS: str(hops + 1)},
    )
