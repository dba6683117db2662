"""Files of messages, one in each line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.errors import InputError, MessageError
from pointsman.table.tools import messages_file
from pointsman.table.tools.messages_file import read_messages, read_received


def write(folder: Path, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "messages.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_line_needs_no_more_than_a_subject(tmp_path: Path) -> None:
    """Empty lines are passed over and counted; the last line may have no end."""
    path = write(tmp_path, '{"subject": "a"}\n\n  \r\n{"subject": "b", "body": {"x": 1}}')
    lines = list(read_messages(path))
    assert [(line.number, line.message.subject, line.message.body) for line in lines] == [
        (1, "a", b""),
        (4, "b", b'{"x":1}'),
    ]
    assert lines[0].size == 17


def test_the_same_file_gives_the_same_messages(tmp_path: Path) -> None:
    """Nothing in them comes from a clock or from chance; what a line says stays."""
    path = write(tmp_path, '{"subject": "a"}\n{"subject": "b", "id": "7", "time": "2024-01-02T03:04:05Z"}\n')
    first, second = (line.message for line in read_messages(path))
    assert (first.id, first.time) == ("line 1", None)
    assert (second.id, second.time is None) == ("7", False)
    assert [line.message for line in read_messages(path)] == [first, second]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "bad-json"),
        ("[]", "bad-message"),
        ("{}", "bad-message"),
        ('{"subject": 5}', "bad-message"),
        ('{"subject": "a", "colour": "red"}', "bad-message"),
        (b'{"subject": "\xff"}', "bad-json"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str | bytes, code: str) -> None:
    """After those before it were given."""
    content = b'{"subject": "a"}\n' + (text.encode() if isinstance(text, str) else text) + b"\n"
    lines = read_messages(write(tmp_path, content))
    assert next(lines).number == 1
    with pytest.raises(MessageError) as caught:
        next(lines)
    assert (caught.value.code, caught.value.file, caught.value.line) == (code, str(tmp_path / "messages.jsonl"), 2)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is on bytes; a line of exactly that many is read."""
    monkeypatch.setattr(messages_file, "MAXIMUM_LINE", 16)
    assert len(list(read_messages(write(tmp_path, '{"subject": "a"}')))) == 1
    with pytest.raises(MessageError):
        list(read_messages(write(tmp_path, '{"subject": "ab"}')))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(InputError) as caught:
        list(read_messages(tmp_path / "none"))
    assert caught.value.code == "no-file"


def test_a_line_may_say_who_published_it_and_its_position_where_that_is_asked(tmp_path: Path) -> None:
    """Nobody else lets it pass: it would be lost."""
    path = write(tmp_path, '{"subject": "a", "principal": "shop", "position": 4}\n{"subject": "a"}\n')
    assert [line.principal for line in read_messages(path, received=True)] == ["shop", None]
    with pytest.raises(MessageError, match="a message has no 'position', 'principal'"):
        list(read_messages(path))
    found = read_received(b'{"subject": "a", "principal": "shop", "position": -4}', None)
    assert found[1:] == (False, "shop", -4)
    assert found.message.correlation_id is None


@pytest.mark.parametrize("besides", ['"position": true', '"position": 9223372036854775808', '"principal": "\\ud800"'])
def test_what_a_line_says_besides_is_checked_too(besides: str) -> None:
    """So that columns can hold it."""
    with pytest.raises(MessageError):
        read_received(f'{{"subject": "a", {besides}}}'.encode(), "x")
