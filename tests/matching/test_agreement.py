"""The short form of ``python -m tests.agree``."""

from __future__ import annotations

import pytest

from tests import agree


def test_all_engines_agree_on_generated_patterns_and_subjects(capsys: pytest.CaptureFixture[str]) -> None:
    """At least five thousand pairs in each dialect, other ones each time."""
    assert agree.main(["--pairs", "5000"]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.count("0 disagreements") == 4
