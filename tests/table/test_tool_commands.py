"""The commands test, coverage, graph and table diff."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pointsman.cli.main import main

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"
TABLE = """destinations: {x: , y: }
routes:
  - {name: one, pattern: "a.*", destinations: [x]}
  - {name: two, pattern: "b.*", destinations: [y]}
expectations:
  - {name: good, message: {subject: a.1}, deliveries: [x]}
  - {name: bad, message: {subject: b.1}, deliveries: [x]}
"""


class Ended(NamedTuple):
    """How a command ended."""

    status: object
    output: str
    errors: str


class Shell:
    """Runs commands in a folder with a table."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def run(self, *arguments: str) -> Ended:
        """One command."""
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Ended(ended.value.code, *self.capture.readouterr())


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """In a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("table.yaml").write_text(TABLE)
    Path("messages.jsonl").write_text('{"subject": "b.7"}\n{"subject": "c"}\n')
    return Shell(capsys)


def test_test_shows_what_failed_where_and_why(shell: Shell) -> None:
    """It ends with 1."""
    ended = shell.run("test", "table.yaml")
    assert ended.status == 1
    lines = ended.output.splitlines()
    assert lines[:3] == ["table.yaml:7:5: failed: bad", "  missing: x", "  not expected: two -> y, b.1"]
    assert "      two: matches: b.*" in lines
    assert lines[-1] == "1 passed, 1 failed"


def test_test_of_the_example_passes(shell: Shell) -> None:
    """In all of its environments, or in one."""
    assert shell.run("test", str(SHOP)).output == "24 passed, 0 failed\n"
    assert shell.run("test", str(SHOP), "--environment", "development").output == "6 passed, 0 failed\n"


def test_test_names_the_environment_in_which_an_expectation_fails(shell: Shell) -> None:
    """A table that is right as it is may be wrong in production."""
    Path("table.yaml").write_text(
        "routes: [{name: r, pattern: a, destinations: [x]}]\n"
        "expectations: [{name: all, message: {subject: a}, deliveries: [x]}]\n"
        "environments: {small: {}, production: {routes: [{name: r, destinations: [y]}]}}\n"
    )
    ended = shell.run("test", "table.yaml")
    assert ended.status == 1
    assert ended.output.splitlines()[0] == "table.yaml:2:16: failed: all (in production)"
    assert ended.output.splitlines()[-1] == "2 passed, 1 failed"
    rows = json.loads(shell.run("test", "table.yaml", "--json").output)["outcomes"]
    assert [(row["environment"], row["passed"]) for row in rows] == [
        (None, True),
        ("small", True),
        ("production", False),
    ]


def test_no_output_holds_control_characters_of_a_message(shell: Shell) -> None:
    """They would move the cursor, or rename the window, of whoever looks."""
    Path("table.yaml").write_text("dialect: mqtt\nroutes: [{name: r, pattern: '#', destinations: [x]}]")
    evil = "a\x1b]0;owned\x07\x1b[2J/b"
    for command in (["explain", "table.yaml", evil], ["match", "#", evil, "--dialect", "mqtt"]):
        ended = shell.run(*command)
        assert "\x1b" not in ended.output + ended.errors
        assert "\x07" not in ended.output + ended.errors
        assert "\\x1b]0;owned" in ended.output


def test_diff_shows_no_secrets(shell: Shell) -> None:
    """That a token changed is told; the token is not."""
    table = (
        "destinations: {x: {type: http, options: {url: 'https://ada:%s@shop.example/?token=%s', headers: "
        "{Authorization: 'Bearer %s', x: %s}}}}\nroutes: [{name: r, pattern: a, destinations: [x]}]"
    )
    Path("one.yaml").write_text(table % ("pw-1", "tk-1", "be-1", "kept-1"))
    Path("two.yaml").write_text(table % ("pw-2", "tk-2", "be-2", "kept-2"))
    for more in ((), ("--json",)):
        ended = shell.run("diff", "one.yaml", "two.yaml", *more)
        assert ended.status == 1
        assert not any(secret in ended.output for secret in ("pw-", "tk-", "be-"))
        assert "***" in ended.output
        assert "kept-2" in ended.output


def test_test_as_json_has_every_outcome(shell: Shell) -> None:
    """With its place and decision."""
    found = json.loads(shell.run("test", "table.yaml", "--json").output)
    assert (found["passed"], found["failed"]) == (1, 1)
    assert [(each["name"], each["passed"], each["place"]) for each in found["outcomes"]] == [
        ("good", True, "table.yaml:6:5"),
        ("bad", False, "table.yaml:7:5"),
    ]
    assert found["outcomes"][1]["decision"]["deliveries"][0]["destination"] == "y"


def test_coverage_counts_expectations_and_messages(shell: Shell) -> None:
    """Both together, and writes the page."""
    Path("table.yaml").write_text(TABLE.replace("subject: b.1", "subject: a.2"))
    ended = shell.run("coverage", "table.yaml")
    assert ended.status == 0
    assert "routes: 50.0% (1 of 2)" in ended.output
    assert "  table.yaml:4:5: route 'two' (b.*)" in ended.output
    ended = shell.run("coverage", "table.yaml", "--messages", "messages.jsonl", "--html", "page.html", "--json")
    found = json.loads(ended.output)
    assert found["percent"] == {"routes": 100.0, "destinations": 100.0, "translations": 100.0}
    assert [(each["name"], each["count"], each["subjects"]) for each in found["entries"]][:2] == [
        ("one", 2, ["a.1", "a.2"]),
        ("two", 1, ["b.7"]),
    ]
    assert "b.7" in Path("page.html").read_text()


def test_coverage_below_the_minimum_ends_with_1(shell: Shell) -> None:
    """The minimum itself is enough."""
    Path("table.yaml").write_text(TABLE.replace("subject: b.1", "subject: a.2"))
    assert shell.run("coverage", "table.yaml", "--minimum", "50.1").status == 1
    assert shell.run("coverage", "table.yaml", "--minimum", "50").status == 0


@pytest.mark.parametrize("command", [["coverage", "table.yaml"], ["table", "diff", "table.yaml", "table.yaml"]])
def test_a_bad_line_of_messages_is_named(shell: Shell, command: list[str]) -> None:
    """It ends with 2."""
    Path("messages.jsonl").write_text('{"subject": "a.1"}\n{"subject"}\n')
    ended = shell.run(*command, "--messages", "messages.jsonl")
    assert ended.status == 2
    assert ended.errors.startswith("messages.jsonl:2:11: error[bad-json]: not JSON:")


def test_a_message_that_a_translation_breaks_is_named(shell: Shell) -> None:
    """By its line, for the table cannot know it."""
    Path("table.yaml").write_text("translations: [{from: 'a.*', to: '{{split(1,-)}}'}]")
    Path("messages.jsonl").write_text('{"subject": "a.1"}\n{"subject": "a.-"}\n')
    ended = shell.run("coverage", "table.yaml", "--messages", "messages.jsonl")
    assert ended.status == 2
    assert ended.errors.startswith("messages.jsonl:2: error[invalid-result]")


def test_on_a_terminal_a_bar_is_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the standard error stream, and nowhere else than on a terminal."""
    command = ("coverage", "table.yaml", "--messages", "messages.jsonl")
    quiet = shell.run(*command)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    loud = shell.run(*command)
    assert (quiet.errors, "messages.jsonl" in loud.errors) == ("", True)
    assert quiet.output == loud.output


def test_graph_prints_mermaid_or_writes_a_file(shell: Shell) -> None:
    """By the ending of its name; a note says that routes were left out."""
    printed = shell.run("graph", "table.yaml")
    assert printed.output.startswith("flowchart LR\n")
    assert shell.run("graph", "table.yaml", "--output", "graph.mmd").output == ""
    assert Path("graph.mmd").read_text() == printed.output
    assert shell.run("graph", "table.yaml", "-o", "graph.svg").status == 0
    assert Path("graph.svg").read_text().startswith("<?xml")
    limited = shell.run("graph", "table.yaml", "--limit", "1")
    assert limited.errors == "1 of 2 routes are shown\n"
    assert "two" not in limited.output
    assert "one" not in shell.run("graph", "table.yaml", "--route", "two").output


@pytest.mark.parametrize(
    "command", [["coverage", "table.yaml", "--html"], ["graph", "table.yaml", "-o"]], ids=["coverage", "graph"]
)
def test_a_file_that_cannot_be_written_is_an_error(shell: Shell, command: list[str]) -> None:
    """It ends with 2 and names the file."""
    ended = shell.run(*command, "none/file.mmd")
    assert ended.status == 2
    assert ended.errors.startswith("none/file.mmd: error[no-file]: it cannot be written")


def test_graph_shows_a_saga(shell: Shell) -> None:
    """If there is one of that name."""
    assert shell.run("graph", str(SHOP), "--saga", "order").output.startswith("stateDiagram-v2\n")
    ended = shell.run("graph", str(SHOP), "--saga", "none")
    assert (ended.status, "there is no saga 'none'; there are order" in ended.errors) == (2, True)


def test_diff_shows_what_changed_and_for_which_messages(shell: Shell) -> None:
    """It ends with 1."""
    Path("new.yaml").write_text(TABLE.replace("a.*", "a.>").replace("b.*", "c"))
    ended = shell.run("table", "diff", "table.yaml", "new.yaml", "--messages", "messages.jsonl")
    assert ended.status == 1
    assert ended.output.splitlines() == [
        "widened   route one  (new.yaml:3:5)",
        "            pattern: a.* -> a.>",
        "moved     route two  (new.yaml:4:5)",
        "            pattern: b.* -> c",
        "2 changes in meaning",
        "",
        "2 of 2 messages are delivered in another way",
        "lost      two -> y  1  b.7 (line 1)",
        "gained    two -> y  1  c (line 2)",
        "before    1 deliveries = 0 kept + 1 lost; 0 messages refused",
        "after     1 deliveries = 0 kept + 1 gained; 0 messages refused",
    ]
    found = json.loads(shell.run("table", "diff", "table.yaml", "new.yaml", "--json").output)
    assert [change["effect"] for change in found["changes"]] == ["widened", "moved"]
    assert "deliveries" not in found


def test_diff_of_tables_that_mean_the_same_ends_with_0(shell: Shell) -> None:
    """Whatever they look like."""
    Path("new.yaml").write_text("# new\n" + TABLE.replace("[y]", "[{name: y}]"))
    ended = shell.run("table", "diff", "table.yaml", "new.yaml", "-m", "messages.jsonl")
    assert (ended.status, ended.output.splitlines()[0]) == (0, "0 changes in meaning")
