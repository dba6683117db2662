"""What every matching engine must do, written once: an engine inherits ``MatchingBehaviour`` and says how it is asked.

An engine takes patterns, each with the name of its dialect, and the texts of subjects. For each text it gives the
sorted positions of the patterns that match, or None when it is a subject in none of the dialects of the patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.conformance import load_cases
from pointsman.errors import PatternError, SubjectError
from pointsman.patterns import Pattern, Subject
from tests import reference
from tests.patterns.strategies import NAMES, patterns, subjects

Patterns = Sequence[tuple[str, str]]
Matches = list[list[int] | None]

CASES = Path(__file__).parent.parent / "conformance" / "match.json"

in_every_dialect = pytest.mark.parametrize("dialect", NAMES)


def is_subject(text: str, dialect: str) -> bool:
    """Whether the dialect allows the text as a subject."""
    try:
        Subject(text, dialect)
    except SubjectError:
        return False
    return True


def is_pattern(text: str, dialect: str | None) -> bool:
    """Whether the dialect, or none that was chosen, allows the text as a pattern."""
    try:
        Pattern(text, dialect)
    except PatternError:
        return False
    return True


def expected(some: Patterns, texts: Sequence[str]) -> Matches:
    """What an engine must give, by the slow reference; for short patterns and subjects only."""
    answers: Matches = []
    for text in texts:
        valid = {dialect for _, dialect in some if is_subject(text, dialect)}
        positions = [
            position
            for position, (pattern, dialect) in enumerate(some)
            if dialect in valid and reference.matches(pattern, text, dialect)
        ]
        answers.append(positions if valid else None)
    return answers


# dialect, patterns, subject, positions of the patterns that match
EDGES = [
    ("nats", [">", "a.>", "*", "a.*.>", "*.>"], "a", [0, 2]),
    ("nats", [">", "a.>", "a.*", "a.*.>", "*.>"], "a.b", [0, 1, 2, 4]),
    ("nats", ["$a", "*", ">"], "$a", [0, 1, 2]),
    ("nats", ["foo*", "*"], "foo*", [0, 1]),
    ("nats", ["a", ">"], "a..b", None),
    ("nats", ["a", ">"], "a b", None),
    ("nats", ["a.*", ">"], "a.>", None),
    ("amqp", ["", "#", "#.#", "*", "*.#", "."], "", [0, 1, 2]),
    ("amqp", ["*", "*.*", "#.*", ".#", "..", "."], ".", [1, 2, 3, 5]),
    ("amqp", ["a.#", "a.#.#", "#.a.#", "#.a", "a.*", "#.a.#.a.#"], "a", [0, 1, 2, 3]),
    ("amqp", ["a.#.b", "a.#.#.b", "#.b", "a.*.#.b", "#.a.#.b.#"], "a.b", [0, 1, 2, 4]),
    ("amqp", ["#.a.#", "#.a.#.a.#", "#.a.a", "#.a.#.a.#.a"], "a.a", [0, 1, 2]),
    ("amqp", ["a", "#"], "x" * 256, None),
    ("zato", ["Orders.New", "orders.*", "ORD*.n*w", "**.NEW", "**"], "oRDERS.nEW", [0, 1, 2, 3, 4]),
    ("zato", ["ord*s", "*d*r*", "o*o", "ord*ders", "orders*"], "orders", [0, 1, 4]),
    ("zato", ["a**b", "a.**.b", "a**.b", "x.a**b", "***", "a.b**"], "a.b", [0, 1, 2, 4, 5]),
    ("zato", ["a.**.c*", "a.*b.**", "**.*c", "*.*"], "a.b.c", [0, 1, 2]),
    ("zato", ["**.a*.**", "**.a*", "**.a*.**.a*"], "ab.ac", [0, 1, 2]),
    ("zato", ["a..b", "a.*.b", "a.*", "a**"], "a..b", [0, 1, 3]),
    ("zato", ["*", "a#", "a*"], "a#", None),
    ("mqtt", ["#", "+/#", "+", "$SYS/#", "$SYS", "$SYS/+"], "$SYS", [3, 4]),
    ("mqtt", ["#", "+/x", "$SYS/#", "$SYS/x", "$SYS/+", "$SYS/+/#"], "$SYS/x", [2, 3, 4, 5]),
    ("mqtt", ["a/#", "a", "a/+", "#", "+/#"], "a", [0, 1, 3, 4]),
    ("mqtt", ["+/+", "/+", "/#", "+", "//"], "/", [0, 1, 2]),
    ("mqtt", ["a/+", "#"], "a/+", None),
]


class MatchingBehaviour:
    """The cases. An engine's test class inherits them and defines ``match``."""

    examples = max(50, settings.default.max_examples // 4)
    """Of each property; an example asks many patterns about several subjects at once."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Asks the engine."""
        raise NotImplementedError

    @pytest.mark.parametrize(("dialect", "texts", "subject", "positions"), EDGES)
    def test_the_edges_of_each_dialect_are_where_they_should_be(
        self, dialect: str, texts: list[str], subject: str, positions: list[int] | None
    ) -> None:
        """Cases that a quick implementation gets wrong."""
        assert self.match([(text, dialect) for text in texts], [subject]) == [positions]

    @in_every_dialect
    def test_the_cases_of_the_real_servers_hold_with_all_their_patterns_in_one_index(self, dialect: str) -> None:
        """Each case is asked among the patterns of all the others."""
        cases = [case for case in load_cases(CASES) if case["dialect"] == dialect]
        texts = list(dict.fromkeys(case["pattern"] for case in cases if is_pattern(case["pattern"], dialect)))
        asked = list(dict.fromkeys(case["subject"] for case in cases))
        answers = dict(zip(asked, self.match([(text, dialect) for text in texts], asked), strict=True))
        assert len(cases) > 50
        for case in cases:
            answer = answers[case["subject"]]
            if case["matches"] is None:
                assert answer is None or case["pattern"] not in texts, case
            else:
                assert (texts.index(case["pattern"]) in (answer or [])) == case["matches"], case

    @in_every_dialect
    def test_patterns_of_one_dialect_match_what_the_slow_reference_says(self, dialect: str) -> None:
        """Generated patterns, asked together."""

        @settings(max_examples=self.examples)
        @given(
            st.lists(patterns(dialect).map(lambda pattern: (pattern.text, dialect)), min_size=1, max_size=12),
            st.lists(subjects(dialect).map(str), max_size=5),
        )
        def check(some: list[tuple[str, str]], texts: list[str]) -> None:
            assert self.match(some, texts) == expected(some, texts)

        check()

    def test_patterns_of_several_dialects_each_match_by_their_own_rules(self) -> None:
        """A text is read in every dialect in which it is a subject, and by the patterns of that dialect only."""
        pattern = st.sampled_from(NAMES).flatmap(lambda name: patterns(name).map(lambda each: (each.text, name)))
        text = st.sampled_from(NAMES).flatmap(lambda name: subjects(name).map(str))

        @settings(max_examples=self.examples)
        @given(st.lists(pattern, min_size=1, max_size=12), st.lists(text, max_size=5))
        def check(some: list[tuple[str, str]], texts: list[str]) -> None:
            assert self.match(some, texts) == expected(some, texts)

        check()

    @in_every_dialect
    def test_any_text_is_matched_or_known_as_no_subject(self, dialect: str) -> None:
        """Whatever the text, the answer is None exactly when the dialect does not allow it."""
        some = [(text, dialect) for text in {"nats": ["*", "a.>"], "mqtt": ["+", "a/#"]}.get(dialect, ["*", "a"])]

        @settings(max_examples=self.examples)
        @given(st.lists(st.text(max_size=8) | st.text("a.*>+#/ $\t\0\ud800é", max_size=6), max_size=4))
        def check(texts: list[str]) -> None:
            assert self.match(some, texts) == expected(some, texts)

        check()

    def test_a_pattern_given_several_times_is_found_at_each_position(self) -> None:
        """Nothing is lost when many want the same."""
        some = [(text, "amqp") for text in ["a.*", "a.b", "a.#", "#.b"] for _ in range(40)]
        assert self.match(some, ["a.b", "a", "b"]) == [list(range(160)), list(range(80, 120)), list(range(120, 160))]

    def test_hostile_many_wildcards_take_no_more_than_linear_time(self) -> None:
        """Trying each way to read these would take longer than anyone lives."""
        hostile = [".".join(["#", "a"] * count + ["#", "b"]) for count in range(1, 63)]
        friendly = [".".join(["#", "a"] * count + ["#"]) for count in range(1, 63)]
        some = [(text, "amqp") for text in hostile + friendly]
        subject = ".".join(["a"] * 127)
        assert self.match(some, [subject, "a.a.b"]) == [list(range(62, 124)), [0, 1, 62, 63]]

    def test_a_pattern_may_have_ten_thousand_tokens(self) -> None:
        """Depth is not paid for by recursion."""
        name = ".".join(["a"] * 10_000)
        some = [(text, "nats") for text in (name, f"{name}.*", f"{name}.>", f"*{name[1:]}", "a.>")]
        assert self.match(some, [name, f"{name}.a", name[2:]]) == [[0, 3, 4], [1, 2, 4], [4]]
