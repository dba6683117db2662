"""Sagas: a state machine for each correlation id, with commands, compensation and timeouts."""
