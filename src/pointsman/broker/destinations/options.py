"""What the options of all types of destinations have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

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
