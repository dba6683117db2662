"""The Spark runtime: each stage of the routing table as a function from DataFrame to DataFrame.

Importing it imports nothing of Spark: every function does so when it is called.
"""

from pointsman.pipeline.authorize import authorize
from pointsman.pipeline.deliver import deliver
from pointsman.pipeline.delivering.sink import Sink
from pointsman.pipeline.queue_source.registering import register
from pointsman.pipeline.resolve import resolve
from pointsman.pipeline.route import Routed, route
from pointsman.pipeline.select import select
from pointsman.pipeline.session import local_session
from pointsman.pipeline.translate import translate

__all__ = [
    "Routed",
    "Sink",
    "authorize",
    "deliver",
    "local_session",
    "register",
    "resolve",
    "route",
    "select",
    "translate",
]
