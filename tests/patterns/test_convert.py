"""Patterns carried from one dialect to another."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import ConversionError, SubjectError
from pointsman.patterns import DIALECTS, Fit, Pattern, Subject
from tests.patterns.strategies import NAMES, patterns

TOKENS = ["a", "A", "", "$a", "b", "a*", "zz"]


@pytest.mark.parametrize(
    ("source", "text", "target", "written", "fit"),
    [
        ("nats", "a.*.c", "amqp", ["a.*.c"], Fit.EXACT),
        ("nats", "a.>", "amqp", ["a.*.#"], Fit.EXACT),
        ("nats", "a.>", "mqtt", ["a/+/#"], Fit.EXACT),
        ("nats", ">", "mqtt", ["+/#"], Fit.NARROWER),
        ("nats", "1.>", "zato", ["1.*.**"], Fit.EXACT),
        ("nats", "a.b", "zato", ["a.b"], Fit.WIDER),
        ("nats", "1*.x", "zato", ["1*.x"], Fit.WIDER),
        ("nats", "a.#", "amqp", ["a.*"], Fit.WIDER),
        ("nats", "a.#", "mqtt", [], Fit.REFUSED),
        ("nats", "a.zato", "zato", [], Fit.REFUSED),
        ("nats", "a", "nats", ["a"], Fit.EXACT),
        ("amqp", "a.#", "nats", ["a", "a.>"], Fit.EXACT),
        ("amqp", "#", "nats", [">"], Fit.EXACT),
        ("amqp", "#.*", "nats", [">"], Fit.EXACT),
        ("amqp", "a.#.b", "nats", ["a.>"], Fit.WIDER),
        ("amqp", "a.#.b.#.c", "mqtt", ["a/+/+/#"], Fit.WIDER),
        ("amqp", "#.#", "zato", ["**"], Fit.EXACT),
        ("amqp", "a..b", "nats", [], Fit.REFUSED),
        ("amqp", "", "nats", [], Fit.REFUSED),
        ("amqp", "x" * 250, "zato", [], Fit.REFUSED),
        ("mqtt", "a/#", "amqp", ["a.#"], Fit.EXACT),
        ("mqtt", "+/a", "nats", ["*.a"], Fit.WIDER),
        ("mqtt", "$SYS/+", "nats", ["$SYS.*"], Fit.EXACT),
        ("mqtt", "a.b/+", "nats", [], Fit.REFUSED),
        ("mqtt", " ", "zato", [], Fit.REFUSED),
        ("mqtt", "a b", "nats", [], Fit.REFUSED),
        ("zato", "1.**", "amqp", ["1.#"], Fit.EXACT),
        ("zato", "Orders.*", "nats", ["Orders.*"], Fit.NARROWER),
        ("zato", "ord*.1", "amqp", ["*.1"], Fit.WIDER),
        ("zato", "a**b.1", "amqp", ["*.#.1"], Fit.WIDER),
        ("zato", "a**b.1", "nats", ["*.>"], Fit.WIDER),
        ("zato", "ord*.1", "mqtt", ["+/1"], Fit.WIDER),
        ("zato", "*s.1", "mqtt", ["+/1"], Fit.DIFFERENT),
        ("zato", "$a*.1", "mqtt", ["+/1"], Fit.DIFFERENT),
        ("zato", "a#", "mqtt", [], Fit.REFUSED),
    ],
)
def test_a_pattern_is_written_in_another_dialect_with_an_honest_fit(
    source: str, text: str, target: str, written: list[str], fit: Fit
) -> None:
    """Exact where that is possible, wider or narrower and saying so where not."""
    conversion = Pattern(text, source).convert(target)
    assert ([str(each) for each in conversion.patterns], conversion.fit) == (written, fit)
    assert bool(conversion.changes) == (fit is not Fit.EXACT)


def test_the_report_names_what_cannot_be_carried() -> None:
    """Apart from the fit, because no pattern can help it."""
    conversion = Pattern("a/+", "mqtt").convert("nats")
    assert conversion.fit is Fit.EXACT
    assert conversion.not_carried == (
        "tokens that hold '.'",
        "empty tokens",
        "white space",
        "tokens that are a wildcard of nats",
    )
    assert Pattern("a/b", "mqtt").convert("nats").not_carried == ()
    to_zato = Pattern("*", "amqp").convert("zato").not_carried
    assert "characters that are not ASCII" in to_zato
    assert "the names 'zato' and 'zpsk'" in to_zato
    assert "white space at the ends" in to_zato
    assert "the NUL character" in Pattern("*", "amqp").convert("mqtt").not_carried
    assert "the characters '#' and '+'" in Pattern("*", "amqp").convert("mqtt").not_carried
    assert "the subject of zero tokens" in Pattern("*", "amqp").convert("mqtt").not_carried
    assert "subjects of more than 255 bytes" in Pattern("*", "nats").convert("amqp").not_carried


def _carried(source: str, target: str) -> list[tuple[Subject, Subject]]:
    """All short subjects that both dialects can write, in both."""
    pairs = []
    for count in range(4):
        for tokens in product(TOKENS, repeat=count):
            try:
                subject = Subject(DIALECTS[source].separator.join(tokens), source)
                if subject.tokens == tokens:
                    pairs.append((subject, subject.convert(target)))
            except (SubjectError, ConversionError):
                continue
    return pairs


@pytest.mark.parametrize("source", NAMES)
def test_the_fit_is_what_brute_force_over_the_subjects_both_can_write_says(source: str) -> None:
    """Exact means equal on all of them, wider a superset, narrower a subset."""
    carried = {target: _carried(source, target) for target in NAMES}

    @given(patterns(source), st.sampled_from(NAMES))
    def check(pattern: Pattern, target: str) -> None:
        conversion = pattern.convert(target)
        if conversion.fit is Fit.REFUSED:
            assert not any(pattern.is_literal and pattern.matches(subject) for subject, _ in carried[target])
            return
        for subject, other in carried[target]:
            before = pattern.matches(subject)
            after = any(each.matches(other) for each in conversion.patterns)
            if before and not after:
                assert conversion.fit in (Fit.NARROWER, Fit.DIFFERENT), (subject, conversion)
            if after and not before:
                assert conversion.fit in (Fit.WIDER, Fit.DIFFERENT), (subject, conversion)

    check()


@pytest.mark.parametrize("source", NAMES)
def test_what_is_called_wider_or_narrower_is(source: str) -> None:
    """For patterns that the short subjects can tell apart, there is a subject that shows it."""
    dialect = DIALECTS[source]
    tokens = ["a", "A", dialect.one, dialect.many, *(["a*"] if source == "zato" else [])]
    joined = [dialect.separator.join(pair) for pair in product(tokens, repeat=2)]
    small = [text for text in tokens + joined if _ok(text, source)]
    for text, target in product(small, NAMES):
        pattern = Pattern(text, source)
        conversion = pattern.convert(target)
        verdicts = [
            (pattern.matches(subject), any(each.matches(other) for each in conversion.patterns))
            for subject, other in _carried(source, target)
        ]
        if conversion.fit in (Fit.WIDER, Fit.DIFFERENT):
            assert (False, True) in verdicts, conversion
        if conversion.fit in (Fit.NARROWER, Fit.DIFFERENT):
            assert (True, False) in verdicts, conversion


def _ok(text: str, dialect: str) -> bool:
    try:
        Pattern(text, dialect)
    except ValueError:
        return False
    return True
