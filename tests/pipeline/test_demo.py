"""The demo, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_snippets import ROOT, blocks_of, is_as_written, steps_of

POINTSMAN = str(Path(sys.executable).parent / "pointsman")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_demo_prints_what_the_documentation_shows(tmp_path: Path) -> None:
    """The same deliveries on every machine; nothing of Spark's own noise; and it ends by itself."""
    pages = blocks_of(ROOT / "docs" / "command-line.md")
    [shown] = (steps_of(block)[0] for block in pages if block.lines[0] == "$ pointsman demo")
    result = subprocess.run([POINTSMAN, "demo"], cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
    assert result.returncode == 0, result.stderr
    assert is_as_written(result.stdout, shown.output), result.stdout
    assert "messages a second" in result.stdout
    assert "WARN" not in result.stderr
    assert list(tmp_path.iterdir()) == []
