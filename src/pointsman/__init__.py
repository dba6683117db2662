"""Pointsman decides who gets which message: routing by hierarchical subject.

>>> Pattern("orders.*.laptops", dialect="amqp").matches("orders.electronics.laptops")
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pointsman._version import __version__
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.patterns import NamingStandard, Pattern, Subject, Template

if TYPE_CHECKING:
    from pointsman.broker.broker import Broker
    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.live import SubjectIndex
    from pointsman.store.queue import Queue
    from pointsman.table.routing_table import RoutingTable

__all__ = [
    "Broker",
    "CompiledIndex",
    "Message",
    "NamingStandard",
    "Pattern",
    "PointsmanError",
    "Queue",
    "RoutingTable",
    "Subject",
    "SubjectIndex",
    "Template",
    "__version__",
]


_HEAVY = {
    "Broker": "pointsman.broker.broker",
    "CompiledIndex": "pointsman.matching.compiled",
    "Queue": "pointsman.store.queue",
    "RoutingTable": "pointsman.table.routing_table",
    "SubjectIndex": "pointsman.matching.live",
}


def __getattr__(name: str) -> object:
    """The names whose modules are heavy are imported when they are used."""
    if name in _HEAVY:
        return getattr(import_module(_HEAVY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
