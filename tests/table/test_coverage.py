"""Coverage: what of a table was exercised."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.routing.breaker import BreakerState, Phase
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key
from pointsman.table.tools.coverage import SAMPLES, Coverage, write_html

TABLE = RoutingTable.parse(
    """
name: a <b>bold</b> table
destinations: {archive: , spare: , stock: {breaker: {fallback: spare}}, elsewhere: }
routes:
  - {name: orders, pattern: "orders.>", destinations: [archive]}
  - {name: "<script>alert(1)</script>", pattern: "stock.*", destinations: [stock, elsewhere]}
  - {name: off, pattern: ">", destinations: [archive], enabled: false}
translations:
  - {name: first, from: "old.*", to: "orders.$1"}
  - {name: hidden, from: "old.>", to: "stock.>"}
access: {shop: {publish: ["orders.>"]}}
"""
)
SECOND = "<script>alert(1)</script>"


def counted(*subjects: str) -> Coverage:
    """The coverage of messages with these subjects."""
    coverage = Coverage(TABLE)
    for subject in subjects:
        coverage.record(TABLE.decide(Message(subject)), subject)
    return coverage


def uncovered(coverage: Coverage) -> list[tuple[str, str]]:
    """The kinds and names of what is left."""
    return [(entry.kind, entry.name) for entry in coverage.uncovered]


def test_nothing_is_covered_before_anything_was_recorded() -> None:
    """Disabled routes, and destinations that only they have, do not count; destinations that are not declared do."""
    coverage = counted()
    assert coverage.percent == 0
    assert uncovered(coverage) == [
        ("route", "orders"),
        ("route", SECOND),
        ("destination", "archive"),
        ("destination", "spare"),
        ("destination", "stock"),
        ("destination", "elsewhere"),
        ("translation", "first"),
        ("translation", "hidden"),
    ]


def test_coverage_counts_routes_and_not_subjects() -> None:
    """However many messages take the same route."""
    coverage = counted(*[f"orders.{number}" for number in range(10)], "nothing.at.all")
    assert coverage.percent == 50
    route = next(coverage.entries("route"))
    assert (route.count, route.subjects) == (10, ["orders.0", "orders.1", "orders.2"][:SAMPLES])
    assert route.place is not None
    assert route.place.line == 5


def test_a_translation_is_covered_by_a_subject_that_it_changed() -> None:
    """The first that matches is the one; the samples of its routes are the subjects as they were sent."""
    coverage = counted("old.1")
    assert [(entry.name, entry.count) for entry in coverage.entries("translation")] == [("first", 1), ("hidden", 0)]
    assert next(coverage.entries("route")).subjects == ["old.1"]
    assert ("translation", "hidden") not in uncovered(counted("old.1.2"))


def test_what_is_refused_covers_nothing() -> None:
    """Neither by access nor for its subject."""
    coverage = Coverage(TABLE)
    coverage.record(TABLE.decide(Message("old.1"), principal="shop"), "old.1")
    coverage.record(TABLE.decide(Message("a..b")), "a..b")
    assert [entry.count for entry in coverage.entries()] == [0] * 8


def test_a_fallback_is_covered_by_what_it_gets() -> None:
    """And the destination it stands in for is not."""
    table = RoutingTable.parse(
        "destinations: {x: {breaker: {fallback: spare}}, spare: }\nroutes: [{name: r, pattern: a, destinations: [x]}]"
    )
    state = {Key("breaker", "x"): BreakerState(Phase.OPEN)}
    coverage = Coverage(table)
    coverage.record(table.decide(Message("a"), state, now=1.0), "a")
    assert [(entry.name, entry.count) for entry in coverage.entries("destination")] == [("x", 0), ("spare", 1)]
    assert coverage.percent == 100


def test_a_subject_that_no_translation_can_read_covers_none() -> None:
    """It goes on to routes of another dialect."""
    table = RoutingTable.parse(
        "routes: [{name: r, pattern: '#', dialect: amqp, destinations: [x]}]\ntranslations: [{from: a.*, to: b.$1}]"
    )
    coverage = Coverage(table)
    coverage.record(table.decide(Message("a..b")), "a..b")
    assert [entry.count for entry in coverage.entries()] == [1, 1, 0]


def test_a_table_without_routes_is_covered() -> None:
    """There is nothing left to do."""
    assert Coverage(RoutingTable.parse("{}")).percent == 100


def test_merging_is_as_recording_all_in_one() -> None:
    """Counts are added, samples are put together."""
    merged = counted("orders.1", "stock.1")
    merged.merge(counted("orders.1", "orders.2", "old.1"))
    assert merged.as_dict() == counted("orders.1", "stock.1", "orders.1", "orders.2", "old.1").as_dict()


def test_other_tables_are_refused() -> None:
    """A decision with a route that is not there, and what was counted for other content."""
    other = RoutingTable.parse("routes: [{name: other, pattern: a, destinations: [b]}]")
    with pytest.raises(InputError) as caught:
        counted().record(other.decide(Message("a")))
    assert caught.value.code == "other-table"
    with pytest.raises(InputError) as caught:
        counted().merge(Coverage(other))
    assert caught.value.code == "other-table"


class Reader(HTMLParser):
    """Collects the tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remembers the tag; nothing may be loaded from elsewhere."""
        self.tags.append(tag)
        assert not {"src", "href"} & {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Remembers the text."""
        self.texts.append(data)


def test_the_page_shows_all_and_runs_nothing() -> None:
    """Names are escaped, and it loads nothing."""
    coverage = counted("orders.1")
    coverage.record(coverage.table.decide(Message("orders.<i>")), "orders.<i>")
    page = Reader(write_html(coverage))
    assert {"script", "b", "i", "link", "img"}.isdisjoint(page.tags)
    assert {SECOND, "orders.1", "orders.<i>", "Routes: 50.0% (1 of 2)"} <= set(page.texts)
    assert "Coverage of a <b>bold</b> table" in page.texts
