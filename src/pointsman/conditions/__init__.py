"""What a message must say: SQL predicates over all of it, and conditions on its metadata.

    nodes, values, body, like ─▶ compile ─▶ predicate ◀─ parse ◀─ read_tree, literals ◀─ scan, scan_field
    nodes, values, like ─▶ field_range ─▶ satisfiable
    values ─▶ metadata ─▶ reading, writing

sqlglot is imported when the first predicate is made.
"""

from pointsman.conditions.predicate import Predicate

__all__ = ["Predicate"]
