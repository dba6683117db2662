"""The stateful processor that Spark runs for each bucket. Imported only when a stream is made, and by the workers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from pointsman.errors import PointsmanError
from pointsman.pipeline.correlation.bucket import Bucket
from pointsman.pipeline.correlation.rows import crossing, in_order
from pointsman.pipeline.correlation.states import States, tables_of
from pointsman.table.loading.document import without_collector

STATE = "bucket"
Frame = Any
"""A DataFrame of pandas, which has no types of its own."""


class BucketProcessor(StatefulProcessor):
    """Follows the sagas and gatherings of a bucket.

    ``part`` is the plain data of the part of the table as JSON; ``exact`` says whether the time is that of the
    events, and otherwise that of the batch.
    """

    def __init__(self, part: str, *, exact: bool) -> None:
        self._part = part
        self._exact = exact

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the state: the bytes of a bucket."""
        self._handle = handle
        self._state = handle.getValueState(STATE, "blob binary")

    def handleInputRows(  # noqa: N802  # so it is called
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Frame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Frame]:
        """Handles the events of a bucket that have come with a batch."""
        # All objects live until the bucket is stored, and none after it: the collector would search in vain.
        with without_collector():
            made = [*self._follow(rows, self._present(timerValues))]
        yield from made

    def _follow(self, rows: Iterator[Frame], present: float) -> Iterator[Frame]:
        states, bucket = self._open()
        for event in in_order(rows):
            now = present if event.seconds is None or not self._exact else event.seconds
            try:
                message = event.message()
            except PointsmanError as error:
                states.refuse(event.id, event.id, error.problem, now)
            else:
                states.handle(message, now)
        yield from self._close(states, bucket, None)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Frame]:
        """Takes the timeouts of a bucket that are due."""
        states, bucket = self._open()
        states.expire(self._present(timerValues))
        yield from self._close(states, bucket, expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is held."""

    def _present(self, times: TimerValues) -> float:
        milliseconds = times.getCurrentWatermarkInMs() if self._exact else times.getCurrentProcessingTimeInMs()
        return float(milliseconds) / 1000

    def _open(self) -> tuple[States, Bucket]:
        stored = self._state.get()
        bucket = Bucket(None if stored is None else bytes(stored[0]))
        return States(tables_of(self._part), bucket, exact=self._exact), bucket

    def _close(self, states: States, bucket: Bucket, fired: int | None) -> Iterator[Frame]:
        """Stores the bucket, sets its timer, and gives the rows."""
        self._set_timer(bucket, fired)
        if bucket.is_changed:
            if len(bucket):
                self._state.update((bucket.encode(),))
            else:
                self._state.clear()
        if states.rows:
            import pandas as pd  # type: ignore[import-untyped, import-not-found, unused-ignore]

            yield pd.DataFrame(crossing(states.rows), dtype=object)

    def _set_timer(self, bucket: Bucket, fired: int | None) -> None:
        """One timer for each bucket, at the earliest time at which something is due in it."""
        earliest = bucket.earliest
        wanted = None if earliest is None else math.ceil(earliest * 1000)
        if wanted is not None and fired is not None:
            # Spark takes the timer away that has fired, after this.
            wanted = max(wanted, fired + 1)
        if wanted == bucket.timer:
            return
        if bucket.timer is not None and bucket.timer != fired:
            self._handle.deleteTimer(bucket.timer)
        if wanted is not None:
            self._handle.registerTimer(wanted)
        bucket.timer, bucket.is_changed = wanted, True
