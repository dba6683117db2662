"""Looks for inputs on which the package and the slow judges disagree, or anything but its own errors comes out.

    python -m tests.fuzz [--seconds 30] [--seed 1]

Each dialect gets the same share of the time. Ends with 1 at the first disagreement, which it prints.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from pointsman.errors import LimitError, PatternError, PointsmanError, SubjectError
from pointsman.patterns import DIALECTS, Pattern, Subject
from tests import oracle, reference
from tests.patterns.strategies import LAST, TOKENS, WILDCARDS

SIGNS = "ab.*#>+/$ é\0\ud800"


def pattern(source: random.Random, dialect: str) -> str:
    """Mostly a pattern of the dialect, now and then any signs."""
    if source.random() < 0.1:
        return "".join(source.choice(SIGNS) for _ in range(source.randint(0, 12)))
    tokens = [source.choice(TOKENS[dialect] + WILDCARDS[dialect]) for _ in range(source.randint(1, 6))]
    if dialect in LAST and source.random() < 0.4:
        tokens.append(LAST[dialect][0])
    return DIALECTS[dialect].separator.join(tokens)


def subject(source: random.Random, dialect: str) -> str:
    """A subject of the same tokens, and of one that no pattern names."""
    count = source.randint(0, 7)
    return DIALECTS[dialect].separator.join(source.choice([*TOKENS[dialect], "zz"]) for _ in range(count))


def check(one: Pattern, other: Pattern, some: list[str]) -> str | None:
    """What is wrong with these, if anything."""
    dialect = one.dialect.name
    if one.contains(other) != oracle.contains(one.text, other.text, dialect):
        return f"{one!r} contains {other!r}: {one.contains(other)}"
    if one.intersects(other) != oracle.intersects(one.text, other.text, dialect):
        return f"{one!r} intersects {other!r}: {one.intersects(other)}"
    try:
        common = one.intersection(other)
    except LimitError:
        common = None
    for text in some:
        try:
            valid = Subject(text, dialect)
        except SubjectError:
            continue
        for each in (one, other):
            if each.matches(valid) != reference.matches(each.text, valid.text, dialect):
                return f"{each!r} matches {text!r}: {each.matches(valid)}"
            captures = each.captures(valid)
            if captures is not None and Subject(each.fill(captures), dialect) != valid:
                return f"{each!r} on {text!r} captures {captures}"
        if common is not None:
            both = one.matches(valid) and other.matches(valid)
            if any(each.matches(valid) for each in common) != both:
                return f"{one!r} and {other!r} on {text!r}: intersection {common}"
    return None


def main() -> int:
    """Fuzzes for the time given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    for dialect in DIALECTS:
        source = random.Random(f"{options.seed} {dialect}")
        until = time.monotonic() + options.seconds / len(DIALECTS)
        pairs = refused = 0
        while time.monotonic() < until:
            try:
                one, other = Pattern(pattern(source, dialect), dialect), Pattern(pattern(source, dialect), dialect)
            except PatternError:
                refused += 1
                continue
            some = [subject(source, dialect) for _ in range(5)]
            try:
                wrong = check(one, other, some)
            except PointsmanError as error:
                wrong = f"{one!r}, {other!r}: {error}"
            if wrong:
                print(f"{dialect}: {wrong}")
                return 1
            pairs += 1
        print(f"{dialect}: {pairs} pairs of patterns agree; {refused} texts were refused as patterns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
