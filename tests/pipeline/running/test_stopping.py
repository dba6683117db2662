"""A pipeline that is stopped from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = "routes: [{name: all, pattern: '>', destinations: [desk]}]"
PIPELINE = """
table: table.yaml
source: {path: in}
trigger: {kind: interval, every: 200ms}
master: local[1]
spark: {spark.sql.shuffle.partitions: 1}
"""


def test_a_signal_to_all_processes_of_a_pipeline_is_a_stop_that_was_asked_for(tmp_path: Path) -> None:
    """As systemd and timeout send it, to Java too: the end is the documented one, without a word of complaint."""
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"subject": "a", "id": "1"}\n')
    command = [sys.executable, "-m", "pointsman", "run", str(tmp_path / "pipeline.yaml"), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "started":
                break
        os.killpg(process.pid, signal.SIGTERM)
        said, errors = process.stdout.read(), process.stderr.read()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(said.splitlines()[-1])["event"] == "stopped"
