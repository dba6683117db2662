"""What is made ahead of its use: in order, one at a time, and with nothing left behind."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.errors import PointsmanError
from pointsman.subscriptions import files
from pointsman.subscriptions.bulk import line_pieces
from pointsman.subscriptions.bulk.ahead import ahead
from pointsman.subscriptions.files import import_file
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.found import check_consistent
from tests.subscriptions.test_files import GOOD


def threads() -> list[str]:
    """The threads that make something ahead."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pointsman-import")]


def test_all_come_in_their_order_and_one_is_made_ahead() -> None:
    """By a thread that has ended afterwards."""
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(5):
            made.append(number)
            yield number

    with ahead(numbers()) as items:
        for place, item in enumerate(items):
            assert item == place
            assert len(made) <= place + 2
            assert threads()
    assert made == [0, 1, 2, 3, 4]
    assert not threads()


def test_what_is_raised_comes_after_what_was_made_before_it() -> None:
    """Not sooner."""

    def failing() -> Iterator[int]:
        yield 1
        yield 2
        raise RuntimeError("enough")

    with ahead(failing()) as items:
        assert [next(items), next(items)] == [1, 2]
        with pytest.raises(RuntimeError, match="enough"):
            next(items)
    assert not threads()


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is read by compiled code, in pieces of a few lines."""
    monkeypatch.setattr(files, "LARGE", 0)
    monkeypatch.setattr(line_pieces, "BYTES", 300)


def lines(path: Path, count: int, bad: int | None = None) -> Path:
    """A file of so many subscriptions, one of them without an owner."""
    entries = [{**GOOD, "id": f"{number}", "owner": "" if number == bad else "ada"} for number in range(1, count + 1)]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in entries), encoding="utf-8")
    return path


@pytest.mark.usefixtures("small_pieces")
def test_a_bad_line_in_a_later_piece_is_named_and_nothing_is_stored(registry: Registry, tmp_path: Path) -> None:
    """Though pieces before it were written; and what comes next is none the worse."""
    with pytest.raises(PointsmanError, match="owner: it is empty") as caught:
        import_file(registry, lines(tmp_path / "x.jsonl", 40, bad=33))
    assert caught.value.line == 33
    assert registry.count() == 0
    assert registry.list() == registry.patterns() == registry.changes() == []
    assert not threads()
    assert import_file(registry, lines(tmp_path / "x.jsonl", 40)).created == 40
    check_consistent(registry)


@pytest.mark.usefixtures("small_pieces")
def test_a_line_that_is_too_long_is_refused_after_what_is_wrong_before_it(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is met while that is being stored."""
    monkeypatch.setattr(line_pieces, "MAXIMUM_LINE", 500)
    path = lines(tmp_path / "x.jsonl", 6, bad=5)
    with path.open("a") as file:
        file.write("x" * 2_000)
    with pytest.raises(PointsmanError, match="owner: it is empty") as caught:
        import_file(registry, path)
    assert caught.value.line == 5
    lines(path, 6)
    with path.open("a") as file:
        file.write("x" * 2_000)
    with pytest.raises(PointsmanError, match="longer than 500") as caught:
        import_file(registry, path)
    assert caught.value.line == 7
    assert registry.count() == 0


@pytest.mark.usefixtures("small_pieces")
def test_an_import_that_is_interrupted_leaves_nothing(registry: Registry, tmp_path: Path) -> None:
    """Neither subscriptions nor a thread."""
    path = lines(tmp_path / "x.jsonl", 40)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(registry, path, progress=interrupt)
    assert registry.count() == 0
    assert not threads()
    assert import_file(registry, path).created == 40
