"""The file of a pipeline, and the versions of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pointsman.errors import InputError, TableError
from pointsman.pipeline.running.settings import PipelineFile
from pointsman.pipeline.running.versions import Tables

TABLE = "routes: [{name: all, pattern: '>', destinations: [audit]}]"
OTHER = "routes: [{name: all, pattern: 'orders.>', destinations: [audit]}]"


def test_a_pipeline_needs_a_table_and_a_source(tmp_path: Path) -> None:
    """Everything else has a default; paths are relative to the file."""
    path = tmp_path / "pipeline.yaml"
    path.write_text("table: shop.yaml\nsource: {path: in}\n")
    file = PipelineFile.load(path)
    assert (file.written.source.format, file.written.trigger.kind) == ("json", "available-now")
    assert file.at(file.written.table) == str(tmp_path / "shop.yaml")
    assert file.at("s3a://bucket/x") == "s3a://bucket/x"


def test_a_mistake_in_a_pipeline_is_told_with_its_place(tmp_path: Path) -> None:
    """As in a table; all of them at once."""
    path = tmp_path / "pipeline.yaml"
    path.write_text("table: shop.yaml\nsource: {path: in, pth: x}\ntrigger: {kind: soon}\n")
    with pytest.raises(TableError) as caught:
        PipelineFile.load(path)
    assert [(each.line, each.code) for each in caught.value.failures] == [(2, "unknown-key"), (3, "bad-table")]


def test_a_new_version_of_the_table_is_taken_up_and_a_broken_one_is_told(tmp_path: Path) -> None:
    """The old one stays until there is one that can be used, and can be asked for later by its hash."""
    told: list[tuple[str, dict[str, Any]]] = []
    path = tmp_path / "table.yaml"
    path.write_text(TABLE)
    tables = Tables(path, None, tmp_path / "checkpoint", lambda what, **fields: told.append((what, fields)))
    first = tables.current()
    path.write_text("routes: [{name: all}]   # broken")
    assert tables.current() is first
    assert tables.current() is first
    path.write_text(OTHER)
    second = tables.current()
    assert second.hash != first.hash
    assert [what for what, _ in told] == ["table-refused", "table-taken-up"]
    again = Tables(path, None, tmp_path / "checkpoint", lambda *_, **__: None)
    assert again.of(first.hash).hash == first.hash
    with pytest.raises(InputError) as caught:
        again.of("0" * 64)
    assert caught.value.code == "bad-state"
