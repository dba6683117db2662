"""One small table for each code, and the line that the finding points at."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from pointsman.errors import TableError
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
    "unused-destination": """
        routes: [{name: some, pattern: orders.*, destinations: [one]}]
        destinations:
          one:
          three:  # here
            type: queue
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
    "foreign-wildcard": """
        dialect: nats
        routes:
          - name: some
            destinations: [one]
            pattern: orders.#  # here
        """,
    "plain-secret": """
        destinations:
          one:
            type: http
            options:
              url: https://shop.example
              headers:
                authorization: Bearer 123  # here
                x-token: ${TOKEN}
        routes: [{name: some, pattern: orders.*, destinations: [one]}]
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
            routes:
              - {name: some, pattern: orders.*, destinations: [one]}
              - {name: other, pattern: orders.new, destinations: [one]}
            environments:
              small: {}
              test:
                routes:
                  - name: other
                    when: subject = 'a' AND subject = 'b'
            """
        ),
        encoding="utf-8",
    )
    (found,) = check_file(path)
    assert found == replace(check_file(path, "test")[0], environments=("test",))
    assert (found.code, found.place and found.place.line) == ("predicate-never", 11)
    assert check_file(path, "small") == []


def test_an_environment_that_cannot_be_loaded_fails_the_check_of_the_table(tmp_path: Path) -> None:
    """The mistake has its place in the overlay, and names the environment."""
    path = tmp_path / "table.yaml"
    path.write_text(
        "destinations: {one: }\nroutes: [{name: some, pattern: a, destinations: [one]}]\n"
        "environments:\n  production: {routes: [{name: some, destinations: [won]}]}\n",
        encoding="utf-8",
    )
    RoutingTable.load(path)
    with pytest.raises(TableError, match="in the environment 'production': the destination 'won'") as caught:
        check_file(path)
    assert (caught.value.code, caught.value.line) == ("unknown-destination", 4)


def test_a_silence_for_one_environment_is_of_use(tmp_path: Path) -> None:
    """It is told only if it silences nothing in any of them."""
    path = tmp_path / "table.yaml"
    path.write_text(
        "destinations: {one: }\nroutes: [{name: some, pattern: a, destinations: [one]}]\n"
        "silence: [{code: predicate-never, reason: for a test}]\n"
        "environments: {test: {routes: [{name: some, when: 'FALSE'}]}}\n",
        encoding="utf-8",
    )
    assert [finding.code for finding in check_file(path)] == ["predicate-never"]


def test_without_its_yaml_a_table_is_checked_all_the_same() -> None:
    """Routes know their place, translations do not."""
    table = RoutingTable.parse(
        "destinations: {one: }\nroutes:\n- {name: good, pattern: a, destinations: [one]}\n- {name: some, pattern: a,"
        " destinations: [one]}\ntranslations: [{from: '*', to: a}]"
    )
    first, second = check_table(table)
    assert (first.code, first.place and first.place.line) == ("duplicate-route", 4)
    assert (second.code, second.place) == ("translation-lossy", None)
