"""The versions of a table that a pipeline takes up and keeps."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from pointsman.pipeline.versions import Tables

ROUTES = "routes: [{{name: {name}, pattern: a, destinations: [desk]}}]\n"


class Case:
    """A table that includes files, and what is told of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.write("table.yaml", "include: [parts/first.yaml]\n")
        self.write("parts/first.yaml", "include: [second.yaml]\n" + ROUTES.format(name="first"))
        self.write("parts/second.yaml", ROUTES.format(name="second"))

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        """Writes a file."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def tables(self) -> Tables:
        """The table of a run that begins."""

        def tell(what: str, **fields: Any) -> None:
            self.told.append((what, fields))

        return Tables(self.folder / "table.yaml", None, self.folder / "checkpoint", tell)

    def kept(self) -> list[Path]:
        """The copies in the checkpoint."""
        return [*(self.folder / "checkpoint").rglob("*.json")]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """A table."""
    return Case(tmp_path)


def names(tables: Tables) -> list[str]:
    """The routes of the newest version."""
    return [route.name for route in tables.current().routes]


def test_a_file_that_is_included_is_watched_as_the_table_is(case: Case) -> None:
    """However deep; also one that was broken, or missing, and is there again."""
    tables = case.tables()
    assert names(tables) == ["second", "first"]
    case.write("parts/second.yaml", ROUTES.format(name="another"))
    assert names(tables) == ["another", "first"]
    case.write("parts/second.yaml", "routes: [broken")
    assert names(tables) == ["another", "first"]
    (case.folder / "parts" / "second.yaml").unlink()
    assert names(tables) == ["another", "first"]
    case.write("parts/second.yaml", ROUTES.format(name="mended"))
    assert names(tables) == ["mended", "first"]
    assert [what for what, _ in case.told] == ["table-taken-up", "table-refused", "table-refused", "table-taken-up"]


@pytest.mark.parametrize(("mode", "copy"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o400, 0o600)])
def test_a_copy_of_the_table_may_be_read_by_those_who_may_read_all_of_it(case: Case, mode: int, copy: int) -> None:
    """An included file may be the one with the secrets; a copy that is there already is put right."""
    case.tables()
    case.write("parts/second.yaml", ROUTES.format(name="second"), mode)
    case.tables()
    case.write("parts/second.yaml", ROUTES.format(name="new"), mode)
    case.tables()
    assert [stat.S_IMODE(path.stat().st_mode) for path in case.kept()] == [copy, copy]


def test_a_link_in_the_place_of_a_copy_is_not_followed(case: Case) -> None:
    """What it leads to stays as it is."""
    case.tables()
    [path] = case.kept()
    text = path.read_bytes()
    other = case.folder / "other"
    other.write_text("somebody's")
    path.unlink()
    path.symlink_to(other)
    case.tables()
    assert (other.read_text(), path.is_symlink(), path.read_bytes()) == ("somebody's", False, text)
