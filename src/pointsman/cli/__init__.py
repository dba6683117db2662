"""The command line: one command, one file. Heavy parts are imported by the command that uses them."""

from pointsman.cli.main import main

__all__ = ["main"]
