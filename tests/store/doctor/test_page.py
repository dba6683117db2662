"""The page about the doctor says what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from pointsman.store.doctor.catalogue import ILLNESSES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "doctor.md"


def test_the_page_has_a_row_for_each_code() -> None:
    """With the same words, and no row for what is no code."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    expected = {
        f"| `{code}` | {each.severity.value} | {each.wrong} {each.means} | {each.repair} |"
        for code, each in ILLNESSES.items()
    }
    assert set(rows) == expected
    assert len(rows) == len(expected)
