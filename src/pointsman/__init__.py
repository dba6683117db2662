"""Pointsman decides who gets which message: routing by hierarchical subject.

>>> Pattern("orders.*.laptops", dialect="amqp").matches("orders.electronics.laptops")
True
"""

from pointsman._version import __version__
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.patterns import NamingStandard, Pattern, Subject, Template

__all__ = ["Message", "NamingStandard", "Pattern", "PointsmanError", "Subject", "Template", "__version__"]
