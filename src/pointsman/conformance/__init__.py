"""Conformance: does Pointsman do what the real servers do? Cases in JSON files, judged one by one.

A file holds a list of cases; what a case asks is told by its fields, so that kinds may be mixed in one file.
"""

from pointsman.conformance.files import load_cases
from pointsman.conformance.judge import judge, judge_file
from pointsman.conformance.outcome import Outcome

__all__ = ["Outcome", "judge", "judge_file", "load_cases"]
