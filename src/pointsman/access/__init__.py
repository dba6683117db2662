"""Who may publish and subscribe to what.

    rules (of principals) ─▶ unusable, access (check, narrow)

Rules are patterns that a principal may, or may not, publish or subscribe to. What no rule allows is refused, and a rule
that denies wins over all that allow.
"""

from pointsman.access.access import Access, Narrowing, Verdict, narrow
from pointsman.access.rules import (
    EFFECTS,
    OPERATIONS,
    Effect,
    Operation,
    Origin,
    Principal,
    Rule,
    in_order,
    parse_data,
    parse_lines,
    read_data,
    read_lines,
)
from pointsman.access.unusable import Unusable, unusable_rules

__all__ = [
    "EFFECTS",
    "OPERATIONS",
    "Access",
    "Effect",
    "Narrowing",
    "Operation",
    "Origin",
    "Principal",
    "Rule",
    "Unusable",
    "Verdict",
    "in_order",
    "narrow",
    "parse_data",
    "parse_lines",
    "read_data",
    "read_lines",
    "unusable_rules",
]
