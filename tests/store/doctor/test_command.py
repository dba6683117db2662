"""The command, as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from pointsman.cli.queue_doctor import doctor
from pointsman.errors import StoreError
from tests.store.doctor.files import change, queue_file


def called(*arguments: object) -> Result:
    """What the command does with these arguments."""
    app = typer.Typer(rich_markup_mode=None)
    app.command("doctor")(doctor)
    return CliRunner().invoke(app, [str(each) for each in arguments], standalone_mode=False)


def test_a_healthy_file_ends_with_0(tmp_path: Path) -> None:
    """And says what is in it."""
    path = queue_file(tmp_path / "queue.db")
    result = called(path)
    assert result.return_value == 0
    assert result.stdout.splitlines() == [
        f"{path}: 6 messages, 9 ready, 0 leased, 0 delayed, 0 dead, 0 finished, 6 unfinished",
        "healthy",
    ]


def test_findings_end_with_1_and_are_explained(tmp_path: Path) -> None:
    """What is wrong, what it means, what a repair would do, and which message it is."""
    path = change(queue_file(tmp_path / "queue.db"), "UPDATE message SET body = x'00' WHERE sequence = 2")
    before = path.read_bytes()
    result = called(path)
    assert result.return_value == 1
    assert "damaged-message" in result.stdout
    assert "  it means  They are not what was put, and are not delivered." in result.stdout
    assert "  --repair  makes dead letters of their deliveries" in result.stdout
    assert "  e.g.      message 2, id " in result.stdout
    assert path.read_bytes() == before


def test_an_id_that_is_shown_changes_no_terminal(tmp_path: Path) -> None:
    """A damaged one may hold anything."""
    statement = "UPDATE message SET id = 'evil' || char(27) || '[2J' WHERE sequence = 2"
    result = called(change(queue_file(tmp_path / "queue.db"), statement))
    assert result.return_value == 1
    assert "id evil\\x1b[2J" in result.stdout
    assert "\x1b[2J" not in result.stdout


def test_a_repair_ends_with_what_is_left(tmp_path: Path) -> None:
    """Nothing here."""
    path = change(queue_file(tmp_path / "queue.db"), "UPDATE message SET body = x'00' WHERE sequence = 2")
    result = called(path, "--repair")
    assert result.return_value == 0
    assert f"{path} is now healthy" in result.stdout
    assert called(path).return_value == 0


def test_a_file_that_cannot_be_read_ends_with_2(tmp_path: Path) -> None:
    """And says that it is no database."""
    path = tmp_path / "queue.db"
    path.write_text("no queue at all, but a text of some length")
    result = called(path)
    assert result.return_value == 2
    assert "not-readable" in result.stdout


def test_a_salvaged_file_is_what_is_left(tmp_path: Path) -> None:
    """The damaged one is as it was; the new one is healthy."""
    path = queue_file(tmp_path / "queue.db")
    path.write_bytes(bytes(100) + path.read_bytes()[100:])
    result = called(path, "--repair")
    assert result.return_value == 0
    assert f"{path}-salvaged is now healthy" in result.stdout


def test_json_is_for_machines(tmp_path: Path) -> None:
    """With everything that is said to people."""
    path = change(queue_file(tmp_path / "queue.db"), "DELETE FROM message WHERE sequence = 2")
    found = json.loads(called(path, "--json").stdout)
    assert (found["healthy"], found["readable"], found["counts"]["messages"]) == (False, True, 5)
    (finding,) = found["findings"]
    assert (finding["code"], finding["severity"], finding["count"]) == ("missing-message", "lost", 1)
    assert finding["samples"] == [{"number": 2, "about": "ready for subscription 0"}]
    repaired = json.loads(called(path, "--json", "--repair").stdout)
    assert repaired["actions"][0]["code"] == "missing-message"
    assert repaired["after"]["healthy"]


@pytest.mark.parametrize("suffix", ["", "-mark", "-wal"])
def test_a_pipe_is_never_waited_for(tmp_path: Path, suffix: str) -> None:
    """Neither in the place of the file nor in that of one beside it."""
    path = tmp_path / "queue.db"
    if suffix:
        queue_file(path)
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    os.mkfifo(f"{path}{suffix}")
    command = [sys.executable, "-m", "pointsman", "queue", "doctor", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == (0 if suffix else 2)
    assert "Traceback" not in ended.stderr


def test_no_file_is_an_error(tmp_path: Path) -> None:
    """The command line shows it, and ends with 2."""
    result = called(tmp_path / "none.db")
    assert isinstance(result.exception, StoreError)
    with pytest.raises(StoreError):
        raise result.exception
