"""The doctor of a queue's file: finds and explains what SQLite's own check misses, and sets aside what is damaged.

One file for each check; ``diagnosing.py`` runs them all, and ``repairing.py`` does what each finding says that it does.
"""
