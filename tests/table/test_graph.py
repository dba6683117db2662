"""Tables and sagas as graphs, as Mermaid text and as pictures."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, MissingExtraError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.graph import Graph, graph_of_saga, graph_of_table
from pointsman.table.tools.image import draw, lay_out
from pointsman.table.tools.mermaid import escape, write_flowchart, write_state_diagram

SHOP = RoutingTable.load(Path(__file__).parents[2] / "examples" / "shop.yaml")
TABLE = RoutingTable.parse(
    """
destinations: {x: {breaker: {fallback: y}}, y: {breaker: {fallback: x}}, z: }
routes:
  - {name: one, pattern: "a.>", destinations: [x, {name: z, weight: 3}]}
  - {name: two, pattern: "a.>", strategy: priority, priority: 7, group: g, destinations: [x], enabled: false}
translations: [{name: t, from: "b.*", to: "c.$1"}]
"""
)
HOSTILE = '"]; click x "javascript:alert(1)" <img src=x> %% `$a$` #quot; end\n--> x | y'


def lines_of(graph: Graph) -> set[tuple[str, str, str, bool]]:
    """The lines of a graph, by the first text in their boxes."""
    return {
        (graph.boxes[line.start].lines[0], graph.boxes[line.end].lines[0], line.label, line.dashed)
        for line in graph.lines
    }


def test_a_table_leads_from_patterns_over_routes_to_destinations_and_fallbacks() -> None:
    """A pattern that two routes have is one box; fallbacks that go round in a circle end."""
    graph = graph_of_table(TABLE)
    assert lines_of(graph) == {
        ("a.>", "one", "", False),
        ("one", "x", "", False),
        ("one", "z", "3", False),
        ("x", "y", "fallback", True),
        ("a.>", "two", "", True),
        ("two", "x", "", True),
        ("b.*", "t", "", False),
    }
    assert [box.lines for box in graph.boxes.values() if box.shape == "route"] == [
        ("one", "pattern"),
        ("two", "disabled", "priority 7, group g"),
    ]


def test_a_graph_can_be_of_some_routes_only() -> None:
    """By their names, or the first ones; how many were left out is known."""
    assert lines_of(graph_of_table(TABLE, ["two"])) == {
        ("a.>", "two", "", True),
        ("two", "x", "", True),
        ("x", "y", "fallback", True),
    }
    limited = graph_of_table(TABLE, limit=1)
    assert (limited.shown, limited.total) == (1, 2)
    with pytest.raises(InputError) as caught:
        graph_of_table(TABLE, ["three"])
    assert caught.value.code == "no-such-entry"


def test_mermaid_text_declares_every_box_and_draws_every_line() -> None:
    """In a fixed form."""
    assert write_flowchart(graph_of_table(TABLE, ["one"])) == (
        "flowchart LR\n"
        '    route1["one<br/>pattern"]\n'
        '    pattern2(["a.#62;"])\n'
        '    destination3[("x")]\n'
        '    destination4[("y")]\n'
        '    destination5[("z")]\n'
        "    pattern2 --> route1\n"
        '    destination3 -.->|"fallback"| destination4\n'
        "    route1 --> destination3\n"
        '    route1 -->|"3"| destination5\n'
    )


def test_a_saga_is_drawn_with_all_edges_of_its_diagram() -> None:
    """Each move of each state, the start, and the ends."""
    definition = SHOP.sagas["order"]
    graph = graph_of_saga(definition)
    moves = sum(len(list(state.moves)) for state in definition.states.values())
    assert len(graph.lines) == moves + len(definition.starts)
    text = write_state_diagram(graph)
    assert text.startswith("stateDiagram-v2\n")
    assert text.count(" --> [*]\n") == 2
    assert text.count("    [*] --> ") == 1
    assert " : inventory.events.stock.released, compensate last\n" in text
    columns = {box.lines[0]: box.column for box in graph.boxes.values()}
    assert (columns["start"], columns["order_created"], columns["payment_failed"]) == (0, 1, 3)


@given(st.text() | st.just(HOSTILE))
def test_an_escaped_text_holds_nothing_that_means_something(text: str) -> None:
    """Letters, digits, a few signs, and numbers of characters; printable texts can be read back."""
    escaped = escape(text)
    assert re.fullmatch(r"(?:[^\W]|[ .,/$=+\-()']|#[0-9]+;)*", escaped)
    if text.isprintable():
        assert re.sub(r"#([0-9]+);", lambda found: chr(int(found[1])), escaped) == text


def hostile() -> Graph:
    """A graph whose texts try everything."""
    graph = Graph()
    one, other = graph.box("route", HOSTILE, (HOSTILE, HOSTILE), 0), graph.box("destination", "b", (HOSTILE,), 1)
    graph.line(one, other, HOSTILE)
    graph.line(other, one, HOSTILE)
    graph.line(one, one, HOSTILE)
    return graph


def test_a_hostile_name_stays_within_its_label() -> None:
    """The text has as many lines as boxes and lines, each of the expected form."""
    head, *rest = write_flowchart(hostile()).splitlines()
    assert head == "flowchart LR"
    assert len(rest) == 5
    for line in rest:
        assert re.fullmatch(r'    \w+(?:\[\(?"[^"\n]*"\)?\]| -->\|"[^"\n|]*"\| \w+)', line), line


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures_are_drawn_without_a_browser(tmp_path: Path, ending: str) -> None:
    """Of tables, of sagas, of nothing and of hostile names; the same graph gives the same file."""
    beginning = {"svg": b"<?xml", "png": b"\x89PNG"}[ending]
    graphs = [graph_of_table(SHOP), graph_of_saga(SHOP.sagas["order"]), Graph(), hostile()]
    for number, graph in enumerate(graphs):
        path = tmp_path / f"{number}.{ending}"
        draw(graph, path)
        content = path.read_bytes()
        assert content.startswith(beginning)
        draw(graph, path)
        assert path.read_bytes() == content


def test_an_svg_holds_the_texts_and_nothing_that_runs(tmp_path: Path) -> None:
    """As text that can be found; a dollar sign begins no formula."""
    path = tmp_path / "graph.svg"
    draw(graph_of_table(SHOP), path)
    root = Xml.fromstring(path.read_text())  # noqa: S314 - just written by this test
    texts = {element.text for element in root.iter() if element.tag.endswith("}text")}
    assert {"large-orders", "to public.$1.notifications.$2", "payments.*.declined", "parking"} <= texts
    draw(hostile(), path)
    assert not [element for element in Xml.fromstring(path.read_text()).iter() if "script" in element.tag]  # noqa: S314


@pytest.mark.parametrize("graph", [graph_of_table(SHOP), graph_of_saga(SHOP.sagas["order"]), hostile()])
def test_boxes_do_not_overlap_and_stay_within_the_picture(graph: Graph) -> None:
    """Any two of them."""
    places, width, height = lay_out(graph)
    boxes = list(places.values())
    for number, (left, bottom, wide, high) in enumerate(boxes):
        assert left >= 0
        assert bottom >= 0
        assert left + wide <= width
        assert bottom + high <= height
        for x, y, w, h in boxes[:number]:
            assert left + wide <= x or x + w <= left or bottom + high <= y or y + h <= bottom


def test_pictures_that_cannot_be_drawn_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown ending, no such folder, far too many routes, no matplotlib."""
    for path, code in ((tmp_path / "a.gif", "bad-usage"), (tmp_path / "none" / "a.png", "no-file")):
        with pytest.raises(InputError) as caught:
            draw(graph_of_table(TABLE), path)
        assert caught.value.code == code
    large = Graph()
    for number in range(1000):
        large.box("route", str(number), (str(number),), 0)
    with pytest.raises(InputError):
        draw(large, tmp_path / "a.png")
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError):
        draw(graph_of_table(TABLE), tmp_path / "a.png")
