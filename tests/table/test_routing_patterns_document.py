"""What the document on routing patterns says, section by section; its strategies are in ``tests/routing``."""

from __future__ import annotations

import pytest

from pointsman import CompiledIndex, Message, Pattern, SubjectIndex
from pointsman.patterns.naming import CIM
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.coverage import Coverage


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("graph.events.*.*", "graph.events.structure.node_added", True),
        ("graph.events.*.*", "graph.events.analysis.completed", True),
        ("graph.events.*.*", "graph.events.node_added", False),
        ("graph.events.*.*", "graph.commands.structure.add", False),
        ("graph.events.>", "graph.events.structure", True),
        ("graph.events.>", "graph.events.structure.node_added", True),
        ("graph.events.>", "graph.events.analysis.metrics.calculated", True),
        ("graph.events.>", "graph.commands.structure.add", False),
        ("*.events.user.*", "auth.events.user.created", True),
        ("*.events.user.*", "profile.events.user.updated", True),
        ("*.events.user.*", "auth.events.user.profile.changed", False),
    ],
)
def test_wildcard_pattern_visualization(pattern: str, subject: str, matches: bool) -> None:
    """Every arrow of the diagram."""
    assert Pattern(pattern).matches(subject) is matches


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("workflow.commands.*.*", "workflow.commands.execution.start", True),
        ("workflow.commands.*.*", "workflow.events.execution.completed", False),
        ("graph.>", "graph.queries.analysis.find_shortest_path", True),
        ("graph.>", "graph", False),
        ("*.events.>", "document.events.content.uploaded", True),
        ("*.events.>", "document.commands.content.upload", False),
        ("persistence.>", "persistence.commands.snapshot.take", True),
    ],
)
def test_wildcard_use_cases(pattern: str, subject: str, matches: bool) -> None:
    """'Single Token Wildcard' and 'Multi-Token Wildcard': what each comment says of its pattern."""
    assert Pattern(pattern).matches(subject) is matches


def test_a_multi_token_wildcard_is_no_beginning_of_a_text() -> None:
    """'MultiTokenPattern' is sketched with starts_with, which is wrong: ``graph.>`` is not for ``graphite.x``."""
    assert not Pattern("graph.>").matches("graphite.x")


@pytest.mark.parametrize(
    "domain", ["graph", "workflow", "location", "identity", "document", "persistence", "intelligence"]
)
def test_domain_prefixes(domain: str) -> None:
    """Every row of the table."""
    assert CIM.parse(f"{domain}.events.thing.happened")["domain"] == domain


@pytest.mark.parametrize("kind", ["commands", "events", "queries", "responses", "errors"])
def test_message_type_segments(kind: str) -> None:
    """Every entry of the list."""
    assert CIM.parse(f"graph.{kind}.thing.happened")["message_type"] == kind


@pytest.mark.parametrize(
    "subject",
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
def test_subject_naming_standard_examples(subject: str) -> None:
    """Every example is of the standard, and is put together from its parts."""
    assert str(CIM.build(**CIM.parse(subject))) == subject


def test_hierarchical_structure_visualization() -> None:
    """The four parts of graph.events.structure.node_added."""
    assert CIM.parse("graph.events.structure.node_added") == {
        "domain": "graph",
        "message_type": "events",
        "aggregate": "structure",
        "action": "node_added",
    }


ENVIRONMENTS = """
routes: [{name: analysis, pattern: graph.events.analysis.*, destinations: [optimized]}]
environments:
  development: {routes: [{name: analysis, destinations: [debug, mock-services, test-database]}]}
  staging: {routes: [{name: analysis, destinations: [integration-tests, performance-monitor, staging-database]}]}
  production:
    routes: [{name: analysis, destinations: [optimized, load-balancer, production-database, monitoring]}]
"""


@pytest.mark.parametrize(
    ("environment", "first", "count"),
    [("development", "debug", 3), ("staging", "integration-tests", 3), ("production", "optimized", 4)],
)
def test_environment_based_routing_visualization(environment: str, first: str, count: int) -> None:
    """One subject, other handlers in each environment."""
    table = RoutingTable.parse(ENVIRONMENTS, environment)
    deliveries = table.decide(Message("graph.events.analysis.completed")).deliveries
    assert (deliveries[0].destination, len(deliveries)) == (first, count)


def test_subject_index_structure() -> None:
    """The cache is asked first; exact names and wildcards give their handlers together; a change is seen at once."""
    index: SubjectIndex[str] = SubjectIndex()
    index.add("graph.events.structure.node_added", "exact")
    index.add("graph.events.>", "prefix")
    index.add("*.events.*.node_added", "pattern")
    assert sorted(index.match("graph.events.structure.node_added")) == ["exact", "pattern", "prefix"]
    assert sorted(index.match("graph.events.structure.node_added")) == ["exact", "pattern", "prefix"]
    assert index.stats().cache_misses == 1
    index.add("graph.>", "new")
    assert "new" in index.match("graph.events.structure.node_added")


def test_pattern_matching_of_the_route_testing_framework() -> None:
    """``test_pattern_matching``, assertion by assertion."""
    pattern = Pattern("graph.events.*.*")
    assert pattern.matches("graph.events.structure.node_added")
    assert pattern.matches("graph.events.analysis.completed")
    assert not pattern.matches("graph.commands.structure.add_node")
    assert not pattern.matches("graph.events.node_added")


def test_router_priority_of_the_route_testing_framework() -> None:
    """``test_router_priority``: the higher priority wins."""
    table = RoutingTable.parse(
        """
routes:
  - {name: low, pattern: graph.>, strategy: priority, priority: 1, destinations: [low-handler]}
  - {name: high, pattern: graph.events.>, strategy: priority, priority: 10, destinations: [high-handler]}
"""
    )
    [delivery] = table.decide(Message("graph.events.structure.node_added")).deliveries
    assert delivery.destination == "high-handler"


@pytest.mark.parametrize(
    ("subject", "destination"),
    [
        ("graph.events.critical.failure", "critical-handler"),
        ("graph.events.structure.node_added", "normal-handler"),
        ("graph.commands.add", "fallback-handler"),
    ],
)
def test_priority_based_routing_of_the_strategy_comparison(subject: str, destination: str) -> None:
    """Priority 10, 5 and 1."""
    table = RoutingTable.parse(
        """
routes:
  - {name: fallback, pattern: graph.>, strategy: priority, priority: 1, destinations: [fallback-handler]}
  - {name: normal, pattern: graph.events.*.*, strategy: priority, priority: 5, destinations: [normal-handler]}
  - name: critical
    pattern: graph.events.critical.*
    strategy: priority
    priority: 10
    destinations: [critical-handler]
"""
    )
    [delivery] = table.decide(Message(subject)).deliveries
    assert delivery.destination == destination


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("graph.events.node_added", "graph.events.node_added", True),
        ("graph.events.node_added", "graph.events.node_addedX", False),
        ("graph.>", "graph.events.node_added", True),
        ("graph.>", "xgraph.events", False),
        ("graph.*.node_added", "graph.events.node_added", True),
        ("graph.*.node_added", "a.graph.events.node_added.b", False),
        ("graph.*.node_added", "graphXevents.node_added", False),
    ],
)
def test_routing_table_compilation(pattern: str, subject: str, matches: bool) -> None:
    """Exact, prefix and the rest; the sketch's regular expression has no ends and is not copied."""
    assert (CompiledIndex.build([pattern]).match([subject]).to_pylist() == [[0]]) is matches


def test_route_coverage_analysis() -> None:
    """The percentage and the uncovered are of routes, where the sketch mixes them up with subjects."""
    table = RoutingTable.parse(
        """
destinations: {a: , b: }
routes:
  - {name: events, pattern: graph.events.>, destinations: [a]}
  - {name: commands, pattern: graph.commands.>, destinations: [b]}
"""
    )
    coverage = Coverage(table)
    for subject in ("graph.events.one", "graph.events.two", "graph.events.three"):
        coverage.record(table.decide(Message(subject)))
    assert coverage.percent_of("route") == 50.0
    assert [entry.name for entry in coverage.uncovered if entry.kind == "route"] == ["commands"]
