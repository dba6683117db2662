"""Where the embedded broker's deliveries go: one type of destination, one file."""

from pointsman.broker.destinations.interface import Delivered, DeliveryFailed, Sink
from pointsman.broker.destinations.make import make_sink, read_options
from pointsman.broker.destinations.subject import SubjectOptions, republished
from pointsman.broker.destinations.types import TYPES, DestinationType, Repeated

__all__ = [
    "TYPES",
    "Delivered",
    "DeliveryFailed",
    "DestinationType",
    "Repeated",
    "Sink",
    "SubjectOptions",
    "make_sink",
    "read_options",
    "republished",
]
