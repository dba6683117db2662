"""A large input at a small heap; ``python -m tests.pipeline.memory`` has more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.memory import MILLION, one_group, run

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("memory")]


def test_a_million_messages_in_one_row_group_are_routed_with_a_heap_of_one_gigabyte(tmp_path: Path) -> None:
    """And a Python worker holds no more of them than for few."""
    one_group(MILLION)(tmp_path / "source")
    held = run(tmp_path / "source", "parquet", tmp_path / "run", "1g")
    assert (held.code, held.said[-500:] if held.code else "") == (0, "")
    assert held.messages == MILLION
    assert held.worker < 500
