"""Who may publish and subscribe to what.

    rule ─▶ lines, data ─▶ principal ─▶ unusable, narrow ─▶ check

Rules are patterns that a principal may, or may not, publish or subscribe to. What no rule allows is refused, and a rule
that denies wins over all that allow.
"""

from pointsman.access.check import Access, Verdict
from pointsman.access.data import parse_data, read_data
from pointsman.access.lines import parse_lines, read_lines
from pointsman.access.narrow import narrow
from pointsman.access.narrowing import Narrowing
from pointsman.access.principal import Principal
from pointsman.access.rule import EFFECTS, OPERATIONS, Effect, Operation, Origin, Rule, in_order
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
