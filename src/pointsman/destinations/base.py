"""The contract of destinations: a delivery, how it fails, the sink that takes it, and options that all types share."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from pointsman.message import Message

PathText = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
SUBJECT_PLACE = "{subject}"
"""What stands for the subject of the message in an option."""


class Options(BaseModel):
    """The options of one type; an option it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NoOptions(Options):
    """The options of a type that has none."""


def filled(template: str, subject: str) -> str:
    """The template with the subject in each of its places.

    >>> filled("archive.{subject}", "orders.paid"), filled("archive", "orders.paid")
    ('archive.orders.paid', 'archive')
    """
    return template.replace(SUBJECT_PLACE, subject)


# -- what the broker and the destinations have in common: a delivery, how it fails, and the sink that takes it


class Delivered(NamedTuple):
    """One delivery, as a sink gets it. The same id comes again when an attempt was not acknowledged."""

    delivery_id: str
    route: str
    destination: str
    message: Message
    """With the subject that it has after translation."""
    owner: str | None = None
    """Whose wildcard subscriptions matched, if they made it."""
    subscriptions: tuple[str, ...] = ()
    """The ids of those that matched, the first of them if they are many."""

    def as_record(self) -> dict[str, object]:
        """The delivery as one flat object that JSON can hold: ``Message.to_dict`` and the three names.

        One that wildcard subscriptions made also says whose they are, and which.
        """
        names = {"delivery_id": self.delivery_id, "route": self.route, "destination": self.destination}
        whose = {} if self.owner is None else {"owner": self.owner, "subscriptions": list(self.subscriptions)}
        return names | whose | self.message.to_dict()


class DeliveryFailed(Exception):  # noqa: N818 (it is an outcome of a delivery, which the broker always catches)
    """A delivery was not made, or it is not known that it was.

    ``retry`` says whether another attempt may succeed, and ``after`` how many seconds the destination asked to be left
    alone before it; None leaves the wait to the queue.
    """

    def __init__(self, reason: str, *, retry: bool = True, after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry = retry
        self.after = after


class Sink(Protocol):
    """Where the deliveries of one destination go.

    A sink belongs to one event loop. ``deliver`` may be called many times at once; it never blocks the loop.
    """

    async def open(self) -> None:
        """Make ready to deliver; must have returned before the first delivery.

        Raises ``InputError`` (``bad-destination``) or ``StoreError`` when the destination cannot be used, and
        ``MissingExtraError`` when the package that it needs is not installed. Nothing is left open then.
        """

    async def deliver(self, delivery: Delivered) -> None:
        """Hand over one delivery; when this returns, the destination has it, and on disk where it is a file.

        Raises ``DeliveryFailed``. A delivery that failed, or was cancelled, may still have been made.
        """

    async def close(self) -> None:
        """Let go of what ``open`` took; deliveries must have ended. A second call does nothing."""
