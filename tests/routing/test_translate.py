"""Translation of subjects by rules."""

from __future__ import annotations

import pytest

from pointsman import Pattern, Template
from pointsman.errors import SubjectError
from pointsman.routing.translate import NO_MATCH, Loss, Rule, Translation, Unused, explain, lossy, translate


def rule(source: str, template: str, dialect: str = "nats") -> Rule:
    """A rule named after its pattern."""
    return Rule(source, Template(template, Pattern(source, dialect)))


CONTEXTS = [
    rule("internal.graph.events.*", "public.graph.notifications.$1"),
    rule("v1.workflow.commands.*", "v2.workflow.commands.$1"),
]


@pytest.mark.parametrize(
    ("subject", "translated"),
    [
        ("internal.graph.events.node_added", "public.graph.notifications.node_added"),
        ("v1.workflow.commands.start", "v2.workflow.commands.start"),
        ("public.graph.notifications.node_added", None),
        ("internal.graph.events", None),
        ("v1.workflow.commands.start.now", None),
    ],
)
def test_subject_translation_context_mapping(subject: str, translated: str | None) -> None:
    """The rules and subjects of the document; ``None`` where no rule matches."""
    assert translate(CONTEXTS, subject) == translated
    assert explain(CONTEXTS, subject).subject == translated


def test_subject_translation_replaces_tokens_and_not_every_text_that_looks_alike() -> None:
    """Where the document's ``replace`` would also change what the wildcard stands for."""
    assert translate(CONTEXTS, "v1.workflow.commands.v1") == "v2.workflow.commands.v1"
    assert translate(CONTEXTS, "internal.graph.events.events") == "public.graph.notifications.events"


@pytest.mark.parametrize(
    ("source", "template", "subject", "translated"),
    [
        ("internal.>", "public.>", "internal.graph.events.node_added", "public.graph.events.node_added"),
        ("*.*.events.*", "$1.$2.notifications.$3", "public.graph.events.x", "public.graph.notifications.x"),
        ("v1.>", "v2.>", "v1.workflow.commands.start", "v2.workflow.commands.start"),
    ],
)
def test_subject_translation_flow_rules(source: str, template: str, subject: str, translated: str) -> None:
    """'internal.* to public.*', 'events to notifications', 'v1.* to v2.*', each alone."""
    assert translate([rule(source, template)], subject) == translated


def test_the_first_rule_that_matches_is_applied_and_only_it() -> None:
    """What it makes is not translated again; the others are told why."""
    rules = [rule("x.y", "z"), rule("a.*", "b.$1"), rule("b.*", "c.$1"), rule("a.>", "d.>")]
    assert translate(rules, "a.1") == "b.1"
    assert explain(rules, "a.1") == Translation(
        "b.1",
        rules[1],
        (Unused(rules[0], NO_MATCH), Unused(rules[2], NO_MATCH), Unused(rules[3], "'a.*' comes first")),
    )


def test_without_a_rule_nothing_is_translated() -> None:
    """And nothing has to be explained."""
    assert translate([], "a") is None
    assert explain([], "a") == Translation(None, None)


def test_the_rules_that_lose_information_are_reported_with_what_they_lose() -> None:
    """By the numbers of the wildcards."""
    loses = rule("orders.*.*", "orders.$2")
    assert lossy([*CONTEXTS, loses]) == (Loss(loses, (1,)),)


def test_a_rule_may_be_of_another_dialect() -> None:
    """Its own decides what a subject is."""
    assert translate([rule("plant/+/temp", "heat/$1", "mqtt")], "plant//temp") == "heat/"
    with pytest.raises(SubjectError):
        translate(CONTEXTS, "a..b")
