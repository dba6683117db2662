"""What Zato's document on topic patterns says, section by section; where it contradicts itself, the design decides."""

from __future__ import annotations

import pytest

from pointsman.access import Access, Operation, Principal, in_order


def may(lines: str, operation: Operation, topic: str) -> bool:
    """Whether a client with these lines may do this with the topic."""
    return Access([Principal.from_lines("client", lines)]).check("client", operation, topic).allowed


def decided_by(lines: str, operation: Operation, topic: str) -> str | None:
    """The pattern that decided."""
    rule = Access([Principal.from_lines("client", lines)]).check("client", operation, topic).rule
    return None if rule is None else rule.pattern.text


def evaluated(lines: str) -> list[str]:
    """The patterns in the order in which they are tried."""
    return [rule.pattern.text for rule in in_order(Principal.from_lines("client", lines).rules)]


def assert_matches(pattern: str, matching: list[str], others: list[str]) -> None:
    """For both operations alike."""
    for operation, keyword in (("publish", "pub"), ("subscribe", "sub")):
        assert [topic for topic in matching + others if may(f"{keyword}={pattern}", operation, topic)] == matching


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("a" * 201, "at most 200 bytes"),
        ("orders#1", "'#'"),
        ("orders.größe", "plain ASCII"),
        ("", "cannot be empty"),
    ],
)
def test_topic_name_restrictions(topic: str, why: str) -> None:
    """A topic outside of them is refused even to who may use everything, and the reason says why."""
    verdict = Access([Principal.from_lines("client", "pub=**")]).check("client", "publish", topic)
    assert not verdict.allowed
    assert verdict.rule is None
    assert why in verdict.reason
    assert may("pub=**", "publish", "a" * 200)


def test_pattern_types_exact_match() -> None:
    """Without a wildcard, the topic of that name only."""
    assert_matches("orders.processed", ["orders.processed"], ["orders.processed.daily", "orders.pending"])


def test_pattern_types_single_wildcard() -> None:
    """It stops at dots."""
    assert_matches(
        "orders.*",
        ["orders.processed", "orders.pending", "orders.cancelled"],
        ["orders.processed.daily", "orders.pending.urgent"],
    )


def test_pattern_types_multi_level_wildcard() -> None:
    """It crosses dots."""
    assert_matches(
        "orders.**",
        ["orders.processed", "orders.processed.daily", "orders.pending.urgent.high"],
        ["inventory.low", "users.created"],
    )


def test_usage_examples_publisher_patterns() -> None:
    """Both patterns, what they allow to publish and what not; and they allow to subscribe to nothing."""
    wide = ["notifications.email", "notifications.sms.urgent", "notifications.push.mobile.ios"]
    assert all(may("pub=notifications.**", "publish", topic) for topic in wide)
    near = ["events.user.created", "events.user.updated", "events.user.deleted"]
    assert all(may("pub=events.user.*", "publish", topic) for topic in near)
    assert not may("pub=events.user.*", "publish", "events.user.profile.changed")
    assert not may("pub=events.user.*", "publish", "events.system.started")
    assert not any(may("pub=events.user.*", "subscribe", topic) for topic in near)


def test_usage_examples_subscriber_patterns() -> None:
    """Both patterns, what they allow to subscribe to and what not; and they allow to publish nothing."""
    wide = ["alerts.critical.system", "alerts.critical.database.connection", "alerts.critical.security.breach"]
    assert all(may("sub=alerts.critical.**", "subscribe", topic) for topic in wide)
    near = ["logs.app.error", "logs.db.error", "logs.auth.error"]
    assert all(may("sub=logs.*.error", "subscribe", topic) for topic in near)
    assert not may("sub=logs.*.error", "subscribe", "logs.app.debug.error")
    assert not may("sub=logs.*.error", "subscribe", "logs.system.warning")
    assert not any(may("sub=logs.*.error", "publish", topic) for topic in near)


def test_usage_examples_combined_access() -> None:
    """Any user command may be published, direct user events and user email notifications may be subscribed to."""
    lines = "pub=commands.user.**\nsub=events.user.*\nsub=notifications.user.email\n"
    assert may(lines, "publish", "commands.user.create")
    assert may(lines, "publish", "commands.user.profile.change")
    assert may(lines, "subscribe", "events.user.created")
    assert may(lines, "subscribe", "notifications.user.email")
    assert not may(lines, "subscribe", "commands.user.create")
    assert not may(lines, "publish", "events.user.created")
    assert not may(lines, "subscribe", "events.user.profile.changed")
    assert not may(lines, "subscribe", "notifications.user.sms")


def test_rule_1_segment_separation() -> None:
    """Segments are separated by dots, and by nothing else."""
    assert_matches("orders.*", ["orders.a/b", "orders.a-b", "orders.a:b"], ["orders.a.b", "orders/a"])


def test_rule_2_single_wildcard() -> None:
    """One segment, neither none nor two. The design adds that it may be an empty one, and a part of a segment."""
    assert_matches("orders.*.new", ["orders.eu.new", "orders..new"], ["orders.new", "orders.eu.west.new"])
    assert_matches("ord*.new", ["orders.new", "ord.new"], ["ord.ers.new"])


def test_rule_3_multi_level_wildcard() -> None:
    """The rule says one or more segments, the FAQ zero or more; the design decides for zero or more."""
    assert_matches("orders.**", ["orders", "orders.new", "orders.new.eu"], ["order", "ordersnew"])


def test_rule_4_case_insensitive() -> None:
    """In patterns and in topics."""
    assert_matches("Orders.New", ["orders.new", "ORDERS.NEW", "oRDERS.nEW"], ["orders.old"])


def test_rule_5_no_partial_matches() -> None:
    """Neither the beginning nor the end of a topic is enough."""
    assert_matches("orders", ["orders"], ["orders.new", "new.orders", "orders1", "myorders"])


def test_rule_6_alphabetical_evaluation() -> None:
    """The four patterns, in whatever order they are given."""
    expected = ["alerts.critical", "alerts.**", "orders.urgent", "orders.*"]
    assert evaluated("sub=orders.*\nsub=orders.urgent\nsub=alerts.**\nsub=alerts.critical") == expected
    assert evaluated("sub=alerts.**\nsub=alerts.critical\nsub=orders.*\nsub=orders.urgent") == expected


def test_rule_7_first_match_wins() -> None:
    """Of two that match, the one that is evaluated first is named."""
    assert decided_by("pub=alerts.**\npub=alerts.critical", "publish", "alerts.critical") == "alerts.critical"
    assert decided_by("pub=alerts.**\npub=alerts.critical", "publish", "alerts.minor") == "alerts.**"


def test_faq_can_i_use_wildcards_at_the_beginning_of_a_pattern() -> None:
    """Yes."""
    assert_matches("*.orders", ["urgent.orders", "daily.orders"], ["orders", "very.urgent.orders"])


def test_faq_what_is_the_difference_between_one_and_two_asterisks() -> None:
    """One stops at dots, two cross them."""
    assert_matches("topic.*", ["topic.abc"], ["topic.abc.def"])
    assert_matches("topic.**", ["topic.abc", "topic.abc.def"], [])


def test_faq_can_i_mix_wildcards_in_one_pattern() -> None:
    """Yes."""
    assert_matches(
        "orders.*.processed.**",
        ["orders.urgent.processed.daily", "orders.bulk.processed.summary.final"],
        ["orders.processed.daily"],
    )


def test_faq_does_it_match_to_the_end_of_a_topic_name() -> None:
    """Yes, zero or more segments."""
    assert_matches("orders.**", ["orders.urgent", "orders.urgent.high", "orders.urgent.high.priority", "orders"], [])


def test_faq_can_i_use_it_in_the_middle_of_a_pattern() -> None:
    """Yes, zero or more segments."""
    assert_matches(
        "orders.**.new",
        ["orders.new", "orders.urgent.new", "orders.urgent.high.new", "orders.a.b.c.d.new"],
        ["orders.urgent", "ordersnew"],
    )


def test_faq_can_i_have_empty_segments() -> None:
    """Yes; it is this exact name."""
    assert_matches("orders..123", ["orders..123"], ["orders.123", "orders.a.123"])


def test_faq_can_i_use_other_wildcard_characters() -> None:
    """No: they stand for themselves."""
    assert_matches("orders.?", ["orders.?"], ["orders.a"])
    assert_matches("orders.>", ["orders.>"], ["orders.a"])


def test_faq_what_happens_if_i_have_overlapping_patterns() -> None:
    """Only the first that matches applies, and the exact one comes first."""
    lines = "sub=orders.*\nsub=orders.urgent"
    assert evaluated(lines) == ["orders.urgent", "orders.*"]
    assert decided_by(lines, "subscribe", "orders.urgent") == "orders.urgent"
    assert decided_by(lines, "subscribe", "orders.other") == "orders.*"


@pytest.mark.parametrize("topic", ["zato", "my.zato.topic", "myZATOtopic", "zpsk.orders", "a.ZpSk", "orders.ü"])
def test_faq_are_there_any_reserved_topic_names(topic: str) -> None:
    """Yes: with 'zato' or 'zpsk' anywhere, in any case, and all that is not ASCII."""
    assert not may("pub=**", "publish", topic)


def test_faq_are_there_any_reserved_topic_names_dots_at_the_ends() -> None:
    """They are better avoided, and no more than that: a dot at an end makes an empty segment."""
    assert_matches("orders.*", ["orders."], [".orders"])


def test_faq_how_do_i_match_topics_with_special_characters() -> None:
    """They are literal."""
    assert_matches("orders-2024", ["orders-2024"], ["orders_2024", "orders2024"])
    assert_matches("a+b.(c)[d]^$", ["a+b.(c)[d]^$"], ["aab.cd"])


ORDER = """
sub=transaction.priority
sub=transaction.*
sub=transaction.**.processed
sub=transaction.international
"""


def test_faq_in_what_order_are_patterns_evaluated() -> None:
    """Alphabetically, with wildcards last."""
    assert evaluated(ORDER) == [
        "transaction.international",
        "transaction.priority",
        "transaction.*",
        "transaction.**.processed",
    ]


@pytest.mark.parametrize(
    ("topic", "pattern", "tried_before"),
    [
        ("transaction.international", "transaction.international", 0),
        ("transaction.domestic", "transaction.*", 2),
        ("transaction.wire.processed", "transaction.**.processed", 3),
    ],
    ids=["example 1", "example 2", "example 3"],
)
def test_faq_in_what_order_are_patterns_evaluated_examples(topic: str, pattern: str, tried_before: int) -> None:
    """The pattern that decides, and how many are tried in vain before it."""
    assert decided_by(ORDER, "subscribe", topic) == pattern
    in_vain = evaluated(ORDER)[:tried_before]
    assert not any(may(f"sub={each}", "subscribe", topic) for each in in_vain)
    assert evaluated(ORDER)[tried_before] == pattern
