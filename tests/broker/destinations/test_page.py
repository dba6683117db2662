"""What ``docs/destinations.md`` says of each type is what the type does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pointsman.destinations import TYPES

PAGE = (Path(__file__).parents[3] / "docs" / "destinations.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of the first table in a text, without its head."""
    table = text[text.index("\n|") + 1 :].split("\n\n")[0]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()[2:]]


def written(default: object) -> str:
    """A default as the table's author would write it."""
    return f"{default:g}" if isinstance(default, float) else str(default)


def section(type_name: str) -> str:
    """What stands below the heading of a type."""
    return re.split(r"^## ", PAGE.split(f"\n## `{type_name}`\n")[1], flags=re.MULTILINE)[0]


def test_the_first_table_has_every_type_and_what_it_can_do() -> None:
    """In the order of the types."""
    assert [(name, repeated, retries) for name, _, repeated, retries in rows(PAGE)] == [
        (f"`{name}`", each.repeated.value, "yes" if each.retries else "no") for name, each in TYPES.items()
    ]


@pytest.mark.parametrize("type_name", TYPES)
def test_the_section_of_a_type_has_its_options_with_their_defaults(type_name: str) -> None:
    """Each is described as the code describes it."""
    fields = TYPES[type_name].options.model_fields
    if not fields:
        assert "It has no options." in section(type_name)
        return
    found = rows(section(type_name))
    assert [name for name, _, _ in found] == [f"`{name}`" for name in fields]
    for (_, default, described), field in zip(found, fields.values(), strict=True):
        assert default == ("" if field.is_required() or field.default is None else f"`{written(field.default)}`")
        assert field.description
        assert described.startswith(field.description.rstrip("."))
