"""Pointsman decides who gets which message: routing by hierarchical subject.

>>> from pointsman import Pattern
>>> Pattern("orders.*.laptops", dialect="amqp").matches("orders.electronics.laptops")
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pointsman._util.extras import require
from pointsman._version import __version__
from pointsman.errors import PointsmanError

if TYPE_CHECKING:
    from pointsman.broker.broker import Broker
    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.live import SubjectIndex
    from pointsman.message import Message
    from pointsman.patterns import NamingStandard, Pattern, Subject, Template
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


_PLACES = {
    "Broker": "pointsman.broker.broker",
    "CompiledIndex": "pointsman.matching.compiled",
    "Message": "pointsman.message",
    "NamingStandard": "pointsman.patterns",
    "Pattern": "pointsman.patterns",
    "Queue": "pointsman.store.queue",
    "RoutingTable": "pointsman.table.routing_table",
    "Subject": "pointsman.patterns",
    "SubjectIndex": "pointsman.matching.live",
    "Template": "pointsman.patterns",
}


def __getattr__(name: str) -> object:
    """A module is imported when a name of it is used: no command waits for what only others need."""
    if name in _PLACES:
        if name == "CompiledIndex":
            require("numpy", "numba", "pyarrow")
        found = getattr(import_module(_PLACES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
