"""The Spark runtime: each stage of the routing table as a function from DataFrame to DataFrame.

Importing it imports nothing of Spark: every function does so when it is called.
"""

from pointsman.pipeline.resolve import resolve
from pointsman.pipeline.session import local_session

__all__ = ["local_session", "resolve"]
