"""The findings about routes agree with what the table decides about every short message."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.patterns import DIALECTS, Field, NamingStandard, Pattern
from pointsman.table.check import Finding, check_table
from pointsman.table.check.naming import meets
from pointsman.table.check.overlap_index import Near
from pointsman.table.check.shadowing import covering, covers
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable

from .tables import is_subject, matched, messages, patterns, tables

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(max_examples=200, deadline=None)
NEVER = ("route-unreachable", "predicate-never")
CUT = ("route-shadowed", "overlap-different-outcome")


def named(finding: Finding) -> set[str]:
    """The other routes that a finding names."""
    return set(re.findall(r"'(r\d)'", finding.message)) - {finding.about}


def all_of(pattern: Pattern) -> frozenset[str]:
    """Every short subject that the pattern matches."""
    return matched(pattern.text, pattern.dialect.name)


def crosses(one: Route, other: Route) -> bool:
    """Whether each of two patterns matches a subject that the other does not."""
    mine, yours = all_of(one.pattern), all_of(other.pattern)
    return bool(mine - yours and yours - mine)


def by_brute_force(table: RoutingTable) -> tuple[set[str], set[tuple[str, str, str]]]:
    """The routes that are never taken; and which lose messages to which, with the code that says so."""
    taken: set[str] = set()
    lost: set[tuple[str, str]] = set()
    for message in messages(table):
        winners = {delivery.route for delivery in table.decide(message).deliveries}
        taken |= winners
        for route in table.routes:
            wanted = route.enabled and message.subject in all_of(route.pattern) and route.refuses(message) is None
            if wanted and route.name not in winners:
                lost |= {(route.name, winner) for winner in winners}
    routes = {route.name: route for route in table.routes}
    cut = set()
    for name, winner in lost:
        route, other = routes[name], routes[winner]
        if name in taken and route.group == other.group and crosses(route, other):
            same_rank = route.strategy != "priority" or route.priority == other.priority
            by_chance = same_rank and route.destinations != other.destinations
            cut.add((name, winner, CUT[by_chance]))
    return {route.name for route in table.routes if route.enabled} - taken, cut


@pytest.mark.parametrize("strategy", ["direct", "priority", "content"])
@pytest.mark.parametrize("dialect", DIALECTS)
@FEW
@given(data=st.data())
def test_unreachable_and_shadowed_routes_are_those_that_the_decisions_show(
    dialect: str, strategy: str, data: st.DataObject
) -> None:
    """Both ways: nothing is found that is not so, and nothing that is so is not found."""
    table = data.draw(tables(dialect, strategy))
    findings = check_table(table)
    never, cut = by_brute_force(table)
    assert {finding.about for finding in findings if finding.code in NEVER} == never
    found = {(each.about, other, each.code) for each in findings if each.code in CUT for other in named(each)}
    assert found == cut


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_patterns_cover_another_one_together_exactly_when_they_match_all_its_subjects(
    dialect: str, data: st.DataObject
) -> None:
    """And of those that are named none can be left out."""
    pattern = Pattern(data.draw(patterns(dialect)), dialect)
    others = [Pattern(text, dialect) for text in data.draw(st.lists(patterns(dialect), min_size=1, max_size=5))]
    every = all_of(pattern)
    expected = every <= frozenset().union(*map(all_of, others))
    found = covering(pattern, others)
    assert (found is not None) == expected == covers(others, pattern)
    for position in found or []:
        rest = [all_of(others[each]) for each in found or [] if each != position]
        assert not every or not every <= frozenset().union(*rest)


def test_one_pattern_that_covers_is_preferred_and_of_several_none_is_named_in_vain() -> None:
    """The positions are those of the list."""
    narrow, level, deeper, wide = (Pattern(text) for text in ("a.b", "a.*", "a.*.>", "a.>"))
    assert covering(wide, [narrow, level, deeper]) == [1, 2]
    assert covering(wide, [level, deeper, wide]) == [2]
    assert covering(wide, [narrow, level]) is None
    assert covering(wide, []) is None


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_a_pattern_meets_a_standard_exactly_when_it_matches_one_of_its_subjects(
    dialect: str, data: st.DataObject
) -> None:
    """The words of a field are some, or any; a word that the dialect does not allow is of no use."""
    words = st.lists(st.sampled_from(["a", "B", "b", "$b", "x", "a.b", "a/b"]), max_size=2, unique=True)
    fields = [
        Field(f"f{number}", dict.fromkeys(data.draw(words), "")) for number in range(data.draw(st.integers(1, 3)))
    ]
    standard = NamingStandard("mine", tuple(fields))
    pattern = Pattern(data.draw(patterns(dialect)), dialect)
    choices = [list(field.vocabulary) or ["a", "b", "x", "$b", "ab", "axb", "xb", "ax"] for field in fields]
    texts = [pattern.dialect.separator.join(each) for each in product(*choices)]
    valid = [text for text in texts if is_subject(text, dialect) and len(pattern.dialect.split(text)) == len(fields)]
    assert meets(pattern, standard) == any(pattern.matches(text) for text in valid)


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_no_pattern_with_a_common_subject_is_overlooked(dialect: str, data: st.DataObject) -> None:
    """What is found holds everything that intersects."""
    pattern = Pattern(data.draw(patterns(dialect)), dialect)
    others = [Pattern(text, dialect) for text in data.draw(st.lists(patterns(dialect), max_size=12))]
    near: Near[int] = Near()
    for position, other in enumerate(others):
        near.add(other, position)
    found = list(near.find(pattern))
    assert len(found) == len(set(found))
    assert {position for position, other in enumerate(others) if other.intersects(pattern)} <= set(found)


def test_the_few_findings_about_a_large_table_are_found() -> None:
    """Among thousands of routes that do not meet, two are covered."""
    routes = [
        {"name": f"r{number}", "pattern": f"orders.{number % 50}.{number}.*", "strategy": "priority"}
        for number in range(3000)
    ]
    routes += [
        {"name": "covered", "pattern": "orders.7.57.new", "strategy": "priority"},
        {"name": "late", "pattern": "orders.*.58.new", "strategy": "priority", "priority": -1},
        {"name": "rest", "pattern": "orders.>", "strategy": "priority"},
    ]
    written = [{**route, "destinations": ["one"]} for route in routes]
    table = RoutingTable.parse(json.dumps({"destinations": {"one": {}}, "routes": written}))
    found = {(finding.code, finding.about): finding.message for finding in check_table(table)}
    assert set(found) == {("route-unreachable", "covered"), ("route-unreachable", "late")}
    assert "'r57' is asked first" in found["route-unreachable", "covered"]
    assert "'rest' is asked first" in found["route-unreachable", "late"]
