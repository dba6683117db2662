"""Where deliveries go: one type of destination, one file. The broker and the pipeline use the same ones."""

from pointsman.destinations.base import Delivered, DeliveryFailed, Sink
from pointsman.destinations.registry import TYPES, DestinationType, Repeated, make_sink, read_options
from pointsman.destinations.subject import SubjectOptions, republished

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
