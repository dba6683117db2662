"""A flipped bit changes nothing, or is found; and never are data delivered that were not put."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.doctor.flips import flips


@pytest.mark.parametrize(("file", "count"), [("", 150), ("-wal", 60)], ids=["the file", "the log"])
def test_every_flipped_bit_is_harmless_or_found(tmp_path: Path, file: str, count: int) -> None:
    """One bit at a time; nothing but the project's error is ever raised, and SQLite's own check misses most of them."""
    outcomes = list(flips(tmp_path, file, count, seed=2026))
    assert len(outcomes) == count
    assert [each for each in outcomes if each.wrong] == []
    assert [each for each in outcomes if not each.same and not each.codes] == []
    harmful = [each for each in outcomes if not each.same]
    missed = [each for each in harmful if not each.sqlite]
    assert len(harmful) > count // 4
    assert len(missed) > len(harmful) // 2
