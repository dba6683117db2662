"""The embedded broker: the routing table, running in one process on one file."""
