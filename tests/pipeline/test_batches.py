"""The state of a table in the checkpoint: a batch that is replayed begins as it began before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.spark import files
from pointsman.pipeline.state.batches import KEPT, begin, load, record, recorded
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerState, Phase
from pointsman.table.state import Key, State


def state_of(number: int) -> State:
    """A state that tells its batch."""
    return State(
        {
            Key("balance", "r"): BalanceState("ü", number, (("a", 2, -1), ("b", 1, 1)), (("a", 1),)),
            Key("breaker", "d"): BreakerState(Phase.OPEN, 0, number, 1.5),
        }
    )


def test_a_batch_begins_with_what_the_one_before_left(tmp_path: Path) -> None:
    """Also when it was recorded already, as in a replay after a crash between recording and committing."""
    assert load(tmp_path, 0) == State()
    record(tmp_path, 0, state_of(0), {"table": "abc"})
    assert dict(load(tmp_path, 1)) == dict(state_of(0))
    record(tmp_path, 1, state_of(1), {"table": "abc"})
    assert dict(load(tmp_path, 1)) == dict(state_of(0))
    assert dict(load(tmp_path, 2)) == dict(state_of(1))
    assert load(tmp_path, 0) == State()


def test_a_batch_that_is_recorded_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """The versions too."""
    record(tmp_path, 3, state_of(1), {"table": "old"})
    record(tmp_path, 3, state_of(2), {"table": "new", "subscriptions": 7, "parts": ["x", None, 1.5]})
    found = recorded(tmp_path, 3)
    assert found is not None
    assert dict(found[0]) == dict(state_of(2))
    assert found[1] == {"table": "new", "subscriptions": 7, "parts": ["x", None, 1.5]}
    assert recorded(tmp_path, 4) is None


def test_batches_that_were_not_recorded_are_stepped_over(tmp_path: Path) -> None:
    """A table that remembered nothing for a while goes on where it was."""
    record(tmp_path, 4, state_of(4), {})
    assert dict(load(tmp_path, 9)) == dict(state_of(4))


def test_a_checkpoint_that_began_without_state_begins_with_a_new_one(tmp_path: Path) -> None:
    """And does so again if its first batch with state is replayed."""
    record(tmp_path, 7, state_of(7), {})
    assert load(tmp_path, 7) == State()


def test_the_versions_of_a_batch_are_those_it_was_first_begun_with(tmp_path: Path) -> None:
    """A new version on disk does not change a batch that is replayed, only the next one."""
    assert begin(tmp_path, 5, {"table": "old"}) == {"table": "old"}
    assert begin(tmp_path, 5, {"table": "new"}) == {"table": "old"}
    assert begin(tmp_path, 6, {"table": "new"}) == {"table": "new"}
    assert load(tmp_path, 7) == State()


def test_the_last_hundred_are_kept(tmp_path: Path) -> None:
    """Of the states and of the versions; asking for one that is gone is an error, not a new beginning."""
    for batch in range(KEPT + 5):
        begin(tmp_path, batch, {"table": batch})
        record(tmp_path, batch, state_of(batch), {"table": batch})
    for name in ("state", "begun"):
        kept = {path.name for path in (tmp_path / "pointsman" / name).iterdir()}
        assert kept == {f"{batch}.json" for batch in range(5, KEPT + 5)}
    assert dict(load(tmp_path, 6)) == dict(state_of(5))
    with pytest.raises(InputError, match="before batch 5 is not kept") as caught:
        load(tmp_path, 5)
    assert caught.value.code == "bad-state"


def test_a_checkpoint_that_was_turned_back_goes_on_from_there(tmp_path: Path) -> None:
    """What later batches left is not taken for what this one left, and does not push it out."""
    for batch in range(KEPT + 5):
        record(tmp_path, batch, state_of(batch), {})
    record(tmp_path, 50, state_of(999), {})
    assert dict(load(tmp_path, 51)) == dict(state_of(999))


def test_what_a_crash_left_of_a_file_is_overlooked_and_removed(tmp_path: Path) -> None:
    """It is the one before that counts."""
    record(tmp_path, 1, state_of(1), {})
    torn = tmp_path / "pointsman" / "state" / ".2.x7.draft"
    torn.write_text('{"kind": "batch/1", "ba')
    assert dict(load(tmp_path, 3)) == dict(state_of(1))
    record(tmp_path, 2, state_of(2), {})
    assert not torn.exists()


def test_a_crash_before_the_file_is_in_its_place_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the batch had been recorded before."""
    record(tmp_path, 1, state_of(1), {})

    def crash(descriptor: int) -> None:
        raise OSError(f"no room for {descriptor}")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", crash)
        with pytest.raises(OSError, match="no room"):
            record(tmp_path, 1, state_of(2), {})
    assert dict(load(tmp_path, 2)) == dict(state_of(1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"kind": "batch/2", "batch": 1, "state": [], "versions": []}',
        '{"kind": "batch/1", "batch": 2, "state": [], "versions": []}',
        '{"kind": "batch/1", "batch": 1, "state": [1], "versions": []}',
        '{"kind": "batch/1", "batch": 1, "state": [], "versions": [1]}',
        '{"kind": "batch/1", "batch": 1, "state": [], "versions": [], "more": 1}',
        "\xff",
    ],
)
def test_a_file_that_holds_something_else_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    """Nothing is guessed."""
    record(tmp_path, 1, state_of(1), {})
    path = tmp_path / "pointsman" / "state" / "1.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        load(tmp_path, 2)
    assert caught.value.code == "bad-state"
    assert caught.value.file == str(path)


def test_a_checkpoint_may_be_named_by_a_url_of_a_file(tmp_path: Path) -> None:
    """As Spark names it; another file system is refused."""
    folder = tmp_path / "with space"
    record(folder, 1, state_of(1), {})
    assert dict(load(folder.as_uri(), 2)) == dict(state_of(1))
    assert dict(load(os.fspath(folder), 2)) == dict(state_of(1))
    for other in ("hdfs://host/checkpoint", "s3a://bucket/checkpoint", "file://host/checkpoint"):
        with pytest.raises(InputError, match="mounted here") as caught:
            load(other, 2)
        assert caught.value.code == "bad-usage"


def test_versions_are_plain_values(tmp_path: Path) -> None:
    """What JSON cannot carry is refused before anything is written."""
    with pytest.raises(InputError, match="plain values") as caught:
        record(tmp_path, 1, State(), {"table": object()})
    assert caught.value.code == "bad-usage"
    assert list(tmp_path.iterdir()) == []
