"""Access that nobody can use."""

from __future__ import annotations

from pointsman.access import Principal, unusable_rules


def test_a_rule_that_one_rule_denies_wholly_is_of_no_use() -> None:
    """The finding names both; of several that deny it, the one that is tried first."""
    data = {
        "publish": ["orders.new", "orders.>", "stock.*"],
        "subscribe": ["orders.new"],
        "deny": {"publish": ["orders.>", "orders.*"]},
    }
    first, second = unusable_rules(Principal.from_data("shop", data, "nats"))
    assert (str(first.rule), str(first.denied_by)) == (
        "allow publish 'orders.new' (publish[0])",
        "deny publish 'orders.*' (deny.publish[1])",
    )
    assert first.kind == "always-denied"
    assert second.problem == (
        "allow publish 'orders.>' (publish[1]) is of no use: deny publish 'orders.>' (deny.publish[0]) denies all of it"
    )


def test_a_rule_whose_pattern_no_subject_can_match_is_of_no_use() -> None:
    """Whether it allows or denies."""
    data = {"publish": ["a.#", "a.*"], "deny": {"subscribe": [" a"]}}
    found = unusable_rules(Principal.from_data("shop", data, "zato"))
    assert [(str(each.rule), each.kind, each.denied_by) for each in found] == [
        ("allow publish 'a.#' (publish[0])", "matches-nothing", None),
        ("deny subscribe ' a' (deny.subscribe[0])", "matches-nothing", None),
    ]


def test_what_it_takes_two_rules_to_deny_is_not_found() -> None:
    """The promise is about single rules."""
    data = {"publish": ["*"], "deny": {"publish": ["", "*.#"]}}
    assert [each.kind for each in unusable_rules(Principal.from_data("shop", data, "amqp"))] == ["always-denied"]
    data = {"publish": ["#"], "deny": {"publish": ["", "*.#"]}}
    assert unusable_rules(Principal.from_data("shop", data, "amqp")) == []


def test_a_principal_without_rules_has_none_of_no_use() -> None:
    """There is nothing to find."""
    assert unusable_rules(Principal("guest")) == []
