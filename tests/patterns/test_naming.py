"""Naming standards."""

from __future__ import annotations

import pytest

from pointsman.errors import NamingError, SubjectError
from pointsman.patterns import CIM, STANDARDS, Field, NamingStandard, Subject, find_dialect


def test_the_standard_ships_with_seven_domains_and_five_message_types() -> None:
    """Those of the document, in its order."""
    domain, message_type, *_ = CIM.fields
    assert list(domain.vocabulary) == [
        "graph", "workflow", "location", "identity", "document", "persistence", "intelligence",
    ]  # fmt: skip
    assert list(message_type.vocabulary) == ["commands", "events", "queries", "responses", "errors"]
    assert STANDARDS["cim"] is CIM


@pytest.mark.parametrize(
    "text",
    [
        "graph.commands.structure.add_node",
        "workflow.commands.execution.start",
        "identity.commands.user.authenticate",
        "graph.events.structure.node_added",
        "workflow.events.execution.completed",
        "document.events.content.uploaded",
        "graph.queries.analysis.find_shortest_path",
        "location.queries.search.find_nearby",
    ],
)
def test_the_examples_of_the_document_keep_to_the_standard(text: str) -> None:
    """Parsed into their parts and built again, they are what they were."""
    parts = CIM.parse(text)
    assert list(parts) == ["domain", "message_type", "aggregate", "action"]
    assert str(CIM.build(**parts)) == text
    assert CIM.allows(text)
    assert CIM.parse(Subject(text)) == parts


@pytest.mark.parametrize(
    ("text", "code", "problem"),
    [
        ("graph.events.node_added", "wrong-shape", "'graph.events.node_added' has 3 tokens, cim has 4"),
        ("grap.events.a.b", "unknown-word", "'grap' is no domain of cim, .* did you mean 'graph'?"),
        ("graph.facts.a.b", "unknown-word", "'facts' is no message_type of cim, which are commands, events"),
    ],
)
def test_a_subject_outside_the_standard_is_refused_with_the_field(text: str, code: str, problem: str) -> None:
    """With the words it may be, and the one that was probably meant."""
    with pytest.raises(NamingError, match=problem) as caught:
        CIM.parse(text)
    assert caught.value.code == code
    assert not CIM.allows(text)


def test_the_error_points_at_the_token() -> None:
    """By its column."""
    with pytest.raises(NamingError) as caught:
        CIM.parse("graph.facts.a.b")
    assert caught.value.column == 7


def test_what_is_no_subject_keeps_to_no_standard() -> None:
    """Parse says why, allows says no."""
    with pytest.raises(SubjectError):
        CIM.parse("graph..a.b")
    assert not CIM.allows("graph..a.b")


@pytest.mark.parametrize(
    "parts",
    [
        {"domain": "graph"},
        {"domain": "graph", "message_type": "events", "aggregate": "a", "action": "b", "version": "1"},
        {"domain": "graph", "message_type": "events", "aggregate": "a.b", "action": "c"},
        {"domain": "shop", "message_type": "events", "aggregate": "a", "action": "b"},
    ],
)
def test_parts_that_do_not_fit_build_no_subject(parts: dict[str, str]) -> None:
    """Missing, unknown, holding a separator, or outside the vocabulary."""
    with pytest.raises(NamingError):
        CIM.build(**parts)


def test_a_team_declares_its_own_standard_in_its_own_dialect() -> None:
    """With its own fields and words."""
    plant = NamingStandard(
        "plant", (Field("site"), Field("line"), Field("signal", {"temp": "°C", "rpm": "1/min"})), find_dialect("mqtt")
    )
    assert plant.shape == "{site}/{line}/{signal}"
    assert plant.parse("berlin//temp") == {"site": "berlin", "line": "", "signal": "temp"}
    assert str(plant.build(site="berlin", line="2", signal="rpm")) == "berlin/2/rpm"
    assert not plant.allows("berlin/2/volts")


@pytest.mark.parametrize("fields", [(), (Field("a"), Field("a")), (Field(""),)])
def test_a_standard_needs_fields_with_names_of_their_own(fields: tuple[Field, ...]) -> None:
    """Otherwise parts could not be told apart."""
    with pytest.raises(NamingError) as caught:
        NamingStandard("bad", fields)
    assert caught.value.code == "bad-standard"
