"""The check of one operation on one subject."""

from __future__ import annotations

import pytest

from pointsman.access import Access, Origin, Principal, Rule
from pointsman.errors import AccessError
from pointsman.patterns import Pattern

SHOP = Principal.from_data(
    "shop",
    {"publish": ["orders.>", "orders.*"], "subscribe": ["stock.*"], "deny": {"publish": ["orders.*.secret"]}},
    "nats",
)
ACCESS = Access(
    [
        SHOP,
        Principal("guest"),
        Principal.from_lines("reader", "sub=a"),
        Principal.from_lines("zato client", "pub=a.*\nsub=orders.**"),
    ]
)


@pytest.mark.parametrize(
    ("principal", "subject", "allowed", "why"),
    [
        ("shop", "orders.new", True, "allow publish 'orders.*' (publish[1])"),
        ("shop", "orders.eu.new", True, "allow publish 'orders.>' (publish[0])"),
        ("shop", "orders.eu.secret", False, "deny publish 'orders.*.secret' (deny.publish[0])"),
        ("shop", "stock.new", False, "none of its 3 publish rules matches"),
        ("shop", "orders..new", False, "it is no subject, token 2 of the nats subject is empty"),
        ("guest", "a", False, "it has no rules"),
        ("reader", "a", False, "it has no publish rules"),
        ("zato client", "b", False, "its only publish rule, allow publish 'a.*' (line 1), does not match"),
        ("zato client", "a.B", True, "allow publish 'a.*' (line 1)"),
    ],
)
def test_the_verdict_says_which_rule_decided_or_that_none_did(
    principal: str, subject: str, allowed: bool, why: str
) -> None:
    """In a sentence."""
    verdict = ACCESS.check(principal, "publish", subject)
    assert verdict.allowed == allowed
    assert verdict.reason == f"{principal!r} may{'' if allowed else ' not'} publish to {subject!r}: {why}"
    assert str(verdict.rule or "None") == (why if why.startswith(("allow", "deny")) else "None")


def test_an_unknown_principal_is_refused() -> None:
    """And the verdict says that it is unknown."""
    verdict = ACCESS.check("nobody", "publish", "orders.new")
    assert (verdict.allowed, verdict.rule, verdict.reason) == (False, None, "there is no principal 'nobody'")


def test_what_denies_wins_over_what_allows_however_specific_it_is() -> None:
    """Also over an exact name."""
    access = Access([Principal.from_data("a", {"publish": ["x.y"], "deny": {"publish": [">"]}}, "nats")])
    verdict = access.check("a", "publish", "x.y")
    assert not verdict.allowed
    assert verdict.rule == Rule("publish", "deny", Pattern(">"), Origin(path=("deny", "publish", 0)))


def test_a_rule_about_one_operation_says_nothing_about_the_other() -> None:
    """Neither one that allows nor one that denies."""
    assert not ACCESS.check("shop", "subscribe", "orders.new").allowed
    assert not ACCESS.check("shop", "publish", "stock.new").allowed
    access = Access([Principal.from_data("a", {"subscribe": [">"], "deny": {"publish": [">"]}}, "nats")])
    assert access.check("a", "subscribe", "x").allowed


@pytest.mark.parametrize("subject", [None, 1, b"orders.new", ["orders"], "orders.\udcff", "orders.*"])
def test_what_is_no_subject_is_refused_and_not_raised(subject: object) -> None:
    """Whatever it is: who asks for access is not to be trusted."""
    verdict = ACCESS.check("shop", "publish", subject)  # type: ignore[arg-type]
    assert not verdict.allowed
    assert verdict.rule is None
    assert "it is no subject" in verdict.reason


@pytest.mark.parametrize("principal", ["shop", "nobody"])
def test_an_unknown_operation_is_an_error(principal: str) -> None:
    """It is the program's mistake and not a question of access."""
    with pytest.raises(AccessError) as caught:
        ACCESS.check(principal, "delete", "orders.new")  # type: ignore[arg-type]
    assert caught.value.code == "unknown-operation"


def test_two_principals_of_one_name_are_refused() -> None:
    """Which of them counts would be a matter of luck."""
    with pytest.raises(AccessError) as caught:
        Access([Principal("a"), Principal("b"), Principal("a")])
    assert caught.value.code == "duplicate-principal"


def test_the_rules_of_a_principal_are_of_one_dialect() -> None:
    """A subject could not be read in two ways at once; different principals may differ."""
    rules = (Rule("publish", "allow", Pattern("a")), Rule("publish", "allow", Pattern("a", "mqtt")))
    with pytest.raises(AccessError, match="mqtt and nats") as caught:
        Principal("a", rules)
    assert caught.value.code == "mixed-dialects"


def test_a_rule_has_a_known_operation_and_effect() -> None:
    """Anything else is refused when it is made."""
    with pytest.raises(AccessError) as caught:
        Rule("read", "allow", Pattern("a"))  # type: ignore[arg-type]
    assert caught.value.code == "unknown-operation"
    with pytest.raises(AccessError) as caught:
        Rule("publish", "permit", Pattern("a"))  # type: ignore[arg-type]
    assert caught.value.code == "bad-access-rules"


def test_the_topics_that_a_principal_may_use_keep_their_order() -> None:
    """What is no subject is left out, and an unknown principal may use none."""
    topics = ["orders.b", "stock.a", "orders.a", "orders.", "orders.eu.secret"]
    assert ACCESS.topics_for("shop", "publish", topics) == ["orders.b", "orders.a"]
    assert ACCESS.topics_for("shop", "subscribe", topics) == ["stock.a"]
    assert ACCESS.topics_for("nobody", "publish", topics) == []


def test_the_principals_that_may_use_a_topic_keep_their_order() -> None:
    """Each by the dialect of its own rules."""
    access = Access(
        [
            Principal.from_lines("z", "pub=Orders.*"),
            Principal.from_data("m", {"publish": ["orders.new"]}, "mqtt"),
            Principal.from_data("n", {"publish": ["orders.>"]}, "nats"),
            Principal.from_data("d", {"publish": ["orders.>"], "deny": {"publish": ["*.new"]}}, "nats"),
        ]
    )
    assert access.principals_for("publish", "orders.new") == ["z", "m", "n"]
    assert access.principals_for("publish", "ORDERS.new") == ["z"]
    assert access.principals_for("subscribe", "orders.new") == []


def test_a_check_among_ten_thousand_rules_asks_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are indexed: no pattern is tried on its own."""
    tried: list[str] = []
    rules = [f"site{number}.*.events" for number in range(10_000)]
    access = Access([Principal.from_data("a", {"publish": rules}, "nats")])
    monkeypatch.setattr(Pattern, "matches", lambda pattern, _: tried.append(pattern.text))
    assert access.check("a", "publish", "site77.x.events").allowed
    assert not access.check("a", "publish", "site77.x.commands").allowed
    assert tried == []
