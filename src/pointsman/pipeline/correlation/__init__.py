"""Sagas and gatherings on Spark: states by correlation id, kept in buckets, with timers.

Importing it imports nothing of Spark: every function does so when it is called.
"""

from pointsman.pipeline.correlation.stream import follow, follow_sagas, gather

__all__ = ["follow", "follow_sagas", "gather"]
