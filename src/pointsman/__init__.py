"""Pointsman decides who gets which message: routing by hierarchical subject.

>>> Pattern("orders.*.laptops", dialect="amqp").matches("orders.electronics.laptops")
True
"""

from typing import TYPE_CHECKING

from pointsman._version import __version__
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.patterns import NamingStandard, Pattern, Subject, Template

if TYPE_CHECKING:
    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.live import SubjectIndex
    from pointsman.table.routing_table import RoutingTable

__all__ = [
    "CompiledIndex",
    "Message",
    "NamingStandard",
    "Pattern",
    "PointsmanError",
    "RoutingTable",
    "Subject",
    "SubjectIndex",
    "Template",
    "__version__",
]


def __getattr__(name: str) -> object:
    """The names whose modules are heavy are imported when they are used."""
    if name == "CompiledIndex":
        from pointsman.matching.compiled import CompiledIndex

        return CompiledIndex
    if name == "SubjectIndex":
        from pointsman.matching.live import SubjectIndex

        return SubjectIndex
    if name == "RoutingTable":
        from pointsman.table.routing_table import RoutingTable

        return RoutingTable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
