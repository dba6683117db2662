"""``pointsman broker run``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pointsman import Queue
from pointsman.cli.main import main

TABLE = """
dialect: nats
destinations:
  audit: {type: file, options: {path: audit.jsonl}}
  desk:
  copy: {type: subject, options: {subject: "copies.{subject}"}}
routes:
  - {name: all, pattern: "orders.>", destinations: [audit]}
  - {name: desk, pattern: orders.new, destinations: [desk]}
  - {name: copies, pattern: orders.new, destinations: [copy]}
  - {name: copied, pattern: "copies.>", destinations: [audit]}
"""
HANDLERS = """
from pathlib import Path

def register(broker):
    @broker.handler("desk")
    def desk(message):
        with Path("seen.txt").open("a") as file:
            file.write(message.subject + "\\n")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, handlers and messages, as the present one."""
    (tmp_path / "routes.yaml").write_text(TABLE)
    (tmp_path / "desk_handlers.py").write_text(HANDLERS)
    lines = [json.dumps({"subject": "orders.new", "body": {"n": n}, "id": f"order-{n}"}) for n in range(20)]
    (tmp_path / "messages.jsonl").write_text("\n".join([*lines, '{"subject": "orders..x"}']) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        main(["broker", "run", *arguments])
    return int(ended.value.code or 0)


def test_messages_are_published_and_delivered_until_nothing_is_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To files, to handlers of a module and, under another subject, once more through the table."""
    arguments = ("routes.yaml", "-m", "messages.jsonl", "--handlers", "desk_handlers", "--until-idle", "--json")
    assert run(*arguments) == 1
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["started", "refused", "stopped"]
    assert (events[1]["line"], events[1]["code"]) == (21, "empty-token")
    assert (events[2]["published"], events[2]["ready"], events[2]["dead"]) == (20, 0, 0)
    assert (folder / "seen.txt").read_text().splitlines() == ["orders.new"] * 20
    subjects = [json.loads(line)["subject"] for line in (folder / "audit.jsonl").read_text().splitlines()]
    assert sorted(subjects) == ["copies.orders.new"] * 20 + ["orders.new"] * 20


def test_what_was_published_before_is_not_published_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is given twice counts once, by the ids of its messages."""
    arguments = ("routes.yaml", "-m", "messages.jsonl", "--handlers", "desk_handlers", "--until-idle", "--json")
    run(*arguments)
    capsys.readouterr()
    run(*arguments)
    stopped = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (stopped["published"], stopped["duplicates"]) == (0, 20)
    assert len((folder / "seen.txt").read_text().splitlines()) == 20


def test_a_module_without_handlers_is_a_usage_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2 and nothing made."""
    assert run("routes.yaml", "--handlers", "no_such_module") == 2
    assert "no_such_module" in capsys.readouterr().err
    assert not (folder / "routes.db").exists()


def test_a_wrong_destination_is_told_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As every mistake in a table."""
    (folder / "wrong.yaml").write_text(TABLE.replace("path: audit.jsonl", "pat: audit.jsonl"))
    assert run("wrong.yaml", "--until-idle") == 2
    assert "wrong.yaml:4" in capsys.readouterr().err


def test_it_delivers_what_another_process_publishes_and_stops_cleanly_on_sigterm(folder: Path) -> None:
    """Woken by the other's commit, and with the exit code 0."""
    command = [sys.executable, "-m", "pointsman", "broker", "run", "routes.yaml", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline())["event"] == "started"
        publish = ["broker", "run", "routes.yaml", "-m", "messages.jsonl", "--until-idle", "--json"]
        subprocess.run([sys.executable, "-m", "pointsman", *publish], check=False, capture_output=True, timeout=60)
        other.send_signal(signal.SIGTERM)
        assert json.loads(other.stdout.readline())["event"] == "stopped"
        assert other.wait(30) == 0
    with Queue(folder / "routes.db") as queue:
        assert queue.size("destination:audit").ready == 0
        assert queue.size("destination:desk").ready == 20


def test_messages_without_an_id_are_never_taken_for_those_of_another_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each gets an id and a correlation id of its own, whatever its line."""
    for name in ("one", "two"):
        (folder / name).write_text(f'{{"subject": "orders.{name}"}}\n')
        assert run("routes.yaml", "--queue", "app.db", "-m", name, "--until-idle", "--json") == 0
        stopped = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (stopped["published"], stopped["duplicates"]) == (1, 0)
    written = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    assert [each["subject"] for each in written] == ["orders.one", "orders.two"]
    assert len({each["id"] for each in written} | {each["correlation_id"] for each in written}) == 2
    assert all(each["time"] for each in written)


def test_lines_may_name_their_principal_and_their_position(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in ``pointsman route``; the option is for lines that name none."""
    (folder / "routes.yaml").write_text(TABLE + "access: {shop: {publish: ['orders.>']}, till: {}}\n")
    lines = [{"subject": "orders.a", "principal": who, "position": 7} for who in ("shop", "till")]
    (folder / "two").write_text("\n".join(map(json.dumps, [*lines, {"subject": "orders.b"}])))
    assert run("routes.yaml", "--queue", "app.db", "-m", "two", "-p", "shop", "--until-idle", "--json") == 1
    stopped = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (stopped["published"], stopped["refused"]) == (2, 1)


def test_a_module_of_handlers_gives_the_functions_of_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their names, in ``functions``."""
    (folder / "routes.yaml").write_text(TABLE.replace("{name: all,", "{name: all, when: {function: is_first},"))
    (folder / "some_functions.py").write_text(
        "functions = {'is_first': lambda message: message.subject == 'orders.a'}\ndef register(broker): pass\n"
    )
    (folder / "two").write_text('{"subject": "orders.a"}\n{"subject": "orders.b"}\n')
    given = ("routes.yaml", "--queue", "app.db", "-m", "two", "--until-idle", "--json")
    assert run(*given) == 2
    assert "is_first" in capsys.readouterr().err
    assert run(*given, "--handlers", "some_functions") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["deliveries"] == 1
