"""The Spark runtime: each stage of the routing table as a function from DataFrame to DataFrame.

Importing it imports nothing of Spark: every function does so when it is called.
"""

from pointsman.pipeline.deliver import deliver
from pointsman.pipeline.destinations.place import Sink
from pointsman.pipeline.queue_source import register
from pointsman.pipeline.spark.session import local_session
from pointsman.pipeline.stages import Routed, authorize, route, select, translate
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions, compile_subscriptions
from pointsman.pipeline.subscriptions.flow import SubscriptionFlow
from pointsman.pipeline.subscriptions.resolve import resolve
from pointsman.pipeline.subscriptions.versions import SubscriptionVersions

__all__ = [
    "CompiledSubscriptions",
    "Routed",
    "Sink",
    "SubscriptionFlow",
    "SubscriptionVersions",
    "authorize",
    "compile_subscriptions",
    "deliver",
    "local_session",
    "register",
    "resolve",
    "route",
    "select",
    "translate",
]
