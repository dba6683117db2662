"""What predicates mean, rule by rule."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pointsman.conditions import Predicate, compiler
from pointsman.conditions.nodes import And, Comparison, Field, In, Is, Like, Literal, Missing, Not, Or, Truth
from pointsman.message import Message

ORDER = Message(
    "orders.created",
    b'{"amount": 2500, "vip": true, "name": "Ada", "code": "10", "none": null,'
    b' "items": [{"price": 5.5}, {"unit price": 2}], "big": 9007199254740993}',
    id="42",
    source="/shop",
    metadata={"region": "EU", "size": "10", "word": "ten", "flag": "true", "a.b": "c"},
    content_type="application/json",
    time=datetime(2026, 5, 1, 12, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("body.amount > 1000 AND metadata['region'] = 'EU'", True),
        # fields
        ("subject = 'orders.created' AND id = '42' AND source = '/shop'", True),
        ("content_type = 'application/json' AND correlation_id = '42' AND causation_id IS NULL", True),
        ("metadata.region = 'EU'", True),
        ("metadata['a.b'] = 'c'", True),
        ("body.items[0].price = 5.5", True),
        ("body['items'][1]['unit price'] = 2", True),
        ('body.items[1]."unit price" = 2', True),
        ("body.items[2].price = 5.5", None),
        ("body.items.price = 5.5", None),
        ("body[0] = 1", None),
        ("body IS NULL", False),
        ("METADATA.region = 'EU' OR TRUE", "error"),
        # numbers
        ("metadata.size > 5", True),
        ("metadata.size = 10.0", True),
        ("metadata.word > 5", None),
        ("body.code = 10", True),
        ("body.vip = 1", None),
        ("body.items = 1", None),
        ("body.big = 9007199254740992", True),
        ("body.amount = 25e2 AND -1 < body.amount", True),
        # texts
        ("body.amount = '2500'", None),
        ("body.code = '10'", True),
        ("metadata.region < 'EV' AND metadata.region > 'ES'", True),
        ("metadata.region = 'eu'", False),
        # booleans
        ("body.vip", True),
        ("body.vip = TRUE AND body.vip > FALSE", True),
        ("metadata.flag = TRUE", True),
        ("metadata.region", None),
        ("body.amount IS TRUE", False),
        ("body.vip IS NOT FALSE", True),
        # NULL
        ("body.none IS NULL AND body.nothing IS NULL", True),
        ("body.items IS NOT NULL", True),
        ("body.none = NULL", None),
        ("body.none <> 'x'", None),
        ("NOT body.nothing = 1", None),
        ("(body.nothing = 1) IS NULL", True),
        ("body.nothing = 1 OR body.vip", True),
        ("body.nothing = 1 AND body.vip", None),
        ("body.nothing = 1 AND NOT body.vip", False),
        # IN, BETWEEN, LIKE
        ("metadata.region IN ('US', 'EU')", True),
        ("metadata.region NOT IN ('US', 'UK')", True),
        ("metadata.region IN ('US', NULL)", None),
        ("metadata.region NOT IN ('US', NULL)", None),
        ("metadata.size IN ('x', 10)", True),
        ("body.amount IN (2500, 'x')", True),
        ("body.amount IN (1, 'x')", None),
        ("body.amount BETWEEN 2500 AND 2500", True),
        ("body.amount NOT BETWEEN 3000 AND NULL", True),
        ("subject LIKE 'orders.%'", True),
        ("subject LIKE 'orders_created'", True),
        ("subject LIKE 'orders'", False),
        ("subject NOT LIKE '%paid'", True),
        ("subject ILIKE 'ORDERS.%'", True),
        ("body.amount LIKE '2%'", None),
        ("metadata['a.b'] LIKE '!c' ESCAPE '!'", "error"),
        ("metadata['a.b'] LIKE '!%' ESCAPE '!'", False),
        # the order in which things bind
        ("TRUE OR TRUE AND FALSE", True),
        ("NOT TRUE OR TRUE", True),
        ("NOT (TRUE OR TRUE)", False),
        ("NOT body.vip IS NULL", True),
        ("-- a comment\n TRUE /* another */", True),
    ],
)
def test_each_rule_of_the_page(text: str, expected: object) -> None:
    """One message, many predicates."""
    if expected == "error":
        with pytest.raises(ValueError, match=r"\[(unknown-field|predicate-literal)\]"):
            Predicate(text)
        return
    assert Predicate(text).value(ORDER) is expected
    assert Predicate(text).holds(ORDER) is (expected is True)


@pytest.mark.parametrize(
    "text",
    [
        "time = '2026-05-01T14:00:00+02:00'",
        "time < '2026-05-01T12:00:00.000001Z'",
        "time BETWEEN '2026-05-01T12:00:00Z' AND '2026-05-02T00:00:00Z'",
        "time IN ('2026-05-01T12:00:00Z')",
    ],
)
def test_times_are_compared_as_instants(text: str) -> None:
    """Whatever the offsets are that they are written with."""
    predicate = Predicate(text)
    there = ORDER.replace(time=datetime(2026, 5, 1, 9, tzinfo=timezone(timedelta(hours=-3))))
    assert predicate.holds(ORDER)
    assert predicate.holds(there)
    assert predicate.value(ORDER.replace(time=None)) is None
    assert predicate.value(ORDER.replace(time=datetime(2020, 1, 1, tzinfo=UTC))) is (text.startswith("time <"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"five",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1}x',
        b"\xef\xbb\xbf" + b'{"a": 1}',
        b"[" * 100_000,
        b'{"a":' * 101 + b"1" + b"}" * 101,
        b'{"a": 1, "b": "' + b"x" * compiler.MAX_BODY_BYTES + b'"}',
    ],
)
def test_a_body_that_cannot_be_read_makes_its_fields_null(content: bytes) -> None:
    """No JSON, and JSON beyond the limits."""
    message = Message("a", content)
    assert Predicate("body.a IS NULL AND body IS NULL").holds(message)
    assert Predicate("body.a = 1 OR body.a <> 1").value(message) is None


def test_the_content_type_does_not_matter() -> None:
    """The body is what it is; one hundred levels are not too many, nor are brackets in a text."""
    for content_type in (None, "text/plain", "application/json"):
        assert Predicate("body.a = 1").holds(Message("a", b'{"a": 1}', content_type=content_type))
    assert Predicate("body.a IS NOT NULL").holds(Message("a", b'{"a":' * 100 + b"1" + b"}" * 100))
    assert Predicate("body.a LIKE '[%'").holds(Message("a", b'{"a": "' + b"[" * 200 + b'"}'))


@pytest.mark.parametrize("rest", [b"", b', "half": "\\ud800"', b', "large": 1e400'])
def test_the_last_of_equal_keys_counts(rest: bytes) -> None:
    """Also in a body that needs the slower reader."""
    assert Predicate("body.a = 2").holds(Message("a", b'{"a": 1, "a": 2' + rest + b"}"))


def test_values_that_no_engine_shares_are_null() -> None:
    """Half a surrogate pair, and numbers too large for a float."""
    message = Message(
        "a", b'{"half": "\\ud800", "pair": "\\ud83d\\ude00", "large": 1e400, "long": ' + b"9" * 5000 + b"}"
    )
    assert Predicate("body.half IS NULL AND body.large IS NULL AND body.long IS NULL").holds(message)
    assert Predicate("body.pair LIKE '_'").holds(message)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_operator_works_with_the_literal_on_either_side(number: int) -> None:
    """A number below, equal to and above the one it is compared with."""
    message = Message("a", metadata={"n": str(number)})
    expected = [number < 2, number <= 2, number == 2, number != 2, number != 2, number >= 2, number > 2]
    for operator, turned, holds in zip(
        ["<", "<=", "=", "<>", "!=", ">=", ">"], [">", ">=", "=", "<>", "!=", "<=", "<"], expected, strict=True
    ):
        assert Predicate(f"metadata.n {operator} 2").value(message) is holds
        assert Predicate(f"2 {turned} metadata.n").value(message) is holds


def test_the_body_is_parsed_once_at_most_and_only_if_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for predicates without it, and not where an earlier operand settles the matter."""
    read: list[bytes] = []
    monkeypatch.setattr(compiler, "read_body", lambda content: read.append(content) or {"a": 1.0, "b": 2.0})
    message = Message("s", b"{}", metadata={"region": "EU"})
    assert not Predicate("subject = 's' AND metadata.region = 'US'").holds(message)
    assert not Predicate("metadata.region = 'US' AND body.a = 1").holds(message)
    assert Predicate("subject = 's' OR body.a = 1").holds(message)
    assert not Predicate("metadata.nothing = 'x' AND body.a = 1").holds(message)
    assert read == []
    assert Predicate("body.a = 1 AND body.b = 2 AND NOT body.c = 3").value(message) is None
    assert read == [b"{}"]


def test_the_tree_says_what_is_asked() -> None:
    """In nodes that another engine can compile."""
    a, b = Field("body", ("a",)), Field("metadata", ("b",))
    ten, text = Literal("number", 10.0), Literal("text", "x")
    assert Predicate("body.a >= 10 AND 10 < body.a AND body.a").tree == And(
        (Comparison(a, ">=", ten), Comparison(a, ">", ten), Truth(a))
    )
    assert Predicate("metadata.b NOT IN (10, 'x') OR body.a IS NULL").tree == Or((Not(In(b, (ten, text))), Missing(a)))
    assert Predicate("body.a BETWEEN 10 AND 10").tree == And((Comparison(a, ">=", ten), Comparison(a, "<=", ten)))
    assert Predicate("metadata.b ILIKE '5!%\\%' ESCAPE '!'").tree == Like(b, "5\\%\\\\%", ignore_case=True)
    assert Predicate("body.a IS TRUE").tree == Is(Truth(a), True)
    assert Predicate("body.a = 1").tree != Predicate("body.a = TRUE").tree


def test_the_fields_are_those_that_are_read() -> None:
    """Each once, and each as one would write it."""
    predicate = Predicate(
        "body.a[0] > 1 AND NOT (metadata['x y'] = 'z' OR body['a'][0] < 5 OR subject IS NULL) IS TRUE"
    )
    assert {str(field) for field in predicate.fields} == {"body.a[0]", "metadata['x y']", "subject"}
    assert Predicate("TRUE").fields == frozenset()
    for field in predicate.fields:
        assert Predicate(f"{field} IS NULL").fields == {field}


def test_predicates_are_values() -> None:
    """Equal when their texts are, and copied by their texts."""
    predicate = Predicate("body.amount > 1000")
    assert predicate == Predicate("body.amount > 1000") != Predicate("body.amount > 1001")
    assert {predicate, copy.deepcopy(predicate)} == {predicate}
    assert copy.deepcopy(predicate).holds(ORDER)
    assert repr(predicate) == "Predicate('body.amount > 1000')"
