"""Sagas and gatherings on Spark: state by correlation id, kept in buckets, with timers.

Importing it imports nothing of Spark: every function does so when it is called.
"""

from pointsman.pipeline.stateful.follow import follow
from pointsman.pipeline.stateful.gather import gather
from pointsman.pipeline.stateful.saga import follow_sagas

__all__ = ["follow", "follow_sagas", "gather"]
