"""The doctor of a queue's file."""
