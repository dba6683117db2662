"""Spark itself: its session, its Java, its workers, its files, and what it raises."""
