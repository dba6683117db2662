"""One small table for each code, and the line that the finding points at."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from pointsman.table.check import KINDS, Finding, check_file, check_table
from pointsman.table.routing_table import RoutingTable

PAGE = Path(__file__).resolve().parents[3] / "docs" / "checks.md"
MARK = "# here"

CASES = {
    "route-unreachable": """
        routes:
          - {name: all, pattern: orders.>, strategy: priority, destinations: [one]}
          - name: some
            strategy: priority
            pattern: orders.*.new  # here
            destinations: [one]
        """,
    "predicate-never": """
        routes:
          - name: some
            pattern: orders.>
            destinations: [one]
            when: body.amount > 5 AND body.amount < 3  # here
        """,
    "route-shadowed": """
        routes:
          - {name: new, pattern: orders.*.new, strategy: priority, priority: 5, destinations: [one]}
          - {name: books, pattern: orders.books.*, strategy: priority, destinations: [one]}  # here
        """,
    "overlap-different-outcome": """
        routes:
          - {name: new, pattern: orders.*.new, strategy: priority, destinations: [one]}
          - {name: books, pattern: orders.books.*, strategy: priority, destinations: [two]}  # here
        """,
    "duplicate-route": """
        routes:
          - {name: first, pattern: orders.*, destinations: [one], description: this}
          - {name: second, pattern: orders.*, destinations: [one], description: that}  # here
        """,
    "unknown-destination": """
        routes:
          - name: some
            pattern: orders.*
            destinations:
              - one
              - three  # here
        """,
    "unused-destination": """
        routes: [{name: some, pattern: orders.*, destinations: [one, two]}]
        destinations:
          three:  # here
            type: queue
        """,
    "fallback-unknown": """
        destinations:
          three:
            breaker:
              fallback: nowhere  # here
        routes: [{name: some, pattern: orders.*, destinations: [three]}]
        """,
    "fallback-circle": """
        destinations:
          three: {breaker: {fallback: four}}
          four: {breaker: {fallback: five}}  # here
          five: {breaker: {fallback: four}}
        routes: [{name: some, pattern: orders.*, destinations: [three]}]
        """,
    "translation-dead": """
        translations:
          - {from: "old.*", to: new.$1, name: all}
          - {from: old.orders, to: new.sales, name: some}  # here
        """,
    "translation-lossy": """
        translations:
          - from: "old.*.*"
            to: new.$2  # here
        """,
    "access-unusable": """
        access:
          shop:
            publish:
              - orders.*
              - secret.*  # here
            deny: {publish: [secret.>]}
        """,
    "saga-unreachable-state": """
        sagas:
          order:
            starts: [{on: orders.new, to: done}]
            states:
              done: {final: true}
              lost: {final: true}  # here
        """,
    "saga-inescapable-state": """
        sagas:
          order:
            starts: [{on: orders.new, to: done}, {on: orders.old, to: stuck}]
            states:
              done: {final: true}
              stuck: {edges: [{on: more, to: stuck}], timeout: {after: 5, to: stuck}}  # here
        """,
    "saga-untimed-state": """
        sagas:
          order:
            starts: [{on: orders.new, to: open}]
            states:
              open: {edges: [{on: orders.paid, to: done}]}  # here
              done: {final: true}
        """,
    "saga-shadowed-edge": """
        sagas:
          order:
            starts: [{on: orders.new, to: open}]
            states:
              open:
                timeout: {after: 5, to: done}
                edges:
                  - {on: "orders.*", to: done}
                  - {on: orders.paid, to: done}  # here
              done: {final: true}
        """,
    "outside-standard": """
        naming: cim
        routes:
          - {name: good, pattern: graph.events.>, destinations: [one]}
          - {name: some, pattern: graph.event.*.added, destinations: [one]}  # here
        """,
    "unused-silence": """
        silence:
          - {code: duplicate-route, at: some, reason: for a test}  # here
        """,
}


def of_code(path: Path, code: str) -> list[Finding]:
    """The findings of one code."""
    return [finding for finding in check_file(path) if finding.code == code]


@pytest.mark.parametrize("code", CASES)
def test_a_code_is_found_once_and_at_its_line(code: str, tmp_path: Path) -> None:
    """The line is the one marked in the table, and the file is the table's."""
    path = tmp_path / "table.yaml"
    path.write_text(dedent(CASES[code]), encoding="utf-8")
    found = of_code(path, code)
    if code == "unknown-destination":
        found = [finding for finding in found if "'three'" in finding.message]
    lines = path.read_text(encoding="utf-8").splitlines()
    (finding,) = found
    assert finding.place is not None
    assert finding.place.file == str(path)
    assert lines[finding.place.line - 1].endswith(MARK)
    assert finding.severity == KINDS[code].severity
    assert finding.message
    assert finding.help


@pytest.mark.parametrize("code", [code for code in CASES if code != "unused-silence"])
def test_a_code_can_be_silenced_with_a_reason(code: str, tmp_path: Path) -> None:
    """What is silenced does not count; only a silence without effect cannot be silenced itself."""
    path = tmp_path / "table.yaml"
    path.write_text(dedent(CASES[code]), encoding="utf-8")
    about = of_code(path, code)[0].about
    with path.open("a", encoding="utf-8") as file:
        file.write(f"silence: [{{code: {code}, at: {about}, reason: so be it}}]\n")
    findings = check_file(path)
    assert {finding.silenced for finding in findings if finding.code == code} == {"so be it"}
    assert not any(finding.counts for finding in findings if finding.code == code)
    assert "unused-silence" not in {finding.code for finding in findings}


def test_there_is_a_case_for_every_code() -> None:
    """None is forgotten here."""
    assert set(CASES) == set(KINDS)


def test_the_page_lists_every_code_with_its_severity() -> None:
    """The table of ``docs/checks.md`` and the catalogue name the same."""
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(code, kind.severity) for code, kind in KINDS.items()]


def test_a_silence_elsewhere_or_of_an_unknown_code_is_of_no_use() -> None:
    """The first concerns another route, the second names no code."""
    table = RoutingTable.parse(
        dedent(
            """
            destinations: {one: }
            routes:
              - {name: first, pattern: orders.*, destinations: [one]}
              - {name: second, pattern: orders.*, destinations: [one]}
            silence:
              - {code: duplicate-route, at: first, reason: for a test}
              - {code: duplicate, reason: for a test}
            """
        )
    )
    assert [finding.code for finding in check_table(table) if finding.silenced is None] == [
        "duplicate-route",
        "unused-silence",
        "unused-silence",
    ]


def test_a_finding_of_an_environment_points_at_the_overlay(tmp_path: Path) -> None:
    """The place of a value that the environment changes is in the overlay."""
    path = tmp_path / "table.yaml"
    path.write_text(
        dedent(
            """
            destinations: {one: }
            routes: [{name: some, pattern: orders.*, destinations: [one]}]
            environments:
              test:
                routes:
                  - name: some
                    destinations: [nowhere]
            """
        ),
        encoding="utf-8",
    )
    assert check_file(path) == []
    (unused, unknown) = check_file(path, "test")
    assert (unused.code, unknown.code) == ("unused-destination", "unknown-destination")
    assert unknown.place is not None
    assert unknown.place.line == 8


def test_without_its_yaml_a_table_is_checked_all_the_same() -> None:
    """Routes know their place, translations do not."""
    table = RoutingTable.parse(
        "destinations: {one: }\nroutes:\n- {name: some, pattern: a, destinations: [none]}\n- {name: good, pattern: b,"
        " destinations: [one]}\ntranslations: [{from: '*', to: a}]"
    )
    first, second = check_table(table)
    assert (first.code, first.place and first.place.line) == ("unknown-destination", 3)
    assert (second.code, second.place) == ("translation-lossy", None)
