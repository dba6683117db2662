"""``pointsman check``: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pointsman.cli.main import main

GOOD = "destinations: {stock: }\nroutes:\n- {name: all, pattern: orders.>, destinations: [stock]}\n"
SECOND = "- {name: new, pattern: orders.>, destinations: [stock]}\n"
UNUSED = GOOD.replace("{stock: }", "{stock: , shop: }")
SILENCE = "silence: [{code: duplicate-route, at: new, reason: it is to come}]\n"


def run(arguments: list[str]) -> int:
    """The status that the command ends with."""
    with pytest.raises(SystemExit) as ended:
        main(["check", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Where the table of a test is written."""
    return tmp_path / "table.yaml"


@pytest.mark.parametrize(
    ("text", "status", "summary"),
    [
        (GOOD, 0, "0 errors, 0 warnings, 0 notes, 0 silenced"),
        (UNUSED, 0, "0 errors, 0 warnings, 1 note, 0 silenced"),
        (GOOD + SECOND, 1, "0 errors, 1 warning, 0 notes, 0 silenced"),
        (GOOD + SECOND + SILENCE, 0, "0 errors, 0 warnings, 0 notes, 1 silenced"),
    ],
)
def test_errors_and_warnings_decide_the_status(
    text: str, status: int, summary: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Notes and what is silenced do not."""
    table.write_text(text, encoding="utf-8")
    assert run([str(table)]) == status
    assert capsys.readouterr().out.splitlines()[-1] == summary


def test_a_finding_is_one_line_as_of_a_compiler_and_one_of_help(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place comes first, so that an editor can go there."""
    table.write_text(GOOD + SECOND, encoding="utf-8")
    run([str(table)])
    line, help_line, _ = capsys.readouterr().out.splitlines()
    assert line == f"{table}:4:3: warning[duplicate-route]: the route 'new' says the same as 'all' in line 3"
    assert help_line == "  help: Remove one of the two."


def test_silenced_findings_are_shown_when_asked_for(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason in place of the help."""
    table.write_text(GOOD + SECOND + SILENCE, encoding="utf-8")
    assert run([str(table)]) == 0
    assert "duplicate-route" not in capsys.readouterr().out
    assert run([str(table), "--show-silenced"]) == 0
    assert "  silenced: it is to come" in capsys.readouterr().out.splitlines()


def test_json_has_all_findings(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are silenced are in a list of their own."""
    table.write_text(UNUSED.replace("shop: }", "spare: }") + SECOND + SILENCE, encoding="utf-8")
    assert run([str(table), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in answer["findings"]] == ["unused-destination"]
    assert [(each["code"], each["reason"]) for each in answer["silenced"]] == [("duplicate-route", "it is to come")]


def test_an_environment_is_checked_as_it_is(table: Path) -> None:
    """What it removes is not there, and an unknown one is bad input."""
    overlay = "environments: {small: {remove: {routes: [new]}}}\n"
    table.write_text(GOOD + SECOND + overlay, encoding="utf-8")
    assert run([str(table)]) == 1
    assert run([str(table), "--environment", "small"]) == 0
    assert run([str(table), "--environment", "large"]) == 2


def test_a_table_that_cannot_be_used_ends_with_2(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its mistakes are errors, not findings."""
    table.write_text("routes: 5", encoding="utf-8")
    assert run([str(table)]) == 2
    assert capsys.readouterr().out == ""
