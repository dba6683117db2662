"""Where the parts of a table are written."""

from __future__ import annotations

from pointsman.table.route import Place, Route
from pointsman.table.routing_table import RoutingTable
from pointsman.table.shape import place_of
from pointsman.table.yaml_text import Node


class Places:
    """The places of a table's parts: exact ones with its tree, those of whole routes and destinations without."""

    __slots__ = ("_table", "_tree")

    def __init__(self, table: RoutingTable, tree: Node | None) -> None:
        self._table = table
        self._tree = tree

    def find(self, *path: str | int) -> Place | None:
        """The place of what the path leads to, or of the last part of the path that is there."""
        return None if self._tree is None else place_of(self._tree.find(path))

    def route(self, route: Route, *path: str | int) -> Place:
        """The place of a route, or of a part of it."""
        return self.find("routes", route.position, *path) or route.place

    def destination(self, name: str, *path: str | int) -> Place:
        """The place of a destination, or of a part of it; without a path, that of its name."""
        if path or self._tree is None:
            return self.find("destinations", name, *path) or self._table.destinations[name].place
        node = self._tree.find(("destinations", name))
        return Place(node.file, node.key_line, node.key_column)
