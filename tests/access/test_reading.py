"""Rules from lines and from plain data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.access import Origin, Principal, parse_data, parse_lines, read_data, read_lines
from pointsman.errors import AccessError, PatternError


def test_lines_are_read_in_their_order_with_where_they_stand() -> None:
    """Empty lines and blanks around word and pattern are passed over; a line may end as Windows ends it."""
    rules = parse_lines("\npub=a.b\r\n \t \n  sub =\t c.* \npub=x=y")
    assert [(rule.operation, rule.effect, rule.pattern.text) for rule in rules] == [
        ("publish", "allow", "a.b"),
        ("subscribe", "allow", "c.*"),
        ("publish", "allow", "x=y"),
    ]
    assert [rule.origin for rule in rules] == [
        Origin(line=2, column=5),
        Origin(line=4, column=10),
        Origin(line=5, column=5),
    ]


def test_a_pattern_keeps_the_blanks_inside() -> None:
    """Only those around it are taken away."""
    assert parse_lines("pub=a b.c")[0].pattern.text == "a b.c"


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("publish=a", "bad-access-line", 1, 1),
        ("pub=a\n  orders.*", "bad-access-line", 2, 3),
        ("PUB=a", "bad-access-line", 1, 1),
        ("pub:a", "bad-access-line", 1, 1),
        ("# a comment", "bad-access-line", 1, 1),
        ("=a", "bad-access-line", 1, 1),
        ("pub=", "empty", 1, 5),
        ("\n sub= ", "empty", 2, 6),
        ("pub=a\nsub= my.Zato", "reserved-name", 2, 9),
        ("pub=größe", "forbidden-character", 1, 7),
        ("pub=" + "a" * 201, "too-long", 1, 5),
    ],
)
def test_anything_else_is_an_error_with_line_and_column(text: str, code: str, line: int, column: int) -> None:
    """And with the text of the line."""
    with pytest.raises(AccessError, match=f"line {line}") as caught:
        parse_lines(text)
    error = caught.value
    assert (error.code, error.line, error.column) == (code, line, column)
    assert error.text == text.split("\n")[line - 1].rstrip()


def test_lines_can_be_of_another_dialect() -> None:
    """Which then says what a pattern is."""
    assert parse_lines("pub=a/+/#", "mqtt")[0].pattern.matches("a/b/c")
    with pytest.raises(AccessError) as caught:
        parse_lines("pub=a.>.b", "nats")
    assert (caught.value.code, caught.value.column) == ("wildcard-not-last", 7)
    with pytest.raises(PatternError) as unknown:
        parse_lines("pub=a", "kafka")
    assert unknown.value.code == "unknown-dialect"


def test_every_mistake_can_be_had_and_not_only_the_first() -> None:
    """Each stands in the place of its line."""
    found = list(read_lines("pub=a\noops\nsub=zato\nsub=b"))
    assert [isinstance(each, AccessError) for each in found] == [False, True, True, False]


@given(st.text(alphabet="pubs= .*a#\n\tzö", max_size=60))
def test_whatever_the_text_is_lines_give_rules_or_access_errors(text: str) -> None:
    """Each line that is not blank gives one or the other, and its column is inside of it or just behind."""
    found = list(read_lines(text))
    assert len(found) == sum(bool(line.strip(" \t\r")) for line in text.split("\n"))
    for each in found:
        place = each if isinstance(each, AccessError) else each.origin
        assert place.line is not None
        assert place.column is not None
        assert 1 <= place.column <= len(text.split("\n")[place.line - 1]) + 1


def test_plain_data_has_lists_to_allow_and_lists_to_deny() -> None:
    """Each rule knows the path that leads to it."""
    data = {"publish": ["a.*"], "subscribe": ["b", "c"], "deny": {"publish": ["a.x"], "subscribe": []}}
    assert [(str(rule), rule.origin.path) for rule in parse_data(data, "nats")] == [
        ("allow publish 'a.*' (publish[0])", ("publish", 0)),
        ("allow subscribe 'b' (subscribe[0])", ("subscribe", 0)),
        ("allow subscribe 'c' (subscribe[1])", ("subscribe", 1)),
        ("deny publish 'a.x' (deny.publish[0])", ("deny", "publish", 0)),
    ]
    assert parse_data({}, "nats") == ()


@pytest.mark.parametrize(
    ("data", "code", "path", "problem"),
    [
        (None, "bad-access-rules", (), "the access of a principal is nothing, not a mapping"),
        ([], "bad-access-rules", (), "of the type list, not a mapping of publish, subscribe, deny"),
        ({"publsh": []}, "bad-access-rules", (), "holds 'publsh', .* did you mean 'publish'?"),
        ({1: []}, "bad-access-rules", (), "holds 1, which is none of publish, subscribe, deny"),
        ({"publish": "a.*"}, "bad-access-rules", ("publish",), "publish is of the type str, not a list"),
        ({"publish": None}, "bad-access-rules", ("publish",), "publish is nothing, not a list"),
        ({"deny": ["a"]}, "bad-access-rules", ("deny",), "deny is of the type list, not a mapping"),
        ({"deny": {"deny": {}}}, "bad-access-rules", ("deny",), "deny holds 'deny', which is none of publish"),
        ({"publish": ["a", 1]}, "not-text", ("publish", 1), r"publish\[1\]: a pattern is a str, not int"),
        ({"deny": {"subscribe": ["a..b"]}}, "empty-token", ("deny", "subscribe", 0), r"deny.subscribe\[0\]: token 2"),
    ],
)
def test_plain_data_of_another_form_is_refused(data: object, code: str, path: tuple[object, ...], problem: str) -> None:
    """With the path that leads to the mistake."""
    with pytest.raises(AccessError, match=problem) as caught:
        parse_data(data, "nats")
    assert (caught.value.code, caught.value.path) == (code, path)


def test_a_pattern_in_plain_data_that_is_none_has_text_and_column() -> None:
    """And every mistake can be had."""
    found = list(read_data({"publish": ["a..b", "a", "a.>.b"], "other": []}, "nats"))
    errors = [each for each in found if isinstance(each, AccessError)]
    assert [(error.code, error.text, error.column) for error in errors] == [
        ("empty-token", "a..b", 3),
        ("wildcard-not-last", "a.>.b", 3),
        ("bad-access-rules", None, None),
    ]


def test_what_has_the_wrong_type_is_one_mistake_and_the_rest_is_read() -> None:
    """Nothing is guessed from it."""
    assert len(list(read_data("publish", "nats"))) == 1
    found = list(read_data({"publish": "ab", "deny": 1, "subscribe": ["c"]}, "nats"))
    assert [isinstance(each, AccessError) for each in found] == [True, True, False]


def test_a_principal_is_made_of_either() -> None:
    """With the same outcome."""
    lines = Principal.from_lines("a", "pub=x.*\nsub=y")
    data = Principal.from_data("a", {"publish": ["x.*"], "subscribe": ["y"]}, "zato")
    assert lines.patterns("publish", "allow") == data.patterns("publish", "allow")
    assert lines.patterns("subscribe", "allow") == data.patterns("subscribe", "allow")
    assert lines.patterns("publish", "deny") == []
    assert Principal("nobody").dialect is None
