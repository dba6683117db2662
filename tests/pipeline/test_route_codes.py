"""The routes of a table as numbers."""

from __future__ import annotations

import pytest

from pointsman.errors import LimitError
from pointsman.pipeline import route_codes
from pointsman.pipeline.route_codes import ASKED_BITS, MOST_ASKED, MOST_ROUTES, RANK_BITS, RouteCodes
from pointsman.table.routing_table import RoutingTable

TABLE = RoutingTable.parse("""
routes:
  - {name: alone, pattern: a, destinations: [d]}
  - {name: low, pattern: a, strategy: priority, priority: 1, destinations: [d]}
  - {name: off, pattern: a, strategy: priority, priority: 9, enabled: false, destinations: [d]}
  - {name: high, pattern: a, strategy: priority, priority: 2, when: metadata.x = 'y', destinations: [d]}
  - {name: other, pattern: a, strategy: priority, priority: 2, group: g, when: metadata.x = 'y', destinations: [d]}
  - {name: content, pattern: a, strategy: content, when: metadata.x = 'z', destinations: [d]}
""")


def parts(code: int) -> tuple[int, int, int]:
    """The competition, what is asked, and the rank."""
    return code >> (RANK_BITS + ASKED_BITS), code >> RANK_BITS & MOST_ASKED, code & (MOST_ROUTES - 1)


def test_a_code_says_what_a_route_competes_in_what_it_asks_and_who_comes_first() -> None:
    """Routes that are disabled have none, and equal predicates have one number."""
    codes = RouteCodes.of(TABLE)
    found = {route.name: parts(code) for route, code in zip(codes.routes, codes.codes, strict=True)}
    assert "off" not in found
    assert len(set(codes.codes)) == 5
    assert found["alone"][:2] == (0, 0)
    assert found["high"][0] == found["low"][0] != found["other"][0]
    assert len({found[name][0] for name in ("high", "other", "content")}) == 3
    assert found["high"][2] < found["low"][2]
    assert found["high"][1] == found["other"][1] != found["content"][1]
    assert [each.text for each in codes.asked] == ["metadata.x = 'y'", "metadata.x = 'z'"]


def test_codes_are_positive_numbers_of_64_bits() -> None:
    """The bits of all parts together leave the sign alone."""
    most = (1 << 23) - 1
    assert most << (RANK_BITS + ASKED_BITS) | MOST_ASKED << RANK_BITS | (MOST_ROUTES - 1) == (1 << 63) - 1


def test_more_predicates_than_there_are_numbers_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how many they are."""
    monkeypatch.setattr(route_codes, "MOST_ASKED", 1)
    with pytest.raises(LimitError, match="5 routes with 2 predicates") as caught:
        RouteCodes.of(TABLE)
    assert caught.value.code == "too-many-routes"
