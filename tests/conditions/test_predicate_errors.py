"""Predicates that are refused, and where."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pointsman.conditions import Predicate, sql_parser
from pointsman.errors import PointsmanError, PredicateError
from pointsman.message import Message

REFUSED = [
    # constructs
    ("lower(subject) = 'a'", "predicate-construct", 1),
    ("body.a = upper('a')", "predicate-construct", 10),
    ("body.f(1) = 1", "predicate-construct", 1),
    ("id = 1; DROP TABLE x", "predicate-construct", 7),
    ("id IN (SELECT 1)", "predicate-construct", 8),
    ("EXISTS (SELECT 1)", "predicate-construct", 1),
    ("CASE WHEN TRUE THEN TRUE END", "predicate-construct", 1),
    ("id = 1 AND CAST(id AS INT) = 1", "predicate-construct", 12),
    ("id::int = 1", "predicate-construct", 3),
    ("id + 1 = 2", "predicate-construct", 4),
    ("id - 1 = 2", "predicate-construct", 4),
    ("id = - - 2", "predicate-construct", 6),
    ("id = -subject", "predicate-construct", 6),
    ("id * 2 = 2", "predicate-construct", 4),
    ("id || 'a' = 'a'", "predicate-construct", 4),
    ("id ~ 'a'", "predicate-construct", 4),
    ("id RLIKE 'a'", "predicate-construct", 4),
    ("id SIMILAR TO 'a'", "predicate-construct", 4),
    ("id == 'a'", "predicate-construct", 4),
    ("id <=> 'a'", "predicate-construct", 4),
    ("id IS DISTINCT FROM 'a'", "predicate-construct", 7),
    ("id IS 5", "predicate-construct", 7),
    ("id IS NULL IS NULL", "predicate-construct", 1),
    ("id = :x", "predicate-construct", 6),
    ("id = ?", "predicate-construct", 6),
    ("id = N'and'", "predicate-construct", 6),
    ("id = 'a' 'b'", "predicate-construct", 6),
    ("DATE '2026-01-01' < time", "predicate-construct", 1),
    ("id = subject", "predicate-construct", 6),
    ("1 = 1", "predicate-construct", 1),
    ("'a'", "predicate-construct", 1),
    ("id = 1 OR 5", "predicate-construct", 11),
    ("(id = 'a') = TRUE", "predicate-construct", 2),
    ("id IN ()", "predicate-construct", 1),
    ("id IN (subject)", "predicate-construct", 8),
    ("id BETWEEN 1 AND subject", "predicate-construct", 18),
    ("id LIKE subject", "predicate-construct", 9),
    ("id LIKE 5", "predicate-construct", 1),
    ("id LIKE 'a' ESCAPE 'ab'", "predicate-construct", 1),
    ("(id, subject) = (1, 2)", "predicate-construct", 2),
    ("is", "predicate-construct", 1),
    # literals
    ("id = 1e999", "predicate-literal", 6),
    ("id = 1e", "predicate-literal", 6),
    ("id LIKE 'a!' ESCAPE '!'", "predicate-literal", 9),
    ("id LIKE 'a!b' ESCAPE '!'", "predicate-literal", 9),
    ("time > 5", "predicate-literal", 8),
    ("time > 'yesterday'", "predicate-literal", 8),
    ("time > '0000-01-01T00:00:00Z'", "predicate-literal", 8),
    ("time > '9999-12-31T23:59:59-10:00'", "predicate-literal", 8),
    ("time LIKE '2026%'", "predicate-literal", 1),
    ("time", "predicate-literal", 1),
    # fields
    ("id = 'a' AND amount > 5", "unknown-field", 14),
    ('metadata.region = "EU"', "unknown-field", 19),
    ("metdata.a = 1", "unknown-field", 1),
    ("BODY.a = 1", "unknown-field", 1),
    ("metadata = 'a'", "unknown-field", 1),
    ("metadata.a.b = 'a'", "unknown-field", 1),
    ("metadata[0] = 'a'", "unknown-field", 1),
    ("subject.a = 'a'", "unknown-field", 1),
    # syntax
    ("", "bad-predicate", 1),
    ("-- nothing", "bad-predicate", 1),
    ("id =", "bad-predicate", 4),
    ("(id = 1", "bad-predicate", 7),
    ("id = 1)", "bad-predicate", 7),
    ("id = 'a", "bad-predicate", 6),
    ("id = 'a' AND 'b''", "bad-predicate", 14),
    ('body."a = 1', "bad-predicate", 6),
    ("id = 1 /* open", "bad-predicate", 8),
    ("id = 1 'a'", "bad-predicate", 8),
    ("body.0 = 1", "bad-predicate", 5),
    ("body[-1] = 1", "bad-predicate", 5),
    ("body[1.5] = 1", "bad-predicate", 5),
    ("body[a] = 1", "bad-predicate", 5),
    ("body['a', 'b'] = 1", "bad-predicate", 5),
    ("body. = 1", "bad-predicate", 5),
    ("body[", "bad-predicate", 5),
    ("id = 'a\0'", "bad-predicate", 8),
    ("id = '\ud800'", "bad-predicate", 7),
    # limits
    ("(" * 21 + "id = 1" + ")" * 21, "predicate-too-deep", 21),
    ("NOT (" * 11 + "TRUE" + ")" * 11, "predicate-too-deep", 51),
    ("NOT " * 21 + "TRUE", "predicate-too-deep", 81),
    ("body" + ".a" * 33 + " = 1", "predicate-too-long", 1),
    ("id = 1" + " " * 10_000, "predicate-too-long", 10_001),
]


@pytest.mark.parametrize(("text", "code", "column"), REFUSED)
def test_what_is_refused_is_refused_at_its_column(text: str, code: str, column: int) -> None:
    """With a code, and the text where it is not too long to show."""
    with pytest.raises(PredicateError) as caught:
        Predicate(text)
    assert (caught.value.code, caught.value.column) == (code, column)
    assert caught.value.text in (text, None)


def test_a_misspelt_field_is_recognized() -> None:
    """The error says what was meant."""
    with pytest.raises(PredicateError, match="did you mean 'metadata'"):
        Predicate("metdata.a = 1")


def test_what_is_no_text_is_refused() -> None:
    """A predicate is written."""
    with pytest.raises(PredicateError) as caught:
        Predicate(5)  # type: ignore[arg-type]
    assert caught.value.code == "bad-predicate"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "id = 1" + ")" * 10_000,
        "(" * 4_000 + "id = 1" + ")" * 4_000,
        " AND ".join(["id = 1"] * 10_000),
        "x" * 1_000_000,
        "NOT " * 2_400 + "TRUE",
        "body" + "[0]" * 3_000 + " = 1",
        "id IS NULL" + " IS NULL" * 1_100,
        "id = 1" + " = 1" * 2_000,
        "id = " + "- " * 4_000 + "1",
        "id LIKE 'a'" + " LIKE 'a'" * 900,
        "id BETWEEN " * 800,
        "id IN (" * 1_000,
        "'" * 9_999,
        "/*" * 4_999,
        "case when " * 900,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_are_errors(text: str) -> None:
    """Never a crash, and never another error."""
    with pytest.raises(PredicateError):
        Predicate(text)


@pytest.mark.parametrize(
    "text",
    [
        " AND ".join(["id = '1'"] * 700),
        " OR ".join(["id = '1' AND TRUE"] * 400),
        "id IN (" + "0, " * 3_000 + "1)",
        "(" * sql_parser.MAX_DEPTH + "id = 1" + ")" * sql_parser.MAX_DEPTH,
        "NOT (" * (sql_parser.MAX_DEPTH // 2) + "id = 1" + ")" * (sql_parser.MAX_DEPTH // 2),
        "TRUE AND (" * sql_parser.MAX_DEPTH + "id = 1" + ")" * sql_parser.MAX_DEPTH,
        "body" + "[0]" * sql_parser.MAX_STEPS + " IS NULL",
        " AND ".join(["NOT (NOT TRUE)"] * 50),
    ],
    ids=lambda text: text[:12],
)
def test_large_predicates_within_the_limits_work(text: str) -> None:
    """As deep and as long as is allowed."""
    assert Predicate(text).holds(Message("a", id="1"))


def test_a_predicate_deep_in_the_stack_is_an_error_and_no_crash() -> None:
    """Where the parser has not the stack that it needs."""

    def descend(levels: int) -> Predicate:
        return descend(levels - 1) if levels else Predicate("(" * 15 + "id = 1" + ")" * 15)

    Predicate("TRUE")
    with pytest.raises((PredicateError, RecursionError)) as caught:
        descend(sys.getrecursionlimit() - 350)
    assert isinstance(caught.value, PointsmanError)
    assert caught.value.code == "predicate-too-deep"


def test_importing_the_package_is_cheap() -> None:
    """What is large is imported when it is used, or never."""
    code = "import sys, pointsman.conditions; print([m for m in ('sqlglot', 'pyarrow', 'numba') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"
