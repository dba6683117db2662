"""The commands about queues, run as a user runs them."""

from __future__ import annotations

import base64
import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman import Queue
from pointsman.cli.queue_receipt import Receipt, parse_receipt
from pointsman.cli.queue_show import start_of, visible
from pointsman.cli.queue_take import pop
from pointsman.errors import InputError
from tests.cli.test_command_line import POINTSMAN, run

BIG = "99999999999999999999"


def queue_command(*arguments: object, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The finished ``pointsman queue``, with its streams as bytes."""
    return subprocess.run([POINTSMAN, "queue", *map(str, arguments)], input=data, capture_output=True, check=False)


def lines_of(result: subprocess.CompletedProcess[bytes]) -> list[dict[str, object]]:
    """The lines of JSON that a command has printed."""
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a queue may be made."""
    return tmp_path / "queue.db"


@pytest.fixture
def filled(file: Path) -> Path:
    """Five messages, and a subscription that has two of them."""
    with Queue(file) as queue:
        queue.subscribe("europe", "orders.eu.#")
        for number, key in enumerate(["orders.eu.new", "orders.us.new", "orders.eu.paid", "mail.new", "mail.old"], 1):
            queue.put(f"message {number}", key, id=f"id{number}")
    return file


def test_what_is_put_is_popped_byte_by_byte_and_then_it_is_done(file: Path) -> None:
    """Whatever the bytes are; the queue is empty afterwards, and then pop ends with 1."""
    data = bytes(range(256)) + b"\r\n\x1b[31m"
    put = queue_command("put", file, "orders.new", data=data)
    assert put.returncode == 0
    assert put.stdout.count(b"\n") == 1
    popped = queue_command("pop", file)
    assert (popped.returncode, popped.stdout, popped.stderr) == (0, data, b"")
    empty = queue_command("pop", file)
    assert (empty.returncode, empty.stdout, empty.stderr) == (1, b"", b"")
    with Queue(file) as queue:
        assert queue.size().done == 1


def test_put_takes_the_options_of_a_message(file: Path) -> None:
    """Priority, delay, expiry, id, metadata and the dialect of a new queue."""
    options = ["--priority", "2", "--id", "mine", "--metadata", "a=1", "--metadata", "b=x=y", "--dialect", "mqtt"]
    assert queue_command("put", file, "orders/new", "été", *options, "--expires", "1h").stdout == b"mine\n"
    assert queue_command("put", file, "orders/new", "again", "--id", "mine").stdout == b"mine\n"
    queue_command("put", file, "orders/later", "-", "--delay", "90m", data=b"from the pipe")
    with Queue(file, dialect="mqtt") as queue:
        first, second = queue.messages()
        assert (first.body, first.priority, first.metadata) == ("été".encode(), 2, {"a": "1", "b": "x=y"})
        assert first.expires is not None
        assert first.expires - first.time == 3600 * 1_000_000
        assert second.body == b"from the pipe"
        assert (queue.size().ready, queue.size().delayed) == (1, 1)


def test_each_line_is_a_message(file: Path) -> None:
    """Also an empty one and one without an end; more than fit in one transaction."""
    result = queue_command("put", file, "a.b", "--lines", data=b"first\n\nthird\r\n" + b"x\n" * 2000 + b"last")
    ids = result.stdout.decode().split()
    assert len(ids) == 2004
    with Queue(file) as queue:
        stored = queue.messages(limit=3000)
    assert [message.id for message in stored] == ids
    assert [stored[each].data for each in (0, 1, 2, 3, -1)] == [b"first", b"", b"third\r", b"x", b"last"]


def test_a_file_of_messages_is_put_with_all_their_fields(file: Path, tmp_path: Path) -> None:
    """The subject is the key; what has no id gets one of its own, each time; what has one is put once."""
    messages = tmp_path / "messages.jsonl"
    messages.write_text(
        '{"subject": "a.b", "body": {"x": 1}, "source": "shop"}\n\n'
        '{"subject": "a.c", "id": "mine", "metadata": {"k": "v"}, "correlation_id": "c1", "body_base64": "/w=="}\n'
    )
    for _ in range(2):
        assert queue_command("put", file, "--messages", messages, "--priority", "1").stdout.endswith(b"\nmine\n")
    with Queue(file) as queue:
        first, second, third = [stored.message for stored in queue.messages()]
        assert [stored.priority for stored in queue.messages()] == [1, 1, 1]
    assert (first.subject, first.body, first.content_type, first.source) == (
        "a.b",
        b'{"x":1}',
        "application/json",
        "shop",
    )
    assert first.correlation_id == first.id != third.id
    assert (second.id, second.body, second.correlation_id, second.metadata) == ("mine", b"\xff", "c1", {"k": "v"})


def test_a_bad_message_of_a_file_names_its_line_and_those_with_printed_ids_are_stored(
    file: Path, tmp_path: Path
) -> None:
    """A transaction is put wholly or not at all."""
    messages = tmp_path / "messages.jsonl"
    messages.write_text('{"subject": "a.b"}\n' * 1500 + '{"subject": "%s"}\n' % ("x" * 256))
    result = queue_command("put", file, "-m", messages)
    assert result.returncode == 2
    assert f"{messages}:1501: error[too-long]: ".encode() in result.stderr
    with Queue(file) as queue:
        assert [stored.id for stored in queue.messages(limit=2000)] == result.stdout.decode().split()
        assert queue.size().ready == 1000


def test_pop_takes_by_pattern_by_subscription_and_several(filled: Path) -> None:
    """Each of several ends its line; fewer than asked for is no error."""
    assert queue_command("pop", filled, "mail.*").stdout == b"message 4"
    assert queue_command("pop", filled, "-s", "europe", "-n", "9").stdout == b"message 1\nmessage 3\n"
    assert queue_command("pop", filled, "nobody.*").returncode == 1
    assert queue_command("pop", filled, "--count", "9").stdout == b"message 1\nmessage 2\nmessage 3\nmessage 5\n"
    assert queue_command("pop", filled).returncode == 1


def test_pop_as_json_holds_text_or_base64(file: Path) -> None:
    """One object in each line."""
    with Queue(file) as queue:
        queue.put("été\n", "a.b", id="one", metadata={"k": "v"})
        queue.put(b"\xff\x00", "a.b")
    first, second = lines_of(queue_command("pop", file, "-n", "2", "--json"))
    assert {**first, "put_at": None} == {
        "number": 1,
        "id": "one",
        "key": "a.b",
        "priority": 5,
        "put_at": None,
        "expires_at": None,
        "metadata": {"k": "v"},
        "data": "été\n",
        "attempts": 1,
    }
    assert base64.b64decode(str(second["data_base64"])) == b"\xff\x00"


def test_a_lease_is_kept_until_its_receipt_is_given_back(filled: Path) -> None:
    """The data are on the standard output, the receipt is on the other stream, or both in JSON."""
    popped = queue_command("pop", filled, "--lease", "5m")
    assert popped.stdout == b"message 1"
    receipt = popped.stderr.decode().strip()
    with Queue(filled) as queue:
        assert queue.size("").leased == 1
    assert queue_command("ack", filled, receipt).returncode == 0
    again = queue_command("ack", filled, receipt)
    assert (again.returncode, again.stdout) == (1, b"")
    assert b"the lease has run out" in again.stderr
    (line,) = lines_of(queue_command("pop", filled, "--lease", "0.001", "--json"))
    assert queue_command("pop", filled, "--count", "9").returncode == 0
    assert queue_command("ack", filled, line["receipt"]).returncode == 1


def test_a_message_that_cannot_be_printed_is_given_back(filled: Path) -> None:
    """The reader of the pipe has gone: nothing is lost, and there is no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [POINTSMAN, "queue", "pop", str(filled)], stdout=writer, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (1, b"")
    with Queue(filled) as queue:
        assert (queue.size("").ready, queue.size("").leased) == (5, 0)


@pytest.mark.parametrize("output", [">&-", "> /dev/full"])
def test_an_output_that_takes_nothing_is_an_error_and_the_message_is_given_back(filled: Path, output: str) -> None:
    """Closed, or on a disk that is full; no traceback."""
    for command in ("pop", "pop --json -n 3", "peek", "tail"):
        script = f"{POINTSMAN} queue {command} {filled} {output}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert (result.returncode, result.stdout) == (2, "")
        assert "no-output" in result.stderr
        assert "Traceback" not in result.stderr
    with Queue(filled) as queue:
        assert (queue.size("").ready, queue.size("").leased) == (5, 0)


def test_peek_shows_what_would_be_taken_and_leaves_it(file: Path) -> None:
    """As a table, in which nothing can change the terminal, and as lines of JSON."""
    with Queue(file) as queue:
        queue.put(b"\x1b[2J\xff\n" + "é".encode() + b"x" * 300, "a.b", id="evil\x07")
        queue.put("important", "a.c", priority=1)
    head, first, second = queue_command("peek", file).stdout.decode().splitlines()
    assert head.split() == ["number", "id", "key", "priority", "put", "at", "size", "data"]
    assert first.split()[-1] == "important"
    assert "evil\\x07" in second
    assert "\\x1b[2J\\xff\\né" + "x" * 33 + "…" in second
    assert [line["number"] for line in lines_of(queue_command("peek", file, "a.*", "-n", "1", "--json"))] == [2]
    with Queue(file) as queue:
        assert queue.size().ready == 2


def test_a_damaged_message_is_shown_as_such(file: Path) -> None:
    """And the others as ever."""
    with Queue(file) as queue:
        queue.put("good", "a.b")
        queue.put("bad", "a.b")
        with queue.store.exclusive() as transaction:
            transaction.execute("UPDATE message SET body = 'bat' WHERE sequence = 2")
    shown = queue_command("peek", file).stdout.decode().splitlines()
    assert [line.split()[-1] for line in shown[1:]] == ["good", "(damaged)"]
    good, bad = lines_of(queue_command("tail", file, "--json"))
    assert good["data"] == "good"
    assert bad == {"number": 2, "id": bad["id"], "damaged": True}


def test_size_counts_by_status_and_subscription(filled: Path) -> None:
    """Done and archived are counted of whole messages."""
    with Queue(filled, max_attempts=1) as queue:
        for message in queue.pop_many(2, subscription="europe"):
            queue.nack(message)
        queue.pop("mail.old")
        queue.put("later", "x", delay=60)
        taken = queue.pop("mail.new")
        assert taken is not None
        queue.ack(taken)
    rows = [line.split() for line in queue_command("size", filled).stdout.decode().splitlines()]
    assert rows == [
        ["ready", "delayed", "leased", "dead", "done", "archived"],
        ["(the", "queue", "itself)", "3", "1", "1", "0"],
        ["europe", "0", "0", "0", "2"],
        ["all", "3", "1", "1", "2", "1", "0"],
    ]
    said = json.loads(queue_command("size", filled, "-s", "europe", "--json").stdout)
    assert said["subscriptions"] == [{"name": "europe", "ready": 0, "delayed": 0, "leased": 0, "dead": 2}]
    assert said["messages"]["done"] == 1


def give_up(file: Path, count: int) -> None:
    """Makes so many dead letters, of two subscriptions."""
    with Queue(file, max_attempts=1) as queue:
        queue.subscribe("other", "#")
        queue.put_many([("x", "a.b")] * (count // 2))
        for name in ("", "other"):
            for message in queue.pop_many(count // 2, subscription=name):
                queue.nack(message, error="no\nroute")


def test_dead_shows_every_dead_letter_with_its_reason(file: Path) -> None:
    """Those of a message that has several are all there, however the pages fall."""
    give_up(file, 250 * 2)
    lines = lines_of(queue_command("dead", file, "--json"))
    assert len({(line["number"], line["subscription"]) for line in lines}) == len(lines) == 500
    assert (lines[0]["attempts"], lines[0]["reason"], lines[0]["last_error"]) == (1, "it failed 1 times", "no\nroute")
    table = queue_command("dead", file, "--limit", "3", "-s", "other").stdout.decode().splitlines()
    assert len(table) == 4
    assert table[1].endswith("it failed 1 times  no\\nroute")


def test_requeue_makes_dead_letters_ready_by_id_or_all(file: Path) -> None:
    """An id without a dead letter ends it with 1; neither ids nor --all is a mistake."""
    give_up(file, 6)
    with Queue(file) as queue:
        first = queue.messages()[0].id
    assert queue_command("requeue", file).returncode == 2
    assert queue_command("requeue", file, first, "--all").returncode == 2
    some = queue_command("requeue", file, first, "no-such", "--subscription", "other")
    assert (some.returncode, some.stdout) == (1, b"1 dead letter is ready again\n")
    assert b"no-such: no dead letter has this id" in some.stderr
    assert queue_command("requeue", file, "--all").stdout == b"5 dead letters are ready again\n"
    with Queue(file) as queue:
        assert (queue.size().dead, queue.size().ready) == (0, 6)


def test_prune_deletes_or_archives_what_is_done(filled: Path) -> None:
    """What is younger than --older-than stays."""
    with Queue(filled) as queue:
        queue.unsubscribe("europe")
        queue.ack_many(queue.pop_many(3))
    assert queue_command("prune", filled, "--older-than", "7d").stdout == b"0 messages deleted\n"
    assert queue_command("prune", filled, "--archive").stdout == b"3 messages archived\n"
    with Queue(filled) as queue:
        assert (queue.size().archived, queue.size().done) == (3, 0)
        queue.ack_many(queue.pop_many(1))
    deleted, room = queue_command("prune", filled, "--vacuum").stdout.decode().splitlines()
    assert deleted == "1 message deleted"
    before, after = (int(part.split()[0].replace(",", "")) for part in room.split(", "))
    assert before >= after > 0


def test_tail_shows_what_was_put_and_takes_nothing(filled: Path) -> None:
    """The last ones, or from a number on; also those that are done."""
    with Queue(filled) as queue:
        queue.ack_many(queue.pop_many(5))
    numbers = [line["number"] for line in lines_of(queue_command("tail", filled, "--json", "--count", "2"))]
    assert numbers == [4, 5]
    numbers = [line["number"] for line in lines_of(queue_command("tail", filled, "orders.#", "-n", "2", "--json"))]
    assert numbers == [2, 3]
    result = queue_command("tail", filled, "--from", "2", "--count", "2").stdout.decode()
    assert [line.split()[:3] for line in result.splitlines()] == [
        ["2", "id2", "orders.us.new"],
        ["3", "id3", "orders.eu.paid"],
    ]


def test_tail_follows_what_is_put_by_others_and_ends_on_an_interrupt(filled: Path) -> None:
    """With 130, and without a word."""
    command = [POINTSMAN, "queue", "tail", str(filled), "mail.*", "--from", "5", "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["number"] == 5
        with Queue(filled) as queue:
            queue.put("not asked for", "orders.new")
            queue.put("new", "mail.new")
        assert json.loads(process.stdout.readline())["data"] == "new"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, rest, errors) == (130, b"", b"")
    assert not Path(f"{filled}-bells").exists()


@pytest.mark.parametrize("more", [[], ["--follow"]])
def test_tail_ends_when_nobody_reads_any_more(filled: Path, more: list[str]) -> None:
    """Even if nothing more is put; that is no error."""
    command = [POINTSMAN, "queue", "tail", str(filled), "--from", "1", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize("command", ["pop", "ack", "peek", "tail", "size", "dead", "requeue", "prune"])
def test_a_missing_file_is_an_error_and_is_not_made(file: Path, command: str) -> None:
    """A mistyped name makes no queue."""
    more = {"ack": [Receipt(1, 0, 1, 0, 1).text], "requeue": ["--all"]}.get(command, [])
    result = queue_command(command, file, *more)
    assert (result.returncode, result.stdout) == (2, b"")
    assert f"{file}: error[no-file]: ".encode() in result.stderr
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["put", "{}"], "bad-usage"),
        (["put", "{}", "a", "b", "--priority", "11"], "bad-usage"),
        (["put", "{}", "a", "b", "--delay", "soon"], "bad-usage"),
        (["put", "{}", "a", "b", "--metadata", "colour"], "bad-usage"),
        (["put", "{}", "a", "b", "--metadata", "a=1", "--metadata", "a=2"], "bad-usage"),
        (["put", "{}", "a", "b", "--lines", "--id", "x"], "bad-usage"),
        (["put", "{}", "a", "--messages", "m.jsonl"], "bad-usage"),
        (["put", "{}", "--messages", "no-such-file.jsonl"], "no-file"),
        (["put", "{}", "a" * 256, "b"], "too-long"),
        (["put", "{}", "a" * 256, "b", "--lines"], "too-long"),
        (["put", "{}", "a", "b", "--dialect", "nats"], "store-mismatch"),
        (["pop", "{}", "a", "-s", "europe"], "bad-usage"),
        (["pop", "{}", "-s", "nobody"], "no-subscription"),
        (["pop", "{}", "a" * 256], "too-long"),
        (["ack", "{}", "60a24181e4000-0-7-0-75bcd15-15b2"], "bad-receipt"),
        (["size", "{}", "-s", "nobody"], "no-subscription"),
        (["prune", "{}", "--older-than", "7 weeks"], "bad-usage"),
        (["peek", __file__], "store-damaged"),
    ],
)
def test_bad_input_ends_with_2_and_leaves_the_queue_as_it_was(filled: Path, arguments: list[str], code: str) -> None:
    """One message with its code and what to do, nothing on the standard output, no traceback."""
    result = run("queue", *(argument.replace("{}", str(filled)) for argument in arguments))
    assert (result.returncode, result.stdout) == (2, "")
    assert f"error[{code}]: " in result.stderr
    assert "help: " in result.stderr
    assert "Traceback" not in result.stderr
    with Queue(filled) as queue:
        assert (len(queue.messages()), queue.size("").ready) == (5, 5)


def test_data_over_the_limit_are_refused_before_they_are_all_read(file: Path) -> None:
    """As one message and as a line."""
    script = f"{POINTSMAN} queue put {file} a {{}} < /dev/zero"
    for option, place in (("", ""), ("--lines", "standard input:1: ")):
        result = subprocess.run(["bash", "-c", script.format(option)], capture_output=True, text=True, check=False)
        assert result.returncode == 2
        assert result.stderr.startswith(f"{place}error[too-large]: ")


def test_putting_many_shows_a_bar_on_a_terminal_and_the_ids_on_the_standard_output(file: Path) -> None:
    """The bar is on the standard error stream; the ids stay in the pipe."""
    terminal, end = pty.openpty()
    try:
        result = subprocess.run(
            [POINTSMAN, "queue", "put", str(file), "a.b", "--lines"],
            input=b"x\n" * 3000,
            stdout=subprocess.PIPE,
            stderr=end,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            check=False,
        )
        shown = os.read(terminal, 100_000)
    finally:
        os.close(end)
        os.close(terminal)
    assert result.returncode == 0
    assert len(result.stdout.split()) == 3000
    assert b"standard input" in shown


@given(st.tuples(*[st.integers(0, 2**bits - 1) for bits in (59, 31, 59, 31, 48)]))
def test_a_receipt_is_read_as_it_was_written(numbers: tuple[int, int, int, int, int]) -> None:
    """And is one word that no shell and no option parser changes."""
    text = Receipt(*numbers).text
    assert parse_receipt(f" {text}\n") == numbers
    assert text.replace("-", "").isalnum()


@given(st.text("0123456789abcdef-", max_size=60), st.integers(0, 40))
def test_a_text_that_is_no_receipt_is_refused(text: str, place: int) -> None:
    """A receipt with a wrong letter, too."""
    whole = Receipt(1700000000000000, 0, 7, 0, 123456789).text
    changed = whole[:place] + "g" + whole[place + 1 :]
    for wrong in (text, changed, whole[:-1], ""):
        with pytest.raises(InputError) as caught:
            parse_receipt(wrong)
        assert caught.value.code == "bad-receipt"


@given(st.text(), st.binary())
def test_what_is_shown_is_one_line_that_changes_no_terminal(text: str, data: bytes) -> None:
    """Whatever the text or the data are."""
    assert visible(text).isprintable()
    assert start_of(data).isprintable()
    assert len(start_of(data)) <= 48


@pytest.mark.parametrize(
    "arguments",
    [
        ["pop", "--lease", BIG], ["peek", "-n", BIG], ["tail", "-n", BIG], ["tail", "--from", BIG],
        ["tail", "-f", "--from", BIG], ["dead", "--limit", BIG], ["prune", "--older-than", BIG],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_number_beyond_64_bits_is_a_mistake_and_no_traceback(filled: Path, arguments: list[str]) -> None:
    """Nothing is done, and it ends with 2."""
    command, *options = arguments
    result = queue_command(command, filled, *options)
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"Traceback" not in result.stderr
    assert b"error" in result.stderr


def test_a_file_of_the_name_that_sqlite_takes_for_memory_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put there can be taken by the next command."""
    monkeypatch.chdir(tmp_path)
    assert queue_command("put", ":memory:", "a", "x").returncode == 0
    assert queue_command("pop", ":memory:").stdout == b"x"


def test_an_id_that_is_told_back_changes_no_terminal(file: Path) -> None:
    """Whoever gave it."""
    assert queue_command("put", file, "a", "x", "--id", "evil\x07").stdout == b"evil\\x07\n"
    result = queue_command("requeue", file, "evil\x07")
    assert (result.returncode, result.stderr) == (1, b"evil\\x07: no dead letter has this id\n")


def test_messages_whose_lease_ran_out_before_they_were_printed_are_told_of(
    filled: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """They come again, so it does not end as if all was well."""
    monkeypatch.setattr(Queue, "ack_many", lambda *_: 0)
    assert pop(filled, count=2) == 1
    assert b"2 leases ran out before the messages were printed" in capsysbinary.readouterr().err


def test_tail_refuses_a_wildcard_of_another_dialect(filled: Path) -> None:
    """As pop and peek do: it would show nothing, and say nothing."""
    for command in ("tail", "peek", "pop"):
        result = queue_command(command, filled, "orders.>")
        assert (result.returncode, result.stdout) == (2, b"")
        assert b"foreign-wildcard" in result.stderr


def test_a_message_that_was_put_before_is_told_of(file: Path, tmp_path: Path) -> None:
    """On the standard error stream; the ids are printed as ever."""
    assert queue_command("put", file, "a", "x", "--id", "one").stderr == b""
    again = queue_command("put", file, "a", "y", "--id", "one")
    assert (again.returncode, again.stdout) == (0, b"one\n")
    assert again.stderr == b"one: not put again: a message of this id was put before\n"
    (tmp_path / "more.jsonl").write_text('{"subject": "a", "id": "one"}\n{"subject": "a", "id": "two"}\n')
    more = queue_command("put", file, "-m", tmp_path / "more.jsonl")
    assert (more.stdout, more.stderr.count(b"\n")) == (b"one\ntwo\n", 1)
