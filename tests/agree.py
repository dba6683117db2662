"""Asks every matching engine the same questions and stops at the first disagreement.

    python -m tests.agree [--pairs 1000000] [--seed 1]

So many pairs of a set of patterns and a subject are asked in each dialect: of ``Pattern.matches``, of the live index
with and without its cache, and of the compiled index, fresh and opened from its file. Invalid subjects are asked too,
and not counted.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from pointsman.errors import PatternError, SubjectError
from pointsman.matching.compiled import CompiledIndex
from pointsman.matching.live import SubjectIndex
from pointsman.patterns import DIALECTS, Pattern, Subject
from tests.fuzz import SIGNS, pattern, subject


def ask(dialect: str, source: random.Random, folder: Path) -> tuple[int, str | None]:
    """One set of patterns and subjects: how many pairs were asked, and what is wrong, if anything."""
    patterns: list[Pattern] = []
    size = source.choice((1, 5, 40, 80))
    while len(patterns) < size:
        text = pattern(source, dialect)
        try:
            patterns.append(Pattern(text, dialect))
        except PatternError:
            continue
    texts = [subject(source, dialect) for _ in range(100)]
    texts += ["".join(source.choice(SIGNS[:-1]) for _ in range(source.randint(0, 10))) for _ in range(10)]
    wanted = [_reference(patterns, text) for text in texts]
    index = CompiledIndex.build([each.text for each in patterns], dialect)
    index.save(folder / "index")
    answers = {
        "compiled": index.match(texts).to_pylist(),
        "reopened": CompiledIndex.open(folder / "index").match(texts).to_pylist(),
    }
    for name, size in (("live", 10), ("live without cache", 0)):
        live: SubjectIndex[int] = SubjectIndex(dialect, cache_size=size)
        for number, each in enumerate(patterns):
            live.add(each, number)
        answers[name] = [_live(live, text) for text in texts]
    for name, answer in answers.items():
        for text, right, given in zip(texts, wanted, answer, strict=True):
            if right != given:
                wrong = set(right or []) ^ set(given or [])
                return 0, f"{name}: {text!r}: {right} or {given}? {[patterns[number].text for number in wrong]}"
    return sum(right is not None for right in wanted), None


def _reference(patterns: list[Pattern], text: str) -> list[int] | None:
    try:
        valid = Subject(text, patterns[0].dialect)
    except SubjectError:
        return None
    return [number for number, each in enumerate(patterns) if each.matches(valid)]


def _live(index: SubjectIndex[int], text: str) -> list[int] | None:
    try:
        return sorted(index.match(text))
    except SubjectError:
        return None


def main(arguments: list[str] | None = None) -> int:
    """Asks for as long as it takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        for dialect in DIALECTS:
            source = random.Random(f"{options.seed} {dialect}")
            asked = 0
            while asked < options.pairs:
                count, wrong = ask(dialect, source, Path(folder))
                if wrong:
                    print(f"{dialect}: {wrong}")
                    return 1
                asked += count
            print(f"{dialect}: {asked} pairs, 0 disagreements")
    return 0


if __name__ == "__main__":
    sys.exit(main())
