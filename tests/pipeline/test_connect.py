"""The behaviour of the pipeline on Spark Connect: the same tests once more, on a session of that kind.

A process has sessions of one kind only, so they run in one of their own. ``pytest --connect tests/pipeline`` runs all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = "tests/pipeline"
SHORT = (
    f"{HERE}/test_behaviour.py",
    f"{HERE}/test_stages.py",
    f"{HERE}/test_authorize.py",
    f"{HERE}/running/test_deliver.py",
    f"{HERE}/subscriptions/test_resolve.py",
    f"{HERE}/correlation/test_follow.py",
    f"{HERE}/queue_source/test_batch.py",
    f"{HERE}/connect",
)
"""Of each part of the pipeline something."""

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("connect")]


@pytest.mark.classic
def test_the_pipeline_behaves_on_spark_connect_as_on_a_classic_session() -> None:
    """As far as it can; what it cannot do it refuses with the reason."""
    words = [sys.executable, "-m", "pytest", "-n0", "--connect", "-p", "no:cacheprovider", "--no-header", *SHORT]
    done = subprocess.run(words, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:]
