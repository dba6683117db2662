"""The folder that the demo plays in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.demo import ENVIRONMENT
from pointsman.demo.folder import prepare, program_name
from pointsman.errors import InputError
from pointsman.pipeline.config import PipelineFile


def test_the_pipeline_in_it_can_be_read(tmp_path: Path) -> None:
    """A batch is one file, and the warehouse is away."""
    folder = prepare(tmp_path / "new" / "demo")
    written = PipelineFile.load(folder.pipeline).written
    assert (written.table, written.environment) == (folder.table.name, ENVIRONMENT)
    assert written.source.options == {"maxFilesPerTrigger": 1}
    assert [*written.destinations] == ["warehouse"]
    assert folder.warehouse.is_file()


def test_an_earlier_demo_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A folder of anything else is left alone."""
    folder = prepare(tmp_path / "demo")
    folder.out.mkdir()
    assert not prepare(tmp_path / "demo").out.exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letters").touch()
    for path, code in ((tmp_path / "other", "folder-exists"), (tmp_path / "other" / "letters", "no-file")):
        with pytest.raises(InputError) as caught:
            prepare(path)
        assert caught.value.code == code
    assert (tmp_path / "other" / "letters").exists()


def test_a_program_is_called_by_its_name_where_that_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And otherwise by its path, from here if it is below."""
    program = tmp_path / "my bin" / "pointsman"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert program_name(str(program)) == "pointsman"
    monkeypatch.setenv("PATH", "")
    assert program_name(str(program)) == f"'{program}'"
    monkeypatch.chdir(tmp_path)
    assert program_name(str(program)) == "'my bin/pointsman'"
    assert program_name("not/there") == "there"
