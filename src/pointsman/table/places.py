"""Where the entries of a section are written, for tools that name them."""

from __future__ import annotations

from pathlib import Path

from pointsman.table.document import read_document
from pointsman.table.environment import choose_environment
from pointsman.table.route import Place
from pointsman.table.shape import place_of


def places_in(path: Path, section: str, environment: str | None = None) -> list[Place]:
    """The places of the entries of a list, in their order; none when there is no such list.

    Raises ``InputError`` as ``RoutingTable.load`` does for a file that cannot be read.
    """
    found = choose_environment(read_document(path), environment).step(section)
    if found is not None:
        found = found.step("rules") or found
    if found is None or not isinstance(found.children, list):
        return []
    return [place_of(node) for node in found.children]
