"""What a pattern means: subjects, dialects, patterns and their algebra, templates, naming standards.

    dialect ─▶ subject ─▶ nodes ─▶ automaton ─▶ captures, algebra ─▶ pattern ─▶ convert, template, specificity

Nothing here imports a third-party package, reads a file, or knows the time.
"""

from pointsman.patterns.convert import Conversion, Fit
from pointsman.patterns.dialect import DIALECTS, Dialect, find_dialect
from pointsman.patterns.naming import CIM, STANDARDS, Field, NamingStandard
from pointsman.patterns.pattern import Capture, Pattern
from pointsman.patterns.specificity import Specificity, evaluation_key, evaluation_order
from pointsman.patterns.subject import Subject
from pointsman.patterns.template import Template

__all__ = [
    "CIM",
    "DIALECTS",
    "STANDARDS",
    "Capture",
    "Conversion",
    "Dialect",
    "Field",
    "Fit",
    "NamingStandard",
    "Pattern",
    "Specificity",
    "Subject",
    "Template",
    "evaluation_key",
    "evaluation_order",
    "find_dialect",
]
