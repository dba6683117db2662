"""Patterns by example: matching, captures, comparing."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest

from pointsman.bench.timing import microseconds
from pointsman.errors import LimitError, PatternError, SubjectError
from pointsman.patterns import Pattern, Subject, evaluation_order, find_dialect
from pointsman.patterns.dialect import find_foreign_wildcard


def test_a_pattern_takes_a_subject_of_its_dialect_or_a_text() -> None:
    """A Subject of another dialect is read anew, by its text."""
    pattern = Pattern("a.*", "amqp")
    assert pattern.matches("a.b")
    assert pattern.matches(Subject("a.b", "amqp"))
    assert pattern.matches(Subject("a.b", "nats"))
    with pytest.raises(SubjectError):
        Pattern("a.*", "nats").matches(Subject("a.", "amqp"))


def test_matching_an_invalid_subject_is_an_error_and_not_a_no() -> None:
    """Whoever sends a wildcard has made a mistake that should show."""
    with pytest.raises(SubjectError):
        Pattern("a.>").matches("a.*")


@pytest.mark.parametrize(
    ("dialect", "pattern", "subject", "captures"),
    [
        ("nats", "a.b", "a.b", ()),
        ("nats", "*.b.>", "a.b.c.d", ("a", ("c", "d"))),
        ("nats", "a.>", "b.c", None),
        ("amqp", "#", "", ((),)),
        ("amqp", "a.#", "a", ((),)),
        ("amqp", "a.#", "a.", (("",),)),
        ("amqp", "#.b.#", "a.b.b", (("a",), ("b",))),
        ("amqp", "#.*", "a.b", (("a",), "b")),
        ("amqp", "*.#.*", "a.b", ("a", (), "b")),
        ("amqp", "#.#.b.#", "a.b", ((), ("a",), ())),
        ("mqtt", "+/#", "a", ("a", ())),
        ("mqtt", "+/+", "/b", ("", "b")),
        ("zato", "Ord*.X", "ORDers.x", ("ers",)),
        ("zato", "a**b", "A.x.B", (".x.",)),
        ("zato", "a.**.b*", "a.x.y.bc", (("x", "y"), "c")),
        ("zato", "a.**.b*", "a.b", ((), "")),
        ("zato", "a.**.b*.**", "a..b.", (("",), "", ("",))),
        ("zato", "**.a*", "ab", ((), "b")),
        ("zato", "**.a*.**", "x.ab", (("x",), "b", ())),
        ("zato", "**.**.a*", "x.ab", ((), ("x",), "b")),
        ("zato", "***", "a.b", ("a.b",)),
        ("zato", "*a*a", "aaa", ("", "a")),
        ("zato", "b*.**.a", "b.a", ("", ())),
        ("zato", "*ab*", "aab", ("a", "")),
        ("zato", "**.a.a**", "a.b.a.a", (("a", "b"), "")),
        ("zato", "**.b*.a**", "b.b.a", (("b",), "", "")),
        ("zato", "a.**.b.**.c*", "a.b.x.b.c.cd", ((), ("x", "b", "c"), "d")),
        ("zato", "a.**.b.**.c*", "a.x.b.c", (("x",), (), "")),
        ("zato", "x*.**.y*.**", "x1.y2.z.y3", ("1", (), "2", ("z", "y3"))),
    ],
)
def test_captures_are_what_the_wildcards_stand_for(
    dialect: str, pattern: str, subject: str, captures: tuple[str | tuple[str, ...], ...] | None
) -> None:
    """From left to right, each takes as little as it can."""
    assert Pattern(pattern, dialect).captures(subject) == captures


@pytest.mark.parametrize(
    "captures", [(), ("a", ("b",), "c"), (("a",), ("b",)), ("a", "b"), ("a.b", ("c",)), ("", ("c",)), ("a", ("b.c",))]
)
def test_captures_that_do_not_fit_are_refused(captures: tuple[str | tuple[str, ...], ...]) -> None:
    """Too few, too many, or of the wrong kind."""
    with pytest.raises(PatternError) as caught:
        Pattern("*.>").fill(captures)
    assert caught.value.code == "captures-mismatch"


@pytest.mark.parametrize("capture", ["x.y", ("x", "y")])
def test_a_wildcard_inside_a_token_is_filled_with_a_part_of_one(capture: str | tuple[str, ...]) -> None:
    """Only one that crosses dots may be filled with dots, and neither with a tuple."""
    with pytest.raises(PatternError):
        Pattern("a*", "zato").fill((capture,))
    assert Pattern("a**", "zato").fill(("x.y",)) == "ax.y"
    with pytest.raises(PatternError):
        Pattern("a**", "zato").fill((("x", "y"),))


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("a.**.b*", "a.b", True),
        ("a.**.b*", "a.c", False),
        ("a.**.b*", "a.bx", True),
        ("a.**.b*", "a.x.b", True),
        ("a.**.b*", "a.xb", False),
        ("a.**.b*", "a", False),
        ("a.**.b*", "ab", False),
        ("**.b*", "b", True),
        ("**.b*", "cb", False),
        ("**.b*", "c.b", True),
        ("**.b*.**", "c.b.d", True),
        ("**.b*.**", "b", True),
        ("**.b*.**", "c.d", False),
        ("b*.**", "bx", True),
        ("b*.**", "b.x.y", True),
        ("b*.**", "cb", False),
        ("a**.b", "a.b", True),
        ("a**.b", "ab", False),
        ("a**.b", "a.x.y.b", True),
        ("a**b", "ab", True),
        ("a**b", "a", False),
        ("*a", ".a", False),
        ("***", "a.b.c", True),
    ],
)
def test_partial_wildcards_mix_with_wildcards_for_many_segments(pattern: str, subject: str, matches: bool) -> None:
    """Zato's globs beside its ``**``, where characters and segments meet."""
    assert Pattern(pattern, "zato").matches(subject) is matches


@pytest.mark.parametrize(
    ("dialect", "wide", "narrow", "contains"),
    [
        ("zato", "a.**.b*", "a.**.b*", True),
        ("zato", "a.b*", "a.**.b*", False),
        ("zato", "a.*.**.b*", "a.**.b*", False),
        ("zato", "a.**.b*", "a.*.**.b*", True),
        ("zato", "a**.b*", "a.**.b*", True),
        ("zato", "a.**b*", "a.**.b*", True),
        ("zato", "a.**.b*", "a.**b*", False),
        ("zato", "**.b*", "**.b*", True),
        ("zato", "b*", "**.b*", False),
        ("zato", "**.b*", "b*", True),
        ("zato", "*b*", "**.b*", False),
        ("zato", "**b*", "**.b*", True),
        ("zato", "b*.**", "b*", True),
        ("zato", "b*", "b*.**", False),
        ("zato", "b**", "b*.**", True),
        ("zato", "b*.**", "b**", True),
        ("zato", "a.**.b*.**", "a.**.b*.**", True),
        ("zato", "a.**.b*", "a.**.b*.**", False),
        ("zato", "**.a.**.b*", "**.a.*.**.b*", True),
        ("zato", "**.a.*.b*", "**.a.**.b*", False),
        ("zato", "**..b*", ".**.b*", False),
        ("zato", "**..*", ".**.b*", False),
        ("amqp", "#.a.*", "#.a.#", False),
        ("amqp", "#.a.#", "#.a.*.#", True),
        ("amqp", "*.#.a", "#.b.a", True),
        ("amqp", "*.*.#.a", "#.b.a", False),
        ("amqp", "a.#", "a", True),
        ("amqp", "#.*", ".#", True),
        ("mqtt", "+/#", "#", True),
        ("mqtt", "+/+", "+", False),
        ("nats", "a.*", "a.>", False),
        ("nats", "a.>", "a", False),
    ],
)
def test_containment_by_example(dialect: str, wide: str, narrow: str, contains: bool) -> None:
    """Where blocks that may be absent, loops and ends meet."""
    assert Pattern(wide, dialect).contains(Pattern(narrow, dialect)) is contains


@pytest.mark.parametrize(
    ("dialect", "one", "other", "common"),
    [
        ("nats", "a.>", "*.b.>", ["a.b.>"]),
        ("nats", "a.*", "*.b", ["a.b"]),
        ("nats", ">", "a.>", ["a.>"]),
        ("nats", "a.>", "a.b", ["a.b"]),
        ("nats", "a", "a.>", []),
        ("amqp", "a.#", "#.b", ["a.#.b"]),
        ("amqp", "#.a.#", "#.b.#", ["#.a.#.b.#", "#.b.#.a.#"]),
        ("amqp", "*", ".#", []),
        ("amqp", "#", "", [""]),
        ("mqtt", "+/x", "$SYS/+", []),
        ("mqtt", "/#", "+", []),
        ("zato", "a*", "*b", ["a*b"]),
        ("zato", "a*.**", "**.*b", ["a**b"]),
        ("zato", "a.**", "a*.**", ["a.**"]),
        ("zato", "A.**", "**.b", ["a.**.b"]),
        ("zato", "a.**.b*", "a*.**.b", ["a.**.b"]),
        ("zato", "za*", "*to", ["za*to"]),
        ("zato", "zat*", "*to", ["zat*to"]),
        ("amqp", "#.a", "#..#", ["#..#.a"]),
        ("zato", "a#*", "a*", []),
        ("zato", " *", "*", []),
        ("zato", "a**.x", "a*.x", ["a*.x"]),
        ("zato", "a*.b", "a.*.**", ["a.b"]),
    ],
)
def test_the_intersection_is_written_as_one_would_write_it(
    dialect: str, one: str, other: str, common: list[str]
) -> None:
    """Not only right but readable."""
    assert sorted(map(str, Pattern(one, dialect).intersection(Pattern(other, dialect)))) == common


def test_an_intersection_that_is_too_large_is_refused_and_not_begun_forever() -> None:
    """Twelve words in any order, twelve others in any order: too many ways to interleave them."""
    one = Pattern("#." + ".#.".join("abcdefghijkl") + ".#", "amqp")
    other = Pattern("#." + ".#.".join("mnopqrstuvwx") + ".#", "amqp")
    assert one.intersects(other)
    with pytest.raises(LimitError, match="more than 100 patterns"):
        one.intersection(other)
    with pytest.raises(LimitError, match="more than 1 patterns"):
        Pattern("#.a.#", "amqp").intersection(Pattern("#.b.#", "amqp"), limit=1)
    # One pattern is within a limit of one, however many were looked at on the way.
    assert len(Pattern("*.#.a.b.#.b", "amqp").intersection(Pattern("*.#.a.b.#", "amqp"), limit=1)) == 1


def test_patterns_of_different_dialects_are_not_compared() -> None:
    """The same text means different things."""
    one, other = Pattern("a", "nats"), Pattern("a", "amqp")
    assert one != other
    for compare in (one.contains, one.intersects, one.intersection):
        with pytest.raises(PatternError) as caught:
            compare(other)
        assert caught.value.code == "mixed-dialects"


@pytest.mark.parametrize(
    ("dialect", "one", "other"),
    [
        ("amqp", "#.#", "#"),
        ("amqp", "#.*", "*.#"),
        ("amqp", ".#", ".*.#"),
        ("mqtt", "#", "+/#"),
        ("zato", "A.*", "a.*"),
        ("zato", "a*.**.b", "a**.b"),
        ("zato", "*.**", "**"),
        ("zato", "a#", " b"),
    ],
)
def test_patterns_that_match_the_same_are_equal_and_of_one_hash(dialect: str, one: str, other: str) -> None:
    """Equality is by meaning; the texts stay what they are."""
    left, right = Pattern(one, dialect), Pattern(other, dialect)
    assert left == right
    assert len({left, right}) == 1
    assert str(left) == one


def test_a_pattern_is_a_value_that_cannot_be_changed() -> None:
    """And it is equal to nothing but a pattern."""
    pattern = Pattern("a.*")
    with pytest.raises(AttributeError, match="cannot be changed"):
        pattern.text = "b"
    assert pattern != "a.*"
    assert repr(pattern) == "Pattern('a.*', dialect='nats')"


@pytest.mark.parametrize(
    ("dialect", "text", "literal"),
    [("nats", "a.b", True), ("nats", "foo*", True), ("nats", "a.*", False), ("amqp", "", True), ("zato", "a*", False)],
)
def test_a_literal_is_a_pattern_without_wildcards(dialect: str, text: str, literal: bool) -> None:
    """What a sign means depends on the dialect."""
    assert Pattern(text, dialect).is_literal is literal


@pytest.mark.parametrize(
    ("dialect", "ordered"),
    [
        ("nats", ["a.b.c", "a.b.*", "a.*.c", "*.b.c", "a.*.*", "*.*.*", "a.b.>", "a.>", ">", "*.>"]),
        (
            "zato",
            ["orders.x", "orders.y*", "orders.*", "order*.x", "ord*.x", "*.x", "ord*s*.x", "a.b.**", "a.x**", "a**"],
        ),
        ("amqp", ["a.b", "a.b.#", "a.#.b", "#.b", "#.b.#"]),
    ],
)
def test_more_specific_patterns_sort_first(dialect: str, ordered: list[str]) -> None:
    """No wildcard for many tokens, then fewer wildcards, then the later first one."""
    patterns = [Pattern(text, dialect) for text in ordered]
    assert all(one.specificity < other.specificity for one, other in pairwise(patterns))


@pytest.mark.parametrize(
    "ordered",
    [
        ["alerts.critical", "alerts.**", "orders.urgent", "orders.*"],
        ["transaction.international", "transaction.priority", "transaction.*", "transaction.**.processed"],
        ["a.b", "A.c", "a.*"],
    ],
)
def test_zatos_evaluation_order_is_alphabetical_with_wildcards_last(ordered: list[str]) -> None:
    """The orders that Zato's document shows."""
    patterns = [Pattern(text, "zato") for text in ordered]
    assert evaluation_order(reversed(patterns)) == patterns


def _cost(pattern: Pattern, subject: Subject) -> float:
    return microseconds(partial(pattern.matches, subject))


def test_sixty_wildcards_for_many_cost_about_what_one_does() -> None:
    """No wildcard multiplies the work of another: the ratio within one run is small."""
    subject = Subject(".".join(["a"] * 120), "amqp")
    hostile = Pattern(".".join(["#", "a"] * 60 + ["b"]), "amqp")
    plain = Pattern("#.b", "amqp")
    assert not hostile.matches(subject)
    assert _cost(hostile, subject) < 5 * _cost(plain, subject)


def test_partial_wildcards_cost_no_more_than_linear_work() -> None:
    """Zato's hostile globs of two hundred characters are answered like any other."""
    subject = Subject("a" * 199, "zato")
    hostile = Pattern("*a" * 80 + "**a" * 10 + "b", "zato")
    plain = Pattern("*b", "zato")
    assert not hostile.matches(subject)
    assert _cost(hostile, subject) < 5 * _cost(plain, subject)


def test_a_pattern_of_a_hundred_thousand_tokens_is_matched_and_compared() -> None:
    """NATS sets no length; nothing here is quadratic in it, nor recursive."""
    text = ".".join(["a"] * 100_000)
    pattern = Pattern(text + ".>")
    assert pattern.matches(text + ".b")
    assert pattern.captures(text + ".b.c") == (("b", "c"),)
    assert pattern.contains(pattern)
    assert pattern.intersection(Pattern("a.>")) == {pattern}


@pytest.mark.parametrize(
    ("text", "dialect", "column"),
    [
        ("orders.#", "nats", 8),
        ("a.**.b", "nats", 3),
        ("a.+", "nats", 3),
        ("a/+/b", "nats", 3),
        ("orders.>", "amqp", 8),
        (">", "zato", 1),
        ("orders.*", "mqtt", 8),
    ],
)
def test_a_wildcard_of_another_dialect_that_stands_alone_is_found(text: str, dialect: str, column: int) -> None:
    """It is a literal in the dialect of the pattern, which matches nothing else."""
    found = find_foreign_wildcard(text, find_dialect(dialect))
    assert found is not None
    assert found.column == column
    assert Pattern(text, dialect).is_literal


@pytest.mark.parametrize(
    ("text", "dialect"), [("a.*.>", "nats"), ("a.#b", "nats"), ("#.*", "amqp"), ("a**.*", "zato"), ("+/#", "mqtt")]
)
def test_own_wildcards_and_signs_within_tokens_are_not_foreign(text: str, dialect: str) -> None:
    """Only what stands alone is likely to be meant as a wildcard."""
    assert find_foreign_wildcard(text, find_dialect(dialect)) is None


def test_without_a_dialect_a_foreign_wildcard_is_an_error() -> None:
    """With one it is what the dialect says."""
    with pytest.raises(PatternError) as caught:
        Pattern("orders.#")
    assert (caught.value.code, caught.value.column) == ("foreign-wildcard", 8)
    assert Pattern("orders.#", "nats").matches("orders.#")
