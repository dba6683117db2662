"""What a message must say: SQL predicates over all of it, and conditions on its metadata.

    nodes, values, body, like ─▶ compile ─▶ predicate ◀─ parse ◀─ read_tree, literals ◀─ scan, scan_field
    nodes, values, like ─▶ field_range ─▶ satisfiable
    values ─▶ metadata ─▶ reading, writing

sqlglot is imported when the first predicate is made.
"""

from pointsman.conditions.metadata import AllOf, AnyOf, Condition, ExactlyOneOf, Negated, NumberComparison
from pointsman.conditions.predicate import FunctionPredicate, Predicate
from pointsman.conditions.satisfiability import can_hold
from pointsman.conditions.serialize import read_condition, write_condition
from pointsman.matching.terms.reference import Group, Matcher, Subscription

__all__ = [
    "AllOf",
    "AnyOf",
    "Condition",
    "ExactlyOneOf",
    "FunctionPredicate",
    "Group",
    "Matcher",
    "Negated",
    "NumberComparison",
    "Predicate",
    "Subscription",
    "can_hold",
    "read_condition",
    "write_condition",
]
