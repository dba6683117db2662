"""Wildcard subscriptions on Spark: compiled for the workers, resolved a page at a time, delivered to their owners."""
