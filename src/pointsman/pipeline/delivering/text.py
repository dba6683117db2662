"""Texts with a place for the subject, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.broker.destinations.options import SUBJECT_PLACE

if TYPE_CHECKING:
    from pyspark.sql import Column


def filled(template: str, subject: Column) -> Column:
    """The template with the subject in each of its places, as ``broker.destinations.options.filled`` makes it."""
    from pyspark.sql import functions as sf

    first, *others = template.split(SUBJECT_PLACE)
    parts = [sf.lit(first), *(part for text in others for part in (subject, sf.lit(text)))]
    return sf.concat(*parts)
