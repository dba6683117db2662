"""The durable queue: messages, deliveries and state in one SQLite file."""
