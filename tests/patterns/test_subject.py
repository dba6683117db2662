"""Subjects: what each dialect allows, and what the errors say."""

from __future__ import annotations

import pickle

import pytest

from pointsman.errors import ConversionError, PatternError, SubjectError
from pointsman.patterns import Pattern, Subject


@pytest.mark.parametrize(
    ("dialect", "text", "tokens"),
    [
        ("nats", "a.b", ("a", "b")),
        ("nats", "a*.>b", ("a*", ">b")),
        ("nats", "\u00a0", ("\u00a0",)),
        ("amqp", "", ()),
        ("amqp", ".", ("", "")),
        ("amqp", "a.*.#", ("a", "*", "#")),
        ("amqp", "x" * 255, ("x" * 255,)),
        ("amqp", "a b\0", ("a b\0",)),
        ("zato", "a..b", ("a", "", "b")),
        ("zato", "a b.*", ("a b", "*")),
        ("zato", "x" * 200, ("x" * 200,)),
        ("mqtt", "/a", ("", "a")),
        ("mqtt", "x" * 65_535, ("x" * 65_535,)),
        ("mqtt", "a b", ("a b",)),
    ],
)
def test_a_valid_subject_is_split_into_its_tokens(dialect: str, text: str, tokens: tuple[str, ...]) -> None:
    """The tokens are what stands between the separators."""
    assert Subject(text, dialect).tokens == tokens


@pytest.mark.parametrize(
    ("dialect", "text", "code", "column"),
    [
        ("nats", "", "empty", 1),
        ("nats", "a..b", "empty-token", 3),
        ("nats", ".a", "empty-token", 1),
        ("nats", "a.", "empty-token", 3),
        ("nats", "a.b c", "forbidden-character", 4),
        ("nats", "a\tb", "forbidden-character", 2),
        ("nats", "a\0", "forbidden-character", 2),
        ("nats", "ab.*", "wildcard-in-subject", 4),
        ("nats", ">", "wildcard-in-subject", 1),
        ("nats", "a\ud800", "not-utf8", 2),
        ("amqp", "x" * 256, "too-long", None),
        ("amqp", "é" * 128, "too-long", None),
        ("zato", "", "empty", 1),
        ("zato", "x" * 201, "too-long", None),
        ("zato", "aé", "forbidden-character", 2),
        ("zato", "a#b", "forbidden-character", 2),
        ("zato", " a", "forbidden-character", 1),
        ("zato", "ab\n", "forbidden-character", 3),
        ("zato", "my.ZaTo.x", "reserved-name", 4),
        ("zato", "xzpsk", "reserved-name", 2),
        ("mqtt", "", "empty", 1),
        ("mqtt", "a/b+", "wildcard-in-subject", 4),
        ("mqtt", "a/#", "wildcard-in-subject", 3),
        ("mqtt", "a\0", "forbidden-character", 2),
        ("mqtt", "x" * 65_536, "too-long", None),
    ],
)
def test_an_invalid_subject_is_refused_with_its_code_and_column(
    dialect: str, text: str, code: str, column: int | None
) -> None:
    """The error says what is wrong and where."""
    with pytest.raises(SubjectError) as caught:
        Subject(text, dialect)
    assert (caught.value.code, caught.value.column) == (code, column)


@pytest.mark.parametrize(
    ("dialect", "text", "problem"),
    [
        ("nats", "a..b", "token 2 of the nats subject is empty"),
        ("nats", "a b", "character 2, ' ': a nats subject may not hold it"),
        ("nats", "a.*", "token 2 of the nats subject is the wildcard '*'"),
        ("amqp", "x" * 256, "in amqp, a subject has at most 255 bytes; this one has 256"),
        ("zato", "aé", "character 2, 'é': a zato subject is plain ASCII"),
        ("zato", "a ", "character 2, ' ': a zato subject neither begins nor ends with white space"),
        ("zato", "zato", "'zato' is reserved and may stand nowhere in a zato subject"),
        ("mqtt", "a+", "'+' is a wildcard and may stand nowhere in an mqtt subject"),
        ("mqtt", "", "an mqtt subject cannot be empty"),
        ("mqtt", "\ud800", "the character 1 of the mqtt subject is a lone surrogate"),
    ],
)
def test_the_error_names_the_character_or_token_and_the_reason(dialect: str, text: str, problem: str) -> None:
    """A person can act on the message alone."""
    with pytest.raises(SubjectError) as caught:
        Subject(text, dialect)
    assert caught.value.problem == problem


def test_only_a_str_is_a_subject() -> None:
    """Bytes are not decoded by guessing."""
    with pytest.raises(SubjectError, match="a subject is a str, not bytes"):
        Subject(b"a")


def test_an_unknown_dialect_is_refused() -> None:
    """The error is a PatternError wherever the name is given."""
    with pytest.raises(PatternError, match="there is no dialect 'kafka'"):
        Subject("a", "kafka")
    with pytest.raises(PatternError, match="there is no dialect"):
        Subject("a", ["nats"])


def test_subjects_are_equal_when_their_dialect_makes_no_difference_between_them() -> None:
    """Zato ignores case, the others do not, and a dialect is a part of the subject."""
    assert Subject("Orders.New", "zato") == Subject("orders.new", "zato")
    assert hash(Subject("Orders.New", "zato")) == hash(Subject("orders.new", "zato"))
    assert Subject("Orders.New") != Subject("orders.new")
    assert Subject("a", "nats") != Subject("a", "amqp")
    assert Subject("a") != "a"


def test_a_subject_cannot_be_changed_and_survives_a_pickle() -> None:
    """It is a value."""
    subject = Subject("a.b", "amqp")
    with pytest.raises(AttributeError, match="cannot be changed"):
        subject.text = "c"
    assert pickle.loads(pickle.dumps(subject)) == subject
    assert repr(subject) == "Subject('a.b', dialect='amqp')"
    assert str(subject) == "a.b"


@pytest.mark.parametrize(
    ("text", "source", "target", "carried"),
    [
        ("orders.new", "nats", "mqtt", "orders/new"),
        ("orders/new", "mqtt", "nats", "orders.new"),
        ("a..b", "amqp", "mqtt", "a//b"),
        ("$SYS/x", "mqtt", "amqp", "$SYS.x"),
        ("A.b", "zato", "nats", "A.b"),
        ("a.b", "nats", "nats", "a.b"),
    ],
)
def test_a_subject_is_carried_to_another_dialect_token_by_token(
    text: str, source: str, target: str, carried: str
) -> None:
    """The tokens stay, the separator changes."""
    converted = Subject(text, source).convert(target)
    assert (str(converted), converted.dialect.name) == (carried, target)


@pytest.mark.parametrize(
    ("text", "source", "target", "why"),
    [
        ("a.b/c", "mqtt", "nats", "holds its separator '.'"),
        ("a/b.c", "nats", "mqtt", "holds its separator '/'"),
        ("", "amqp", "zato", "no subject of zero tokens"),
        ("a..b", "amqp", "nats", "is empty"),
        ("a b", "mqtt", "nats", "may not hold it"),
        ("zato.x", "nats", "zato", "reserved"),
        ("a.*", "amqp", "nats", "is the wildcard"),
    ],
)
def test_a_subject_that_cannot_be_carried_is_refused(text: str, source: str, target: str, why: str) -> None:
    """The error says what stands in the way."""
    with pytest.raises(ConversionError, match=why) as caught:
        Subject(text, source).convert(target)
    assert caught.value.code == "cannot-carry"


@pytest.mark.parametrize(
    ("dialect", "text", "code", "column"),
    [
        ("nats", "", "empty", 1),
        ("nats", "a.>.b", "wildcard-not-last", 3),
        ("nats", "a..b", "empty-token", 3),
        ("nats", "a b", "forbidden-character", 2),
        ("amqp", "x" * 256, "too-long", None),
        ("zato", "", "empty", 1),
        ("zato", "tëst.**", "forbidden-character", 2),
        ("zato", "my.zpsk.*", "reserved-name", 4),
        ("mqtt", "a/#/b", "wildcard-not-last", 3),
        ("mqtt", "a/b+", "wildcard-not-alone", 4),
        ("mqtt", "ab#", "wildcard-not-alone", 3),
        ("mqtt", "", "empty", 1),
        ("mqtt", "a\0", "forbidden-character", 2),
    ],
)
def test_an_invalid_pattern_is_refused_with_its_code_and_column(
    dialect: str, text: str, code: str, column: int | None
) -> None:
    """The error says what is wrong and where."""
    with pytest.raises(PatternError) as caught:
        Pattern(text, dialect)
    assert (caught.value.code, caught.value.column) == (code, column)


@pytest.mark.parametrize(
    ("dialect", "text", "problem"),
    [
        ("nats", "a.>.b", "token 2 is '>', which a nats pattern may hold only at the end"),
        ("mqtt", "x/a+", "'+' is a part of the level 'a+'; in mqtt a wildcard is a whole level"),
        ("nats", "a\0", "character 2, '\\x00': a nats pattern may not hold it"),
    ],
)
def test_the_error_of_a_pattern_names_the_token_and_the_reason(dialect: str, text: str, problem: str) -> None:
    """A person can act on the message alone."""
    with pytest.raises(PatternError) as caught:
        Pattern(text, dialect)
    assert caught.value.problem == problem


@pytest.mark.parametrize("text", ["", "ab", "a.b"])
def test_only_a_str_is_a_pattern(text: str) -> None:
    """Bytes are not decoded by guessing."""
    with pytest.raises(PatternError, match="a pattern is a str, not bytes"):
        Pattern(text.encode())
