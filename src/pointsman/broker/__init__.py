"""The embedded broker: a routing table, a durable queue and the handlers, in one process or several on one file."""
