"""The flow picture: in proportion, within its frame, and readable by whatever reads SVG."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.demo.counts import Counts, Flow, Refusal
from pointsman.demo.picture import (
    BOTTOM,
    HEIGHT,
    LONGEST,
    RED,
    TOP,
    WIDTH,
    Node,
    as_svg,
    draw_flow,
    lay_out,
)
from pointsman.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
NUMBERS = st.integers(1, 10**9)


def counts_of(
    deliveries: dict[tuple[str, str, str], int],
    quarantined: dict[tuple[str, str, str, str], int],
    unrouted: dict[str, int],
) -> Counts:
    """Counts of nothing but flows."""
    flows = Counter({Flow(*key): count for key, count in deliveries.items()})
    refusals = Counter({Refusal(*key): count for key, count in quarantined.items()})
    return Counts(sum(deliveries.values()), 0, flows, refusals, Counter(unrouted))


COUNTS = st.builds(
    counts_of,
    st.dictionaries(st.tuples(NAMES, NAMES, NAMES), NUMBERS, max_size=30),
    st.dictionaries(st.tuples(NAMES, NAMES, NAMES, NAMES), NUMBERS, max_size=10),
    st.dictionaries(NAMES, NUMBERS, max_size=5),
)


SHOP = counts_of(
    {
        ("users", "searches", "search-1"): 22_004,
        ("users", "welcome", "welcome"): 4_500,
        ("orders", "usual-orders", "standard-desk"): 5_000,
        ("tills", "usual-orders", "standard-desk"): 43_000,
        ("mail", "mail", "a-mailer-with-quite-a-long-name"): 2_859,
        ("orders", "fraud", "fraud-desk"): 1,
    },
    {("tills", "authorize", "publish-refused", "there is no principal …"): 180, ("", "receive", "bad-json", "no"): 90},
    {"users": 24_000},
)
"""Flows of the shop, the largest 40,000 times the smallest."""


def parsed(counts: Counts) -> ET.Element:
    """The picture as XML."""
    return ET.fromstring("\n".join(as_svg(counts)))  # noqa: S314 - our own text


def test_the_svg_shows_every_route_and_destination_with_its_count(tmp_path: Path) -> None:
    """Written by ``draw_flow``, which needs nothing but Python for it; twice the same."""
    draw_flow(SHOP, tmp_path / "flow.svg")
    picture = ET.fromstring((tmp_path / "flow.svg").read_text(encoding="utf-8"))  # noqa: S314 - our own text
    assert (picture.get("width"), picture.get("height")) == ("1200", "800")
    texts = {element.text for element in picture.iter(f"{SVG}text")}
    for name, count in (SHOP.by_route + SHOP.by_destination).items():
        label = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        wanted = {f"{label}  {some:,}" for some in (SHOP.by_route[name], SHOP.by_destination[name])}
        assert wanted & texts, (name, count)
    assert f"quarantined  {SHOP.quarantined.total():,}" in texts
    draw_flow(SHOP, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "flow.svg").read_bytes()


def test_widths_are_in_proportion_and_refusals_are_red() -> None:
    """One scale for all bands and all nodes."""
    picture = parsed(SHOP)
    bands = [(int(each.get("data-count", "")), each) for each in picture.iter(f"{SVG}path")]
    largest, widest = max(bands, key=lambda band: band[0])
    scale = float(widest.get("stroke-width", "")) / largest
    for count, band in bands:
        assert float(band.get("stroke-width", "")) == pytest.approx(count * scale, abs=1e-3)
    for node in picture.iter(f"{SVG}rect"):
        if "data-count" in node.keys():  # noqa: SIM118 - an element is no mapping
            assert float(node.get("height", "")) == pytest.approx(int(node.get("data-count", "")) * scale, abs=1e-3)
    red = sum(count for count, band in bands if band.get("stroke") == RED)
    assert red == 2 * SHOP.quarantined.total()


def test_everything_is_within_the_frame() -> None:
    """Labels, too, by the width that letters of this size have at most."""
    for text in parsed(SHOP).iter(f"{SVG}text"):
        size = float(text.get("font-size", "11.5"))
        width = len(text.text or "") * size * 0.62
        x, y = float(text.get("x", "")), float(text.get("y", ""))
        left = x - width if text.get("text-anchor") == "end" else x
        assert 0 <= left <= left + width <= WIDTH, text.text
        assert 0 < y < HEIGHT


@settings(deadline=None)
@given(COUNTS)
def test_any_counts_give_a_picture(counts: Counts) -> None:
    """Valid XML whatever the names are; nodes do not overlap; what enters a node fills it."""
    parsed(counts)
    layout = lay_out(counts)
    for column in range(3):
        nodes = [node for node in layout.nodes if node.key[0] == column]
        for upper, lower in pairwise(nodes):
            assert bottom_of(upper) <= lower.top - (lower.slot - lower.height) / 2 + 1e-6
        assert all(node.top >= TOP - 1e-6 and bottom_of(node) <= HEIGHT - BOTTOM + 1e-6 for node in nodes)
    for node in layout.nodes:
        entering = sum(band.total for band in layout.bands if band.end == node.key)
        leaving = sum(band.total for band in layout.bands if band.start == node.key)
        assert node.total == max(entering, leaving)
        assert node.height == pytest.approx(node.total * layout.scale)
    assert all(band.width == pytest.approx(band.total * layout.scale) for band in layout.bands)


@settings(deadline=None)
@given(COUNTS)
def test_the_picture_does_not_depend_on_the_order_of_the_counts(counts: Counts) -> None:
    """Which is that in which the files happened to be read."""
    turned = (
        Counter(dict(reversed(each.items()))) for each in (counts.deliveries, counts.quarantined, counts.unrouted)
    )
    other = Counts(counts.messages, counts.routed, *turned)  # type: ignore[arg-type]  # three kinds of counters
    assert [*as_svg(other)] == [*as_svg(counts)]


def test_names_are_escaped() -> None:
    """A name may look like XML."""
    counts = counts_of({("<a&b>", 'r"', "]]>\x00"): 1}, {}, {})
    texts = {element.text for element in parsed(counts).iter(f"{SVG}text")}
    assert {"<a&b>  1", 'r"  1', "]]>\N{REPLACEMENT CHARACTER}  1"} <= texts


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Here its folder is not there."""
    with pytest.raises(InputError) as caught:
        draw_flow(SHOP, tmp_path / "nowhere" / "flow.svg")
    assert caught.value.code == "no-file"


def bottom_of(node: Node) -> float:
    """The lower end of the height that a node has to itself."""
    return node.top + node.height / 2 + node.slot / 2
