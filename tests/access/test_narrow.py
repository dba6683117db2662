"""What is left of a subscription."""

from __future__ import annotations

import pytest

from pointsman.access import Access, Narrowing, Principal, narrow
from pointsman.errors import AccessError, LimitError
from pointsman.patterns import Pattern


def narrowed(pattern: str, allow: list[str], deny: list[str] | None = None, dialect: str = "nats") -> Narrowing:
    """A subscription to the pattern, of a principal with these rules."""
    principal = Principal.from_data("bob", {"subscribe": allow, "deny": {"subscribe": deny or []}}, dialect)
    return narrow(principal, Pattern(pattern, dialect))


def texts(patterns: tuple[Pattern, ...]) -> list[str]:
    """As they are written."""
    return [pattern.text for pattern in patterns]


def test_a_subscription_within_a_rule_is_whole() -> None:
    """Nothing is taken away, and it is told so."""
    narrowing = narrowed("orders.*", ["orders.>", "stock.>"])
    assert narrowing.whole
    assert not narrowing.nothing
    assert (texts(narrowing.patterns), narrowing.denied) == (["orders.*"], ())
    assert narrowing.reason == "the subscription of 'bob' to 'orders.*' is granted"


def test_a_wider_subscription_is_narrowed_to_the_rules_within_it() -> None:
    """Without those that another one contains."""
    narrowing = narrowed(">", ["orders.*", "orders.new", "stock.>", "stock.*"])
    assert not narrowing.whole
    assert texts(narrowing.patterns) == ["orders.*", "stock.>"]
    assert narrowing.reason == "the subscription of 'bob' to '>' is narrowed to 'orders.*', 'stock.>'"


def test_a_subscription_that_crosses_a_rule_is_narrowed_to_the_intersection() -> None:
    """Which neither of the two says."""
    assert texts(narrowed("*.new", ["orders.*"]).patterns) == ["orders.new"]
    assert texts(narrowed("a.#", ["#.a"], dialect="amqp").patterns) == ["a", "a.#.a"]


def test_what_is_denied_of_it_is_named_for_the_deliveries() -> None:
    """As far as it cuts into what remains, the widest only."""
    narrowing = narrowed("foo.*", [">"], ["*.secret", "foo.secret", "bar.*"])
    assert (texts(narrowing.patterns), texts(narrowing.denied)) == (["foo.*"], ["*.secret"])
    assert not narrowing.whole
    assert narrowing.delivers("foo.public")
    assert not narrowing.delivers("foo.secret")
    assert not narrowing.delivers("bar.public")
    assert narrowing.reason == "the subscription of 'bob' to 'foo.*' is granted, without what '*.secret' matches"


def test_what_one_rule_denies_wholly_does_not_remain() -> None:
    """Also when other parts do."""
    narrowing = narrowed(">", ["a.*", "b.*"], ["a.>", "b.x"])
    assert (texts(narrowing.patterns), texts(narrowing.denied)) == (["b.*"], ["b.x"])
    assert narrowing.reason == "the subscription of 'bob' to '>' is narrowed to 'b.*', without what 'b.x' matches"


@pytest.mark.parametrize(
    ("allow", "deny", "why"),
    [
        ([], [], "'bob' has no rules"),
        ([], ["b"], "no rule allows to read any of it"),
        (["b.>"], [], "no rule allows to read any of it"),
        ([">"], ["a.>"], "all that is allowed of it is denied"),
        (["a.b", "a.c"], ["a.*"], "all that is allowed of it is denied"),
    ],
)
def test_nothing_may_be_left(allow: list[str], deny: list[str], why: str) -> None:
    """And it says why."""
    narrowing = narrowed("a.*", allow, deny)
    assert narrowing.nothing
    assert not narrowing.whole
    assert not narrowing.delivers("a.b")
    assert narrowing.reason == f"the subscription of 'bob' to 'a.*' is refused: {why}"


def test_a_pattern_that_matches_nothing_leaves_nothing() -> None:
    """Though every rule contains it."""
    assert narrowed("a#b", ["**"], dialect="zato").nothing


def test_an_unknown_principal_is_left_nothing() -> None:
    """And told that it is unknown."""
    narrowing = Access([]).narrow("bob", Pattern("a"))
    assert narrowing.nothing
    assert narrowing.reason == "there is no principal 'bob'"


def test_one_principal_may_have_many_subscriptions() -> None:
    """Each is narrowed on its own."""
    access = Access([Principal.from_data("bob", {"subscribe": ["a.*", "b.*"]}, "nats")])
    assert [texts(access.narrow("bob", Pattern(each)).patterns) for each in ("a.>", "*.x", "b.y")] == [
        ["a.*"],
        ["a.x", "b.x"],
        ["b.y"],
    ]


def test_rules_about_publishing_do_not_matter() -> None:
    """Neither to allow nor to deny."""
    data = {"publish": [">"], "subscribe": ["a.*"], "deny": {"publish": ["a.*"]}}
    assert texts(narrow(Principal.from_data("bob", data, "nats"), Pattern(">")).patterns) == ["a.*"]


def test_what_is_no_subject_is_not_delivered() -> None:
    """As a check refuses it."""
    assert not narrowed(">", [">"]).delivers("a..b")


def test_a_pattern_of_another_dialect_than_the_rules_is_refused() -> None:
    """It would mean something else."""
    with pytest.raises(AccessError) as caught:
        narrow(Principal.from_lines("bob", "sub=**"), Pattern("a"))
    assert caught.value.code == "mixed-dialects"
    assert narrow(Principal("bob"), Pattern("a")).nothing


def test_only_the_first_patterns_are_named_in_the_sentence() -> None:
    """However many there are."""
    narrowing = narrowed(">", [f"a{number}" for number in range(1000, 2000)])
    assert narrowing.reason.endswith("'a1004' and 995 more")
    assert len(narrowing.patterns) == 1000


def test_patterns_beyond_the_limit_are_refused() -> None:
    """Of those that have to be made; the rules themselves cost nothing."""
    principal = Principal.from_data("bob", {"subscribe": [f"{number}.*" for number in range(20)]}, "nats")
    assert len(narrow(principal, Pattern("*.new"), limit=20).patterns) == 20
    with pytest.raises(LimitError, match="more than 19 patterns"):
        narrow(principal, Pattern("*.new"), limit=19)
    assert len(narrow(principal, Pattern(">"), limit=0).patterns) == 20


def test_thousands_of_rules_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with the few that could contain it."""
    contains = Pattern.contains
    compared = []

    def counted(wide: Pattern, other: Pattern) -> bool:
        compared.append(wide)
        return contains(wide, other)

    rules = [f"site{number}.{kind}" for number in range(1000) for kind in ("*", "new", "old")]
    monkeypatch.setattr(Pattern, "contains", counted)
    narrowing = narrowed(">", rules, [f"*.{number}" for number in range(100)])
    assert len(narrowing.patterns) == 1000
    assert len(compared) < 20_000
