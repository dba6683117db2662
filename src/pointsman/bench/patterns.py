"""One pattern, one subject: ``Pattern.matches`` against the regular expression that says the same."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import partial

from pointsman.bench.timing import microseconds
from pointsman.patterns import Pattern, Subject


@dataclass(frozen=True, slots=True)
class Row:
    """Microseconds a match, by each of the two."""

    name: str
    shown: str
    pattern: float
    regex: float

    def as_dict(self) -> dict[str, str | float]:
        """For ``--json``."""
        return asdict(self)


# name, pattern (amqp), subject, the same as a regular expression over the text
CASES = (
    ("exact", "orders.electronics.laptops", "orders.electronics.laptops", r"orders\.electronics\.laptops"),
    ("one token", "orders.*.laptops", "orders.electronics.laptops", r"orders\.[^.]*\.laptops"),
    ("tail", "orders.#", "orders.electronics.laptops.premium", r"orders(?:\.[^.]*)*"),
    ("middle", "orders.#.premium", "orders.electronics.laptops.premium", r"orders(?:\.[^.]*)*\.premium"),
    (
        "hostile, 4 #",
        ".".join(["#", "a"] * 4 + ["b"]),
        ".".join(["a"] * 30),
        r"(?:[^.]*\.)*a\." * 4 + "b",
    ),
)


def run() -> list[Row]:
    """The measurements; each subject is parsed beforehand, for both."""
    rows = []
    for name, text, subject_text, expression in CASES:
        pattern, subject = Pattern(text, "amqp"), Subject(subject_text, "amqp")
        compiled = re.compile(expression)
        if pattern.matches(subject) != (compiled.fullmatch(subject_text) is not None):
            raise AssertionError(f"{text} and {expression} disagree")
        ours = microseconds(partial(pattern.matches, subject))
        theirs = microseconds(partial(compiled.fullmatch, subject_text))
        rows.append(Row(name, text, ours, theirs))
    return rows
