"""Messages as CloudEvents 1.0, and back, without loss in either direction."""

from pointsman.cloudevents.converters import from_event, from_json, to_event, to_json

__all__ = ["from_event", "from_json", "to_event", "to_json"]
