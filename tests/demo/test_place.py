"""The folder that the demo plays in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.demo import ENVIRONMENT
from pointsman.demo.place import FILES_PER_BATCH, prepare
from pointsman.errors import InputError
from pointsman.pipeline.config import PipelineFile


def test_the_pipeline_in_it_can_be_read(tmp_path: Path) -> None:
    """And says what the demo goes by."""
    place = prepare(tmp_path / "new" / "demo")
    written = PipelineFile.load(place.pipeline).written
    assert (written.table, written.environment) == (place.table.name, ENVIRONMENT)
    assert written.source.options == {"maxFilesPerTrigger": FILES_PER_BATCH}
    assert [*written.destinations] == ["warehouse"]
    assert place.warehouse.is_file()


def test_what_an_earlier_demo_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A folder of anything else is left alone."""
    place = prepare(tmp_path / "demo")
    place.out.mkdir()
    assert not prepare(tmp_path / "demo").out.exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letters").touch()
    for path, code in ((tmp_path / "other", "folder-exists"), (tmp_path / "other" / "letters", "no-file")):
        with pytest.raises(InputError) as caught:
            prepare(path)
        assert caught.value.code == code
    assert (tmp_path / "other" / "letters").exists()
